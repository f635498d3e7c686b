"""Contexts of earlier moments: what a recorded call really saw, and what a call would have seen at a message.

A recorded call is put together again from its references: messages and summaries are append-only, so an undo, a fork or
a rewind since then changes nothing in it. Where no call was made the context is rebuilt from the log and the summaries
that stand in today's line and existed by then. It refuses to know how two contexts differ (`changes`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, cast

from memcli.errors import NotFound, UsageError
from memcli.memory.clip import Shown, clip
from memcli.memory.context import Context, Ledger, Part, PartState, Policy, Request, Source, spans_of
from memcli.memory.in_force import is_cleared
from memcli.memory.model import memory_of
from memcli.memory.prompts import render_summary, render_values
from memcli.memory.recalls import (
    render_carried,
    render_compaction,
    render_recap,
    render_turn_summary,
    rendered_message,
)
from memcli.memory.spans import Spans
from memcli.records import Call, Conversation, MemoryModel, PartRef, StoredMessage, Summary
from memcli.store import Store

Origin = Literal["recorded", "rebuilt", "next"]
"""`recorded`: a call saw exactly this; `rebuilt`: worked out for a moment without a call; `next`: what comes next."""
_REFERENCE = re.compile(r"(?:call\s*)?(?P<call>\d+)|(?:#|m)(?P<message>\d+)|(?P<next>next|now)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Moment:
    """A context, and when it was seen."""

    context: Context
    origin: Origin
    last_message_id: int
    """The newest message that existed."""
    call: Call | None = None
    """The recorded call, with its estimated and reported tokens; None for a context that no call saw."""

    @property
    def label(self) -> str:
        """Name the moment in a few words."""
        if self.call is not None:
            return f"call {self.call.id}, at #{self.last_message_id}"
        return "the next call" if self.origin == "next" else f"rebuilt at #{self.last_message_id}"


def seen(
    store: Store, conversation: Conversation, policy: Policy, request: Request, reference: str
) -> Moment:  # fmt: skip
    """Find the moment a person means: `3` or `call 3` a call, `#41` or `m41` a message, `next` or `now` the next call.

    Raises UsageError for anything else, and NotFound.
    """
    match = _REFERENCE.fullmatch(reference.strip())
    if match is None:
        raise UsageError(f"{reference!r} names no moment", "use a call's number, m41 for message #41, or next")
    if match["call"]:
        return of_call(store, conversation, int(match["call"]), policy=policy)
    if match["message"]:
        return at_message(store, conversation, policy, int(match["message"]), request=request)
    context = memory_of(conversation.memory).context(store, conversation, policy, request)
    return Moment(context, "next", conversation.last_message_id)


def at_message(
    store: Store, conversation: Conversation, policy: Policy, message_id: int, *, request: Request | None = None,
    memory: MemoryModel | None = None,
) -> Moment:  # fmt: skip
    """Give the context at the moment a message was the newest one: of the call made right then, else rebuilt.

    `memory` other than the conversation's own is always rebuilt; `request` gives the tools. Raises NotFound without
    such a message, and ContextOverflow as a context does.
    """
    message = store.messages.get(conversation.id, message_id)
    if memory in (None, conversation.memory) and message.turn_id is not None:
        for call in store.calls.of_turn(conversation.id, message.turn_id):
            if call.purpose == "chat" and call.newest_seen == message_id:
                return of_call(store, conversation, call.id, policy=policy)
    tools = request or Request()
    moment = _as_of(store, conversation, message)
    turn_id = message.turn_id if _awaits_answer(store, message) else None
    asked = replace(tools, up_to=message_id, turn_id=turn_id, as_of=moment)
    context = memory_of(memory or conversation.memory).context(store, conversation, policy, asked)
    return Moment(context, "rebuilt", message_id)


def of_call(store: Store, conversation: Conversation, call_id: int, *, policy: Policy | None = None) -> Moment:
    """Put the context of a recorded call together again from its references.

    The limit and the reserve are the call's own; of the rest of the policy nothing is recorded, `policy` stands for it.
    What was pruned since has no text. Raises NotFound without such a call, and for one that recorded no parts.
    """
    call = store.calls.get(conversation.id, call_id)
    if call.purpose == "compaction":
        raise NotFound(f"call {call_id} saw no context: it folded", "`memcli context --call` shows its prompt")
    if not call.seen:
        raise NotFound(f"call {call_id} recorded no parts", "name another; `memcli context --calls` lists them")
    memory = _memory_of_call(store, conversation, call)
    parts = tuple(_part(store, conversation.id, reference, memory) for reference in call.seen)
    last_id = call.newest_seen or 0
    summarised = spans_of(parts, "summarised")
    clipped, verbatim = spans_of(parts, "clipped"), spans_of(parts, "verbatim")
    excluded = _excluded_then(store, call, last_id) - verbatim - clipped
    ledger = Ledger.of(last_id, verbatim=verbatim, clipped=clipped, covered=summarised, excluded=excluded)
    reserve = next((part.tokens for part in parts if part.source == "reserve"), 0)
    known = replace(policy or Policy(), limit_tokens=call.limit_tokens, output_reserve=reserve)
    chain = (part.last_message_id or 0 for part in parts if part.source in ("summary", "compaction"))
    covered = next(chain, 0)
    return Moment(Context(conversation.id, memory, known, parts, ledger, (), covered), "recorded", last_id, call)


def _as_of(store: Store, conversation: Conversation, message: StoredMessage) -> datetime | None:
    """Tell when the next message came: what was made by then existed. None for an import, whose clock is another."""
    if conversation.source is not None or message.id >= conversation.last_message_id:
        return None
    return store.messages.get(conversation.id, message.id + 1).created_at


def _awaits_answer(store: Store, message: StoredMessage) -> bool:
    """Tell whether the message's turn was under way when it was the newest one."""
    if message.turn_id is None or message.is_excluded:
        return False
    if message.role in ("human", "tool") or message.tool_calls:
        return True
    behind = store.messages.oldest_first(message.conversation_id, after=message.id)
    following = next(behind, None)
    return following is not None and following.turn_id == message.turn_id


