"""How an error is shown: two lines on stderr, or one JSON document on stdout. It refuses to decide what an error is."""

from __future__ import annotations

import os
import sys
import traceback
from types import TracebackType

from memcli.cli.cleaning import clean_line
from memcli.errors import MemcliError

DEBUG = "MEMCLI_DEBUG"
"""Set to 1, this environment variable shows tracebacks."""


def report(err: MemcliError, *, as_json: bool) -> int:
    """Show an error and return its exit code."""
    if is_debugging():
        traceback.print_exception(err)
    if as_json:
        from memcli.cli.output import document, error_body

        sys.stdout.write(document({"error": error_body(err)}))
        return err.exit_code
    sys.stderr.write(f"error: {clean_line(err.message)}\n")
    if err.hint:
        sys.stderr.write(f"hint: {clean_line(err.hint)}\n")
    return err.exit_code


def report_unexpected(kind: type[BaseException], err: BaseException, trace: TracebackType | None) -> None:
    """Show an exception nobody foresaw, as the process's `sys.excepthook`; the process then exits with 1."""
    if is_debugging():
        sys.__excepthook__(kind, err, trace)
        return
    place = traceback.extract_tb(trace)[-1:]
    where = f" at {os.path.basename(place[0].filename)}:{place[0].lineno}" if place else ""
    what = MemcliError(
        f"unexpected {kind.__name__}{where}: {err}",
        f"this is a fault of memcli; {DEBUG}=1 shows the traceback to report",
    )
    report(what, as_json=wants_json(sys.argv[1:]))


def wants_json(args: list[str]) -> bool:
    """Tell whether the command line asked for JSON, even when nothing else of it can be understood."""
    flags = args[: args.index("--")] if "--" in args else args
    return "--json" in flags or "--jsonl" in flags


def is_debugging() -> bool:
    """Tell whether tracebacks were asked for."""
    return os.environ.get(DEBUG, "") not in ("", "0")
