"""`memcli context --raw`: the exact messages as a provider gets them, on the next call or at an earlier moment."""

from __future__ import annotations

from memcli.cli.asked import Asked
from memcli.cli.memories import context_under
from memcli.cli.outlet import Outlet
from memcli.cli.picture import next_request
from memcli.cli.policy import policy_for
from memcli.cli.session import Session
from memcli.memory.context import Context
from memcli.memory.wire import wire
from memcli.records import Conversation, MemoryModel


def show_raw(
    session: Session, conversation: Conversation, memory: MemoryModel, asked: Asked, outlet: Outlet
) -> None:  # fmt: skip
    """Print what a provider would get, or got."""
    context = _context(session, conversation, memory, asked)
    messages = wire(context)
    if outlet.as_json:
        from memcli.cli.picture_json import raw_json

        outlet.write(raw_json(context, messages))
        return
    from memcli.cli.render.raw import raw_text

    for message in messages:
        session.terminal.show(raw_text(message))


def _context(session: Session, conversation: Conversation, memory: MemoryModel, asked: Asked) -> Context:
    if asked.is_of_past:
        from memcli.cli.moments import moment_of

        return moment_of(session, conversation, memory, asked).context
    policy, request = policy_for(session.resolved, conversation), next_request(session.store, conversation)
    return context_under(memory, session.store, conversation, policy, request)
