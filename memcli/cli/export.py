"""`memcli export`: conversations out, as `memcli import` and other tools read them. It refuses to know the format."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from memcli.cli import output
from memcli.cli.cleaning import clean_line
from memcli.cli.exporting import FORMAT, export_to, export_to_file
from memcli.cli.options import Conversations, Db, Json, NoColor, Quiet
from memcli.cli.session import Session, reading
from memcli.cli.setting_flags import with_settings
from memcli.errors import UsageError
from memcli.records import Conversation

STDOUT = "-"


@with_settings("export")
def export(
    conversations: Conversations = None,
    everything: Annotated[bool, typer.Option("--all", help="Every conversation of the store.")] = False,
    to: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="The file to write; - is standard output.")
    ] = STDOUT,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Overwrite the file.")] = False,
    as_json: Json = False,
    db: Db = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
    **settings: object,
) -> None:
    """Write conversations out, one a line in OpenAI's chat format.

    The last one, unless others are named. `memcli import` reads them again with the same messages; what a turn that
    failed or was undone left is not written.
    """
    if everything and conversations:
        raise UsageError("--all and named conversations exclude one another", "name conversations, or pass --all alone")
    with reading(db=db, quiet=quiet, no_color=no_color, more=settings) as session:
        found = _found(session, conversations or [], everything=everything)
        if as_json and to == STDOUT:
            raise UsageError("--json tells of a file that was written, and none is named", "add -o FILE")
        if to == STDOUT:
            if not found:
                session.terminal.note("no conversations yet: start one with `memcli chat`")
            else:
                export_to(session.store, found, sys.stdout)
            return
        path = Path(to).expanduser()
        export_to_file(session.store, found, path, overwrite=yes)
        _tell(session, found, path, as_json=as_json)


def _found(session: Session, names: list[str], *, everything: bool) -> list[Conversation]:
    """Find every conversation before one is written; with --all the one that was changed last comes last."""
    if everything:
        return [] if session.is_fresh else session.store.conversations.list()[::-1]
    return list({found.id: found for found in map(session.conversation, names or ["last"])}.values())


def _tell(session: Session, found: list[Conversation], path: Path, *, as_json: bool) -> None:
    if as_json:
        rows = [{"id": item.id, "name": item.name} for item in found]
        session.terminal.write(output.document({"file": str(path), "conversations": rows}))
        return
    number = f"{len(found):,} conversation{'' if len(found) == 1 else 's'}"
    session.terminal.note(f"wrote {number} to {clean_line(str(path))} in {FORMAT}")
