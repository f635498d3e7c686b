"""The entry point: help, the error handler, exit codes, and what the terminal does to a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from memcli import __version__
from memcli.cli import main
from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.stories import a_talk
from tests.cli.terminals import MEMCLI, Outcome, in_pipe, in_shell

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_projects(run: Run) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert run("--version") == Outcome(0, f"memcli {project['version']}\n", "")
    assert __version__ == project["version"]


def test_no_command_is_the_same_as_asking_for_help(run: Run) -> None:
    assert run() == run("--help") == run("-h")


def test_help_lists_every_command_with_its_first_line(run: Run) -> None:
    listed = " ".join(run("--help").out.partition("Commands:")[2].split())
    assert listed == " ".join(f"{entry.name} {entry.help}" for entry in main.COMMANDS)


@pytest.mark.parametrize("name", [entry.name for entry in main.COMMANDS])
def test_the_list_says_of_a_command_what_the_command_says_of_itself(run: Run, name: str) -> None:
    shown = run(name, "--help")
    said = " ".join(shown.out.partition("\n\n")[2].partition("\n\n")[0].split())
    assert (shown.code, said) == (0, next(entry.help for entry in main.COMMANDS if entry.name == name))


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (["histroy"], "no such command 'histroy'. Did you mean 'history'?", "run `memcli --help`"),
        (["history", "--zzz"], "no such option: --zzz", "run `memcli history --help`"),
        (["history", "a", "b"], "got unexpected extra argument(s) (b)", "run `memcli history --help`"),
        (["history", "--db"], "option '--db' requires an argument", "run `memcli history --help`"),
        (["import"], "missing argument 'FILE'", "run `memcli import --help`"),
        (
            ["history", "--role", "user"],
            "invalid value for '--role': 'user' is not one of human, ai, tool, system, other",
            "run `memcli history --help`",
        ),
        (["history", "-n", "-1"], "-n -1 is negative", "use -n 20, or -n 0 for all"),
        (["history", "-n", "ten"], "-n 'ten' is not a whole number", "use -n 20, or -n 0 for all"),
        (
            ["history", "--since", "soon"],
            "--since 'soon' is neither an age nor a date",
            "use an age (30m, 24h, 7d, 2w) or a date (2026-01-31)",
        ),
        (
            ["history", "--since", "999999999999d"],
            "--since '999999999999d' is neither an age nor a date",
            "use an age (30m, 24h, 7d, 2w) or a date (2026-01-31)",
        ),
    ],
)
def test_a_command_line_that_cannot_be_used_is_told_so_in_two_lines(
    run: Run, args: list[str], message: str, hint: str
) -> None:
    assert run(*args) == Outcome(2, "", f"error: {message}\nhint: {hint}\n")


def test_a_bad_command_line_is_a_document_too_when_json_was_asked_for(run: Run) -> None:
    failed = run("history", "--zzz", "--json")
    error = {"message": "no such option: --zzz", "hint": "run `memcli history --help`", "exit_code": 2}
    assert (failed.code, failed.document, failed.err) == (2, {"version": 1, "error": error}, "")


def test_an_absurd_limit_shows_everything(run: Run, store: Store) -> None:
    a_talk(store)
    assert run("history", "-n", "9" * 30).code == 0


def test_an_interrupt_exits_with_130(home: Path) -> None:
    os.mkfifo(home / "chats.jsonl")
    process = subprocess.Popen([*MEMCLI, "import", "chats.jsonl"], stderr=subprocess.PIPE)
    with (home / "chats.jsonl").open("wb"):  # opens when memcli reads
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"error: interrupted\n")


@pytest.mark.parametrize("command", ["history work", "history work --json", "history work --jsonl", "config", "--help"])
def test_a_reader_that_leaves_early_is_no_error(store: Store, command: str) -> None:
    a_talk(store)
    shown = in_shell(f"memcli {command} | head -1")
    assert (shown.code, shown.out.count("\n"), shown.err) == (0, 1, "")


def test_a_reader_that_leaves_in_the_middle_of_much_text_is_no_error(store: Store) -> None:
    talk = a_talk(store)
    from tests.cli.stories import message

    store.messages.append(talk.id, [message("human", "many words " * 20_000)])
    assert in_shell("memcli history work | head -c 10") == Outcome(0, "#1 human  ", "")


def test_a_full_disk_behind_standard_output_is_an_error() -> None:
    done = in_shell("memcli config > /dev/full")
    assert (done.code, done.err) == (1, "error: input or output: No space left on device\n")


@pytest.mark.parametrize(("environ", "shows"), [({}, False), ({"MEMCLI_DEBUG": "1"}, True)])
def test_debugging_shows_the_traceback_of_an_error(environ: dict[str, str], shows: bool) -> None:
    failed = in_pipe("history", "nope", environ=environ)
    assert failed.code == 3
    assert ("Traceback" in failed.err) is shows
    assert failed.err.endswith("error: there are no conversations yet\nhint: start one with `memcli chat`\n")


UNFORESEEN = """
import sys
from memcli.cli.failures import report_unexpected
sys.excepthook = report_unexpected
sys.argv = ["memcli", *sys.argv[1:]]
1 / 0
"""


def test_an_exception_nobody_foresaw_is_one_line_and_exit_1() -> None:
    done = subprocess.run([sys.executable, "-c", UNFORESEEN], capture_output=True, text=True, check=False)
    hint = "hint: this is a fault of memcli; MEMCLI_DEBUG=1 shows the traceback to report\n"
    said = f"error: unexpected ZeroDivisionError at <string>:6: division by zero\n{hint}"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_an_exception_nobody_foresaw_is_a_document_when_json_was_asked_for() -> None:
    done = subprocess.run([sys.executable, "-c", UNFORESEEN, "--json"], capture_output=True, text=True, check=False)
    assert Outcome(done.returncode, done.stdout, done.stderr).document["error"] == {
        "message": "unexpected ZeroDivisionError at <string>:6: division by zero",
        "hint": "this is a fault of memcli; MEMCLI_DEBUG=1 shows the traceback to report",
        "exit_code": 1,
    }


def test_bytes_that_are_no_text_on_the_command_line_are_named_and_not_a_crash(store: Store) -> None:
    a_talk(store)
    failed = in_shell("memcli history $'caf\\xe9'")
    assert (failed.code, failed.err) == (
        3,
        "error: no conversation matches 'caf\\udce9'\nhint: run `memcli history` to list conversations\n",
    )


def test_a_locale_without_unicode_still_shows_everything(store: Store) -> None:
    a_talk(store)
    shown = in_pipe("history", "work", environ={"PYTHONIOENCODING": "ascii"})
    assert (shown.code, '→ weather(city="京都"' in shown.out.encode().decode("unicode_escape")) == (0, True)


def test_a_closed_standard_output_is_no_crash(store: Store) -> None:
    a_talk(store)
    assert in_shell("memcli history >&-") == Outcome(0, "", "")
