"""`memcli context --calls`: every recorded call of a conversation, so that one can be looked at with --call N."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from memcli.cli.outlet import Outlet
from memcli.cli.session import Session
from memcli.records import Call, Conversation

MOST_CALLS = 20
"""Calls a terminal shows, short of --full: the newest."""


def show_calls(session: Session, conversation: Conversation, outlet: Outlet) -> None:
    """List the calls, oldest first: when, what for, with which model, how much was sent and how it ended."""
    most = MOST_CALLS if outlet.detail == "brief" and not outlet.as_json else None
    found = session.store.calls.newest_first(conversation.id, limit=most and most + 1)
    shown = found[:most][::-1]
    if outlet.as_json:
        rows = [call_row(call) for call in shown]
        outlet.write({"conversation": conversation.id, "name": conversation.name, "calls": rows})
        return
    if not shown:
        session.terminal.note("no call was made yet")
        return
    from memcli.cli.render.calls import calls_table

    outlet.show(
        calls_table(shown, datetime.now(UTC)), title=f"memcli context --calls {conversation.name or ''}".strip()
    )
    if len(found) > len(shown):
        session.terminal.note(f"the newest {len(shown)}; --full lists them all")


def call_row(call: Call) -> Mapping[str, object]:
    """Describe a call. `last_message_id` is the newest message it saw; null for a compaction's, as its parts are 0."""
    return {
        "id": call.id,
        "turn": call.turn_id,
        "purpose": call.purpose,
        "model": call.model,
        "limit_tokens": call.limit_tokens,
        "parts": len(call.seen),
        "last_message_id": call.newest_seen,
        "estimated_tokens": call.estimated_tokens,
        "input_tokens": call.input_tokens,
        "output_tokens": call.output_tokens,
        "duration_ms": call.duration_ms,
        "status": call.status,
        "error": call.error,
        "started_at": call.started_at,
    }
