"""The entry point: the table of commands, and the one place where an error becomes output and an exit code.

It refuses to import any command before it is run, and to know what one does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated, NoReturn, TextIO, cast

import typer
from typer.main import get_command

from memcli import __version__
from memcli.cli.failures import report, report_unexpected, wants_json
from memcli.cli.output import ReportedError
from memcli.cli.parsing import CONTEXT, Entry, Group, lazy_command
from memcli.errors import Interrupted, MemcliError, UsageError

COMMANDS = (
    Entry("chat", "chat:chat", "Talk to a model; with a message or piped text, one turn and out."),
    Entry("history", "history:history", "List conversations; with one, show its messages."),
    Entry("summaries", "summaries:summaries", "Show every summary ever made: what it covers and what it cost."),
    Entry("compact", "compact:compact", "Fold old messages into a summary now."),
    Entry("context", "context:context", "Show what the agent would see next, or saw on a call."),
    Entry("import", "import_:import_files", "Bring in other tools' transcripts."),
    Entry("export", "export:export", "Write conversations out, one a line in OpenAI's chat format."),
    Entry("doctor", "doctor:doctor", "Check the store, the model and every conversation."),
    Entry("config", "config:config", "Show each setting, its value and where it came from."),
)
"""Every command, in the order they are listed."""

app = typer.Typer(
    cls=Group, add_completion=True, pretty_exceptions_enable=False, invoke_without_command=True,
    rich_markup_mode=None,
    context_settings=CONTEXT,
)  # fmt: skip


@app.callback()
def memcli(
    ctx: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False
) -> None:
    """Chat with a model, and see what it remembers."""
    if version:
        sys.stdout.write(f"memcli {__version__}\n")
    elif ctx.invoked_subcommand is None:
        sys.stdout.write(ctx.get_help() + "\n")


def run() -> NoReturn:
    """Run the command line of this process and exit. The `memcli` script starts here."""
    sys.excepthook = report_unexpected
    sys.stdout, sys.stderr = _writable(sys.stdout), _writable(sys.stderr)
    sys.exit(main(sys.argv[1:]))


def main(args: Sequence[str]) -> int:
    """Run one command line and return its exit code. Every error a user can cause or meet ends here."""
    as_json = wants_json(list(args))
    try:
        return _finish(_guarded(args, as_json=as_json))
    except BrokenPipeError:
        _give_up_output()
        return 0


def _writable(stream: TextIO | None) -> TextIO:
    """Make a stream that takes any text: what the locale cannot encode is escaped, and a closed stream takes all."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def _guarded(args: Sequence[str], *, as_json: bool) -> int:
    try:
        return _invoke(args)
    except MemcliError as err:
        return report(err, as_json=as_json)
    except typer.TyperException as err:
        return report(_as_usage_error(err, args), as_json=as_json)
    except KeyboardInterrupt:
        return report(Interrupted("interrupted"), as_json=as_json)
    except BrokenPipeError:
        raise
    except OSError as err:
        return report(MemcliError(f"{err.filename or 'input or output'}: {err.strerror or err}"), as_json=as_json)


def _invoke(args: Sequence[str]) -> int:
    group = cast(Group, get_command(app))
    for entry in COMMANDS:
        group.add_command(lazy_command(entry))
    if "_MEMCLI_COMPLETE" in os.environ:
        group.main(list(args), prog_name="memcli")
    try:
        with group.make_context("memcli", list(args)) as ctx:
            group.invoke(ctx)
    except (typer.Exit, ReportedError) as end:
        return end.exit_code
    return 0


def _as_usage_error(err: typer.TyperException, args: Sequence[str]) -> UsageError:
    """Say a command line's fault in our own form: small first letter, no full stop, where to look."""
    text = " ".join(err.format_message().split()).rstrip(".")
    command = next((f" {entry.name}" for entry in COMMANDS if entry.name in args[:1]), "")
    return UsageError(text[:1].lower() + text[1:], f"run `memcli{command} --help`")


def _finish(exit_code: int) -> int:
    """Write out what is still held back, so that a reader who left is noticed here and not while Python shuts down."""
    sys.stdout.flush()
    sys.stderr.flush()
    return exit_code


def _give_up_output() -> None:
    """Let the rest of the output go nowhere: whoever read it has left, which is no error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
