"""`memcli context --raw`: the request's body as the provider gets it, on the next call or at an earlier moment.

In a pipe it is the body itself, to the byte; what cannot be known is left out of it, and said on standard error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from memcli.agent.bodies import messages_alone, next_after, sent_by
from memcli.cli.asked import Asked
from memcli.cli.memories import context_under
from memcli.cli.outlet import Outlet
from memcli.cli.picture import next_request
from memcli.cli.policy import policy_for
from memcli.cli.session import Session
from memcli.memory.context import Context
from memcli.memory.tokens import count_message_tokens
from memcli.memory.wire import WireMessage, wire
from memcli.records import Call, Conversation, MemoryModel, StoredMessage

SAME = "the model, the tools and the options are those of call {call}"
OPEN = "; what you say next is added to the messages, and num_predict is smaller by its tokens: --message says it"
TIMED = "; the time in the coming message's line is the one when it is said"


@dataclass(frozen=True, slots=True)
class Raw:
    """What a provider gets, or got."""

    context: Context
    messages: Sequence[WireMessage]
    text: str
    """The body, one JSON object."""
    note: str
    """How it may differ from what is sent; "" when it is what was sent, to the byte."""

    @property
    def body(self) -> Mapping[str, object]:
        """Read the body."""
        read: Mapping[str, object] = json.loads(self.text)
        return read


def show_raw(
    session: Session, conversation: Conversation, memory: MemoryModel, asked: Asked, outlet: Outlet
) -> None:  # fmt: skip
    """Print what a provider would get, or got: its bytes in a pipe, on a terminal for a person to read."""
    raw = _raw(session, conversation, memory, asked)
    if outlet.as_json:
        from memcli.cli.picture_json import raw_json

        outlet.write(raw_json(raw))
        return
    if session.terminal.is_piped:
        session.terminal.write(f"{raw.text}\n")
    else:
        from memcli.cli.render.raw import around_text, raw_text

        if around := around_text(raw.body):
            session.terminal.show(around)
        for message in raw.messages:
            session.terminal.show(raw_text(message))
    if raw.note:
        session.terminal.note(f"note: {raw.note}")


def _raw(session: Session, conversation: Conversation, memory: MemoryModel, asked: Asked) -> Raw:
    if not asked.is_of_past:
        policy, request = policy_for(session.resolved, conversation), next_request(session.store, conversation)
        if asked.message is not None:
            coming = _coming(conversation, memory, asked.message.strip())
            request = replace(request, turn_id=None, coming=coming)
        return _to_come(session, conversation, context_under(memory, session.store, conversation, policy, request))
    from memcli.cli.moments import moment_of

    moment = moment_of(session, conversation, memory, asked)
    if moment.call is None:
        return _to_come(session, conversation, moment.context)
    return _of_call(moment.context, moment.call)


def _coming(conversation: Conversation, memory: MemoryModel, text: str) -> StoredMessage:
    """Make the message that would begin the next turn, as a chat stores it."""
    return StoredMessage(
        id=conversation.last_message_id + 1, conversation_id=conversation.id, turn_id=None, uid="",
        kind="user" if memory == "turns" else "human", role="human", text=text, payload=json.dumps({"content": text}),
        tokens=count_message_tokens(role="user", content=text), created_at=datetime.now(UTC), state="whole",
    )  # fmt: skip


def _of_call(context: Context, call: Call) -> Raw:
    """Give what a recorded call sent."""
    messages = wire(context)
    if call.request is None:
        return _alone(context, messages, f"the rest of call {call.id} was not recorded")
    sent = sent_by(call.request, messages)
    lost = (
        "" if sent.is_exact else f"what call {call.id} saw is not stored whole any more: it sent other bytes than these"
    )
    return Raw(context, messages, sent.body, lost)


def _to_come(session: Session, conversation: Conversation, context: Context) -> Raw:
    """Give what a call with this context would send, going by what the conversation's last turn sent."""
    messages = wire(context)
    basis = _basis(session, conversation)
    text = next_after(basis.request, context, messages) if basis is not None and basis.request is not None else None
    if basis is None or text is None:
        return _alone(context, messages, "there is no call to go by")
    return Raw(context, messages, text, f"{SAME.format(call=basis.id)}{_rest(conversation, context)}")


def _rest(conversation: Conversation, context: Context) -> str:
    """Say what else will be otherwise when the call is made; "" when nothing will."""
    coming = [part for part in context.parts if part.source == "new"]
    if not coming:
        return OPEN
    is_said_then = context.memory == "turns" and (coming[0].first_message_id or 0) > conversation.last_message_id
    return TIMED if is_said_then else ""


def _alone(context: Context, messages: Sequence[WireMessage], why: str) -> Raw:
    return Raw(context, messages, messages_alone(messages), f"{why}: the messages alone, as Ollama's API has them")


def _basis(session: Session, conversation: Conversation) -> Call | None:
    """Find the call whose model and tools the next one has: the first of the last turn; None without one."""
    calls = session.store.calls
    for newest in calls.newest_first(conversation.id, purpose="chat", limit=1):
        if newest.model != (conversation.model or newest.model) or newest.turn_id is None:
            return None
        turn = [call for call in calls.of_turn(conversation.id, newest.turn_id) if call.purpose == "chat"]
        return next((call for call in reversed(turn) if call.request is not None), None)
    return None
