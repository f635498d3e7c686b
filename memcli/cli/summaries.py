"""`memcli summaries`: every summary a conversation ever had, and every attempt at one that failed.

It refuses to make or undo a summary: `memcli compact` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from memcli.cli import output
from memcli.cli.history import conversation_row
from memcli.cli.options import ConversationName, Db, Json, JsonLines, Limit, NoColor, Quiet, Since
from memcli.cli.session import Session, reading
from memcli.cli.terminal import Terminal
from memcli.records import Call, Conversation, Summary

Row = TypeVar("Row")
_SHOWN_STATUSES = ("failed", "rejected", "interrupted")


def summaries(
    conversation: ConversationName = "last",
    since: Since = None,
    limit: Limit = None,
    as_json: Json = False,
    as_lines: JsonLines = False,
    db: Db = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Show every summary ever made: what it covers and what it cost.

    They come in the order they were made, with the attempts that failed between them. With -n the newest are shown.
    """
    with reading(db=db, quiet=quiet, no_color=no_color) as session:
        found = session.conversation(conversation)
        every = session.store.summaries.list(found.id)
        made = _newest([item for item in every if since is None or item.created_at >= since], limit)
        failed = _newest(_failed(session, found, since), limit)
        if as_lines:
            output.stream_lines(session.terminal.write, [summary_row(item) for item in made])
        elif as_json:
            body = {
                "conversation": conversation_row(found),
                "summaries": [summary_row(item) for item in made],
                "attempts": [attempt_row(call) for call in failed],
            }
            session.terminal.write(output.document(body))
        else:
            _print(session.terminal, {item.id: item for item in every}, made, failed)


def summary_row(summary: Summary) -> Mapping[str, object]:
    """Describe a summary as cli.md promises."""
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
        "in_force": summary.in_force,
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


def folded_span(summary: Summary, by_id: Mapping[int, Summary]) -> tuple[int, int]:
    """Find the span a summary was made from: what it covers, without what its parent stood for already."""
    parent = by_id.get(summary.parent_id) if summary.parent_id is not None else None
    first = parent.last_message_id + 1 if parent else summary.first_message_id
    return min(first, summary.last_message_id), summary.last_message_id


def _failed(session: Session, conversation: Conversation, since: datetime | None) -> list[Call]:
    calls = session.store.calls.newest_first(conversation.id, purpose="compaction")
    wanted = [call for call in calls if call.status in _SHOWN_STATUSES and (since is None or call.started_at >= since)]
    return wanted[::-1]


def _newest(rows: Sequence[Row], limit: int | None) -> list[Row]:
    return list(rows if limit is None else rows[-limit:])


def _print(terminal: Terminal, by_id: Mapping[int, Summary], made: Sequence[Summary], failed: Sequence[Call]) -> None:
    from memcli.cli.render.summaries import attempt_text, summary_text

    if not made and not failed:
        terminal.note("no summaries")
        return
    entries = [(item.created_at, summary_text(item, folded_span(item, by_id))) for item in made]
    entries += [(call.started_at, attempt_text(call)) for call in failed]
    with terminal.paged():
        for _, entry in sorted(entries, key=lambda pair: pair[0]):
            terminal.show(entry)
