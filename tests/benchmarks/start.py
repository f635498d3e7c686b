"""Start-up of whole processes: against the interpreter alone, a bare Typer + Rich + sqlite3 script, and `llm logs`."""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import memcli
from tests.benchmarks.conversations import Stage
from tests.benchmarks.figures import Bound, Figure, duration
from tests.benchmarks.timing import medians

SCRIPTS = Path(sys.executable).parent
BARE = Path(__file__).with_name("bare.py")
SAMPLES = 31
TARGETS = {"bare": Bound("at most", 1.3), "llm": Bound("at most", 0.45)}
"""Source: issue 2."""
FLOORS = {"bare": "bare script", "llm": "llm logs -n 3", "python": "python -c pass"}


def figures(stage: Stage) -> Iterator[Figure]:
    """Measure `memcli context` against each floor, and the other commands against the bare script."""
    compileall.compile_dir(str(Path(memcli.__file__).parent), quiet=1)  # as an installed package is
    stage.store(1_000)
    store, logs = str(stage.folder / "1000.db"), _llm_logs(stage.folder / "llm")
    command = str(SCRIPTS / "memcli")
    taken = medians(
        {
            "python": _process([sys.executable, "-c", "pass"]),
            "bare": _process([sys.executable, str(BARE), store]),
            "llm": _process([str(SCRIPTS / "llm"), "logs", "-n", "3"], LLM_USER_PATH=str(logs), LLM_LOAD_PLUGINS=""),
            "memcli context": _process([command, "context", "--db", store]),
            "memcli history": _process([command, "history", "--db", store]),
            "memcli --version": _process([command, "--version"]),
            "memcli --help": _process([command, "--help"]),
        },
        samples=SAMPLES,
    )
    for command, floor in (
        ("memcli context", "bare"),
        ("memcli context", "llm"),
        ("memcli history", "bare"),
        ("memcli --version", "bare"),
        ("memcli --help", "bare"),
        ("memcli context", "python"),
    ):
        bound = TARGETS.get(floor) if command == "memcli context" else None
        against = f"{FLOORS[floor]} {duration(taken[floor])}"
        yield Figure(f"start-up, {command}", duration(taken[command]), against, taken[command] / taken[floor], bound)


def _process(command: list[str], **extra: str) -> Callable[[], object]:
    environment: Mapping[str, str] = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MEMCLI_")},
        **extra,
    }

    def run() -> None:
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    return run


def _llm_logs(folder: Path) -> Path:
    """Make a user directory for `llm` with three logged answers."""
    import llm
    from llm.migrations import migrate
    from sqlite_utils import Database

    class Echo(llm.Model):
        model_id = "echo"

        def execute(
            self,
            prompt: llm.Prompt,
            stream: bool,
            response: llm.Response,
            conversation: llm.Conversation | None,
        ) -> Iterator[str]:
            yield f"You said: {prompt.prompt}"

    folder.mkdir()
    database = Database(folder / "logs.db")
    migrate(database)  # type: ignore[no-untyped-call]
    for number in range(3):
        response = Echo().prompt(f"question {number}")
        response.text()
        response.log_to_db(database)  # type: ignore[no-untyped-call]
    database.close()
    return folder
