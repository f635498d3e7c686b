"""`memcli summaries`: every summary a conversation ever had, and every attempt at one that failed.

It refuses to make or undo a summary: `memcli compact` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, TypeVar

import typer

from memcli.cli import output
from memcli.cli.history_rows import conversation_row
from memcli.cli.numbers import parse_summary_id
from memcli.cli.options import ConversationName, Db, Json, JsonLines, Limit, NoColor, Quiet, Since
from memcli.cli.session import Session, reading
from memcli.cli.setting_flags import with_settings
from memcli.cli.terminal import Terminal
from memcli.errors import UsageError
from memcli.memory.lineage import Descent, lineage
from memcli.records import Call, Conversation

Row = TypeVar("Row")
Full = Annotated[bool, typer.Option("--full", help="Also the whole text of what was superseded.")]
Diff = Annotated[
    tuple[int, int] | None,
    typer.Option("--diff", metavar="A B", parser=parse_summary_id, help="Show what the second says otherwise."),
]
_SHOWN_STATUSES = ("failed", "rejected", "interrupted")


@with_settings("summaries")
def summaries(
    conversation: ConversationName = "last",
    since: Since = None,
    limit: Limit = None,
    full: Full = False,
    diff: Diff = None,
    as_json: Json = False,
    as_lines: JsonLines = False,
    db: Db = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
    **settings: object,
) -> None:
    """Show every summary ever made: what it covers and what it cost.

    Each stands behind what it was made of: ● ends a line of summaries that took one another's place, ├ marks what was
    folded into it. Attempts that failed come last. With -n the newest are shown. --diff compares two word by word,
    and names the exact values gained and lost.
    """
    if diff is not None and (since is not None or limit is not None or full):
        raise UsageError("--diff takes two summaries and nothing else", "leave --since, -n and --full out")
    with reading(db=db, quiet=quiet, no_color=no_color, more=settings) as session:
        found = session.conversation(conversation)
        if diff is not None:
            _show_difference(session, found, diff, as_json=as_json, as_lines=as_lines)
            return
        every = session.store.summaries.list(found.id)
        family = lineage(every, session.store.turns.spans(found.id)) if every else []
        made = _wanted(family, since, limit)
        failed = _newest(_failed(session, found, since), limit)
        if as_lines:
            output.stream_lines(session.terminal.write, [summary_row(item) for item in _as_made(made)])
        elif as_json:
            body = {
                "conversation": conversation_row(found),
                "summaries": [summary_row(item) for item in _as_made(made)],
                "attempts": [attempt_row(call) for call in failed],
            }
            session.terminal.write(output.document(body))
        else:
            _print(session.terminal, found, made, failed, full=full)


def summary_row(descent: Descent) -> Mapping[str, object]:
    """Describe a summary as cli.md promises, with its place among the others."""
    summary = descent.summary
    return {
        "id": summary.id,
        "kind": summary.kind,
        "parent": summary.parent_id,
        "first_message_id": summary.first_message_id,
        "last_message_id": summary.last_message_id,
        "text": summary.text,
        "values": list(summary.values),
        "tokens": summary.tokens,
        "fidelity": summary.fidelity,
        "model": summary.model,
        "prompt_version": summary.prompt_version,
        "instructions": summary.instructions,
        "input_tokens": summary.input_tokens,
        "output_tokens": summary.output_tokens,
        "fallback": summary.fallback,
        "in_force": descent.fate == "in force",
        "fate": descent.fate,
        "superseded_by": descent.into,
        "folds": list(descent.folds),
        "turns": list(descent.turns) if descent.turns else None,
        "cleared": descent.is_cleared,
        "edited_from": summary.details.get("edited_from"),
        "created_at": summary.created_at,
    }


def attempt_row(call: Call) -> Mapping[str, object]:
    """Describe an attempt at a compaction that came to nothing."""
    return {
        "call": call.id,
        "status": call.status,
        "error": call.error,
        "model": call.model,
        "input_tokens": call.input_tokens,
        "output_tokens": call.output_tokens,
        "started_at": call.started_at,
    }


def _show_difference(
    session: Session, conversation: Conversation, ids: tuple[int, int], *, as_json: bool, as_lines: bool
) -> None:
    from memcli.cli.differences import show_difference

    head = {"conversation": conversation_row(conversation)} if as_json or as_lines else None
    show_difference(session, conversation, ids, head, as_line=as_lines)


def _wanted(family: Sequence[Descent], since: datetime | None, limit: int | None) -> list[Descent]:
    """Keep the newest of those made since then, where they stand."""
    made = sorted(item.summary.id for item in family if since is None or item.summary.created_at >= since)
    ids = set(_newest(made, limit))
    return [item for item in family if item.summary.id in ids]


def _as_made(family: Sequence[Descent]) -> list[Descent]:
    return sorted(family, key=lambda item: item.summary.id)


def _failed(session: Session, conversation: Conversation, since: datetime | None) -> list[Call]:
    calls = session.store.calls.newest_first(conversation.id, purpose="compaction")
    wanted = [call for call in calls if call.status in _SHOWN_STATUSES and (since is None or call.started_at >= since)]
    return wanted[::-1]


def _newest(rows: Sequence[Row], limit: int | None) -> list[Row]:
    return list(rows if limit is None else rows[-limit:])


def _print(
    terminal: Terminal, conversation: Conversation, made: Sequence[Descent], failed: Sequence[Call], *, full: bool
) -> None:  # fmt: skip
    if not made and not failed:
        terminal.note("no summaries")
        return
    from memcli.cli.render.lineage import lineage_view
    from memcli.cli.render.summaries import attempt_text

    with terminal.paged():
        if made:
            terminal.show(lineage_view(made, conversation.memory, full=full, is_plain=terminal.is_piped))
        for call in failed:
            terminal.show(attempt_text(call))
