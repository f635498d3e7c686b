"""`memcli context --call N` of a compaction: the prompt its summarizer saw, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping

from memcli.cli.asked import Asked
from memcli.cli.inspect_calls import call_row
from memcli.cli.ledger_json import pairs
from memcli.cli.outlet import Outlet
from memcli.cli.output import line
from memcli.cli.session import Session
from memcli.memory.fold_call import FoldCall, fold_call
from memcli.memory.wire import WireMessage
from memcli.records import Conversation

LOST = "what call {call} saw is not stored whole any more: it was sent other words than these"
ALONE = "what went beside the messages was not recorded"


def show_fold_call(session: Session, conversation: Conversation, call_id: int, asked: Asked, outlet: Outlet) -> None:
    """Show what a compaction's call saw; with --raw the two messages alone. Raises NotFound where none is recorded."""
    seen = fold_call(session.store, conversation.id, call_id)
    lost = "" if seen.is_exact else LOST.format(call=seen.call.id)
    if outlet.as_json:
        outlet.write({"conversation": conversation.id, "name": conversation.name, **_body(seen)})
    elif asked.raw and session.terminal.is_piped:
        session.terminal.write(line({"messages": _messages(seen)}))
        session.terminal.note(f"note: {lost or ALONE}")
    else:
        from memcli.cli.render.fold_call import FoldCallView

        view = FoldCallView(conversation, seen, (WireMessage("system", seen.system), WireMessage("user", seen.user)))
        outlet.show(view, title=f"memcli context: call {seen.call.id}")
        if lost:
            session.terminal.note(f"note: {lost}")


def _body(seen: FoldCall) -> Mapping[str, object]:
    return {
        "call": call_row(seen.call),
        "shown": pairs(seen.shown),
        "exact": seen.is_exact,
        "messages": _messages(seen),
        "schema_system": seen.schema_system,
    }


def _messages(seen: FoldCall) -> list[Mapping[str, object]]:
    return [{"role": "system", "content": seen.system}, {"role": "user", "content": seen.user}]
