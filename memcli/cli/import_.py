"""`memcli import`: other tools' transcripts into the store. It refuses to know their formats: `transcripts/` does.

Lines that hold no conversation do not stop an import: the good ones are in, each bad one is named on stderr, and the
exit code is 2, so that a script notices. Nor does a file that cannot be read stop the others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, BinaryIO, cast

import typer

from memcli.cli import output
from memcli.cli.cleaning import clean_line
from memcli.cli.options import Db, Json, MaxTokens, Memory, NoColor, Quiet
from memcli.cli.session import Session, writing
from memcli.cli.setting_flags import with_settings
from memcli.cli.talk import kept
from memcli.cli.terminal import Terminal
from memcli.errors import UsageError
from memcli.records import MemoryModel
from memcli.transcripts.importing import ImportReport, import_file, import_stream

STDIN = "-"
PROGRESS_EVERY = 10
"""Conversations between two updates of the progress line."""
MOST_NAMED = 20
"""Faults named on stderr for each file before the rest is counted; JSON has them all."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one file."""

    file: str
    report: ImportReport
    error: UsageError | None = None
    """Why the file could not be read at all; then the report is empty."""

    @property
    def faults(self) -> list[str]:
        """Say what could not be taken in, one line each, in the order of the file."""
        if self.error is not None:
            return [self.error.message]
        report = self.report
        lines = [(bad.line, 0, f"line {bad.line}: {bad.reason}") for bad in report.bad_lines]
        lines += [
            (item.line, item.entry, f"line {item.line}, message {item.entry}: {item.reason}") for item in report.skipped
        ]
        return [text for _, _, text in sorted(lines)]


@with_settings("import")
def import_files(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Chats in OpenAI format, JSON or JSONL; - is stdin.")
    ],
    memory: Memory = None,
    max_tokens: MaxTokens = None,
    as_json: Json = False,
    db: Db = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
    **settings: object,
) -> None:
    """Bring in other tools' transcripts.

    Importing a file again adds only what is new. Lines that cannot be read are named, the others are in, and the exit
    code is then 2.
    """
    with writing(db=db, quiet=quiet, no_color=no_color, memory=memory, max_tokens=max_tokens, more=settings) as session:
        done = [_import(session, name) for name in files]
        if len(done) == 1 and done[0].error is not None:
            raise done[0].error
        if as_json:
            session.terminal.write(output.document({"files": [file_row(item) for item in done]}))
        else:
            for item in done:
                _print(session.terminal, item)
    if any(item.faults for item in done):
        raise typer.Exit(UsageError.exit_code)


def file_row(item: Imported) -> Mapping[str, object]:
    """Describe what became of one file."""
    error = output.error_body(item.error) if item.error else None
    return {"file": item.file, **asdict(item.report), "error": error}


def _import(session: Session, name: str) -> Imported:
    memory, settings = cast(MemoryModel, session.settings.memory), kept(session.resolved)
    progress = _progress(session.terminal, name) if session.terminal.shows_progress else None
    store = session.store
    try:
        if name == STDIN:
            stream = cast(BinaryIO, sys.stdin.buffer)
            return Imported(
                name, import_stream(store, stream, name="stdin", memory=memory, settings=settings, on_progress=progress)
            )
        return Imported(name, import_file(store, Path(name), memory=memory, settings=settings, on_progress=progress))
    except UsageError as err:
        return Imported(name, ImportReport(), err)
    finally:
        if progress is not None:
            session.terminal.note_progress("")


def _progress(terminal: Terminal, name: str) -> Callable[[ImportReport], None]:
    """Make a function that keeps one line on stderr up to date."""
    shown = clean_line(os.path.basename(name))

    def tell(report: ImportReport) -> None:
        done = report.conversations_added + report.conversations_updated + report.conversations_unchanged
        if done % PROGRESS_EVERY == 0:
            terminal.note_progress(f"{shown}: {done:,} conversations, {report.messages_added:,} messages")

    return tell


def _print(terminal: Terminal, item: Imported) -> None:
    from memcli.cli.render.imports import report_text

    if item.error is None:
        terminal.show(report_text(item.file, item.report))
    for fault in item.faults[:MOST_NAMED]:
        terminal.warn(f"{clean_line(item.file)}: {clean_line(fault)}")
    if len(item.faults) > MOST_NAMED:
        terminal.warn(f"{clean_line(item.file)}: {len(item.faults) - MOST_NAMED:,} more; --json names them all")
