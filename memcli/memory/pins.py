"""Pinned messages: what stays in the context word for word, whatever is folded.

They stand between what is summarised and the window, in id order, a tool call always with its results; one that the
window shows anyway is not doubled. They count against the limit, never against the window's budget. It refuses to know
how the rest of a context is chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, takewhile

from memcli.errors import ContextOverflow, UsageError
from memcli.memory.clip import Shown
from memcli.memory.context import Part, Policy, Request, system_tokens
from memcli.memory.pairs import Entry, arrange
from memcli.memory.parts import message_part, system_parts, tools_parts
from memcli.memory.plans import current_plan
from memcli.records import Conversation, StoredMessage
from memcli.store import Store

REACH = 200
"""Messages looked at to either side of a pinned call or result for the rest of its unit."""
LEAST_TURN_TOKENS = 200
"""What pins must leave for the next message."""
WHY = "pinned: it stays word for word, whatever is folded"
WHY_BESIDE = "it goes with #{id}, which is pinned"


def pinned(store: Store, conversation_id: str, *, up_to: int) -> list[StoredMessage]:
    """Read the pinned messages up to one, each with its whole unit, ascending; [] when nothing is pinned.

    What stands outside every context is left out. Reads the pins and their units, whatever the conversation's length.
    """
    found: dict[int, StoredMessage] = {}
    for id in store.pins.list(conversation_id):
        message = store.messages.get(conversation_id, id) if id <= up_to and id not in found else None
        if message is not None and not message.is_excluded:
            found.update((item.id, item) for item in unit_of(store, message) if item.id <= up_to)
    return [found[id] for id in sorted(found)]


def room_beside(pins: Sequence[StoredMessage], shown: Collection[int], available: int) -> int:
    """Tell what of `available` is left beside the pinned messages that are not shown already.

    Raises ContextOverflow naming what they need when they do not fit.
    """
    needed = sum(message.tokens for message in pins if message.id not in shown)
    if needed > max(available, 0) and needed:
        raise ContextOverflow(
            "the pinned messages", needed, max(available, 0),
            "unpin some with `memcli history --unpin ID`, or raise --limit-tokens",
        )  # fmt: skip
    return available - needed


def pin_parts(store: Store, pins: Sequence[StoredMessage], shown: Collection[int]) -> list[Part]:
    """Describe the pinned messages that no other part shows, ascending."""
    missing = [message for message in pins if message.id not in shown]
    if not missing:
        return []
    by_hand = set(store.pins.list(missing[0].conversation_id))
    parts: list[Part] = []
    for message in missing:
        nearest = min(by_hand, key=lambda id: abs(id - message.id))
        why = WHY if nearest == message.id else WHY_BESIDE.format(id=nearest)
        parts.append(replace(message_part(Shown.whole(message)), source="pin", why=why))
    return parts


def beside(pins: Sequence[Part], window: Sequence[Part]) -> list[Part]:
    """Put pins before a window; those of its first turn that it left out stand behind that turn's question."""
    first = window[0].first_message_id if window else None
    later = [part for part in pins if first is not None and (part.first_message_id or 0) > first]
    return [*pins[: len(pins) - len(later)], *window[:1], *later, *window[1:]]


def in_full(parts: Iterable[Part], pins: Sequence[StoredMessage]) -> list[Part]:
    """Show pinned messages word for word where a budget had clipped them: `room_beside` kept the room for that."""
    ids = {message.id for message in pins}
    return [
        replace(message_part(Shown.whole(part.message)), why=WHY)
        if part.message is not None and part.state == "clipped" and part.message.id in ids
        else part
        for part in parts
    ]


def unit_of(store: Store, message: StoredMessage) -> list[StoredMessage]:
    """Read what must stay together with a message: a call with all its results; most messages stand alone."""
    if message.role != "tool" and not message.tool_calls:
        return [message]
    before = store.messages.newest_first(message.conversation_id, up_to=message.id)
    behind = store.messages.oldest_first(message.conversation_id, after=message.id)
    around = [*reversed(list(_same_turn(message, before))), *_same_turn(message, behind)]
    group: list[StoredMessage] = []
    for place in arrange([Entry(tuple(call.id for call in item.tool_calls), item.tool_call_id) for item in around]):
        if place.kind in ("message", "stray"):
            if any(item.id == message.id for item in group):
                break
            group = []
        if place.kind != "missing":
            group.append(around[place.index])
    return sorted(group, key=lambda item: item.id)


def pin(store: Store, conversation: Conversation, policy: Policy, request: Request, message_id: int) -> int:
    """Pin a message and return what all pins now take, in budget tokens; pinning twice is once.

    Raises NotFound without such a message, UsageError for one outside every context, and ContextOverflow, with nothing
    changed, when the pins would not fit beside what is always sent and the longest summary.
    """
    message = store.messages.get(conversation.id, message_id)
    if message.is_excluded:
        raise UsageError(f"#{message_id} is {message.state}: it stands outside every context", "pin another message")
    kept = {item.id: item for item in pinned(store, conversation.id, up_to=conversation.last_message_id)}
    kept.update((item.id, item) for item in unit_of(store, message))
    needed = sum(item.tokens for item in kept.values())
    available = _available(store, conversation, policy, request)
    if needed > available:
        others = [id for id in store.pins.list(conversation.id) if id != message_id]
        what = f"pinning #{message_id}" + (f" beside {len(others)} pinned already" if others else "")
        hint = "`memcli history --unpin ID` makes room, and so does a larger limit_tokens"
        raise ContextOverflow(what, needed, max(available, 0), hint)
    store.pins.add(conversation.id, message_id)
    return needed


def _same_turn(message: StoredMessage, reader: Iterable[StoredMessage]) -> Iterator[StoredMessage]:
    return islice(takewhile(lambda item: item.turn_id == message.turn_id, reader), REACH)


def _available(store: Store, conversation: Conversation, policy: Policy, request: Request) -> int:
    plan = current_plan(store, conversation.id)
    fixed = sum(part.tokens for part in (*system_parts(store, conversation), *tools_parts(request)))
    fixed += system_tokens(plan.text) if plan else 0
    summary = policy.summary_tokens + policy.values_tokens
    return policy.limit_tokens - policy.output_reserve - fixed - summary - LEAST_TURN_TOKENS
