"""Run the benchmarks and print their table: all of them, or those named."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.benchmarks import append, compaction, context, fidelity, imports, prefix, start, writers
from tests.benchmarks.conversations import Stage
from tests.benchmarks.figures import Figure, table, times

SECTIONS: Mapping[str, Callable[[Stage], Iterator[Figure]]] = {
    "context": context.figures,
    "append": append.figures,
    "writers": writers.figures,
    "start": start.figures,
    "compaction": compaction.figures,
    "import": imports.figures,
    "fidelity": fidelity.figures,
    "prefix": prefix.figures,
}
"""Each law of cost, by the name it is asked for with, in the order they run: `append` leaves longer stores behind."""


def main(names: Sequence[str]) -> int:
    """Measure the sections named, or all; progress goes to stderr and the table to stdout."""
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        print(f"error: no benchmark is called {unknown[0]!r}\nhint: use {', '.join(SECTIONS)}", file=sys.stderr)
        return 2
    measured: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="memcli-bench-") as folder:
        stage = Stage(Path(folder))
        try:
            for name in [each for each in SECTIONS if not names or each in names]:
                started = time.monotonic()
                for figure in SECTIONS[name](stage):
                    measured.append(figure)
                    print(f"{figure.what}: {figure.ours}, {times(figure.ratio)} {figure.against}", file=sys.stderr)
                print(f"{name} took {time.monotonic() - started:.0f} s", file=sys.stderr)
        finally:
            stage.close()
            print(table(measured))
    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    print(f"\n{machine}; medians, rivals interleaved")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