def _memory_of_call(store: Store, conversation: Conversation, call: Call) -> MemoryModel:
    """Tell which memory model made a call's context: by its sources, else by the metadata line of a user's message."""
    sources = {part.source for part in call.seen}
    if sources & {"compaction", "turn_summary"}:
        return "turns"
    if "summary" in sources:
        return "window"
    for part in call.seen:
        if part.source in ("new", "message") and part.state == "verbatim" and part.first_message_id is not None:
            message = _message(store, conversation.id, part.first_message_id)
            if message is not None and message.role == "human":
                return "window" if message.tokens == part.tokens else "turns"
    return conversation.memory


def _part(store: Store, conversation_id: str, reference: PartRef, memory: MemoryModel) -> Part:
    """Put one part together again."""
    part = Part(
        cast("Source", reference.source), reference.tokens, reference.why, reference.text or "",
        reference.first_message_id, reference.last_message_id, cast("PartState | None", reference.state),
        summary_id=reference.summary_id,
    )  # fmt: skip
    if reference.summary_id is not None:
        return _with_summary(store, conversation_id, part, reference.summary_id)
    if reference.first_message_id is None:
        return part
    message = _message(store, conversation_id, reference.first_message_id)
    if message is None:
        return replace(part, why=f"{part.why} (no longer stored)")
    return _with_message(part, message, memory)


def _with_summary(store: Store, conversation_id: str, part: Part, summary_id: int) -> Part:
    try:
        summary = store.summaries.get(conversation_id, summary_id)
    except NotFound:
        return replace(part, why=f"{part.why} (no longer stored)")
    if part.source == "values":
        text = render_carried(summary) if summary.kind == "compaction" else render_values(summary.values)
        return replace(part, text=text)
    return replace(part, text=_told(summary))


def _told(summary: Summary) -> str:
    """Write a summary as it stood in a context."""
    if summary.kind == "running":
        return render_summary(summary.text)
    if summary.kind == "turn":
        return render_turn_summary(summary)
    if summary.kind == "recap":
        return render_recap(summary)
    return "" if is_cleared(summary) else render_compaction(summary)


def _with_message(part: Part, message: StoredMessage, memory: MemoryModel) -> Part:
    """Show a message as the call showed it: whole, clipped to the same size, with Model B's metadata line."""
    text = message.text
    shown_text = None
    if part.state == "clipped":
        shown_text = clip(Shown.whole(message), part.tokens + 1).clipped_text
        text = shown_text or text
    if memory == "turns" and message.role == "human" and part.source in ("new", "message"):
        text = shown_text = rendered_message(message, text)
    return replace(part, text=text, message=_as_sent(message), shown_text=shown_text)


def _as_sent(message: StoredMessage) -> StoredMessage:
    """Show a message that was taken back since as it was when it was sent."""
    return replace(message, state="whole") if message.state in ("failed", "rewound") else message


def _message(store: Store, conversation_id: str, id: int) -> StoredMessage | None:
    try:
        return store.messages.get(conversation_id, id)
    except NotFound:
        return None


def _excluded_then(store: Store, call: Call, last_id: int) -> Spans:
    """Collect what stood outside every context when a call was made: a turn taken back later did not yet."""
    ids: list[int] = []
    for id in store.messages.excluded_ids(call.conversation_id, up_to=last_id):
        message = store.messages.get(call.conversation_id, id)
        turn = store.turns.get(call.conversation_id, message.turn_id) if message.turn_id is not None else None
        later = turn is not None and turn.ended_at is not None and turn.ended_at > call.started_at
        if not (later and message.state == "rewound"):
            ids.append(id)
    return Spans.ids(ids)
