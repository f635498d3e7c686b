"""Model A: the newest messages within a token budget, after a running summary of the rest.

The window equals langchain_core's `trim_messages(strategy="last", start_on=HumanMessage, include_system=True)` with the
approximate counter, without reading the history: every message's count is stored, and rows are read from the newest
back until the budget is spent. Two departures from the source, each switchable in Policy: a tool call and its results
are one unit wherever they were stored, and a newest turn that alone exceeds the budget is kept and clipped.

It refuses to know Model B (`turns`) and never calls a model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memcli.memory.backwards import backwards
from memcli.memory.clip import LEAST_CLIP_TOKENS, Shown, fit
from memcli.memory.context import Context, Ledger, Part, Policy, Request, spans_of, system_tokens
from memcli.memory.heads import head_at
from memcli.memory.parts import (
    fit_turn,
    ids_of,
    message_part,
    ongoing_turn,
    system_parts,
    tools_parts,
    turn_part,
    units_of,
)
from memcli.memory.pins import beside, in_full, pin_parts, pinned, room_beside
from memcli.memory.plans import plan_parts
from memcli.memory.prompts import render_summary, render_values
from memcli.memory.spans import Spans
from memcli.memory.tokens import text_tokens
from memcli.records import Conversation, StoredMessage, Summary
from memcli.store import Store

LONGEST_TURN = 2000
"""Messages read back in search of the user's message the newest turn begins with."""
CLIP_DEPARTURE = "the newest turn alone exceeds the budget: it is kept and clipped (the source would send no history)"


@dataclass(frozen=True, slots=True)
class Window:
    """The verbatim history of a context, oldest first."""

    shown: tuple[Shown, ...]
    departures: tuple[str, ...] = ()
    unreadable: tuple[int, ...] = ()
    """Ids that were met on the way and cannot be read."""

    @property
    def tokens(self) -> int:
        """Add up what is shown."""
        return sum(item.tokens for item in self.shown)


def select(
    newest_first: Iterable[StoredMessage], max_tokens: int, policy: Policy, *, behind_tokens: int | None = None
) -> Window:
    """Choose the window from a history that is read backwards, taking one message more than fits.

    The window begins on a human message; it is empty when the history has none. Excluded messages must not be in it.
    `behind_tokens` is what the history and everything before it takes since the first message; with it the window's
    start moves in steps of `policy.window_step`.
    """
    reader = iter(newest_first)
    suffix: list[StoredMessage] = []
    unreadable: list[int] = []
    total = 0
    overflow: StoredMessage | None = None
    for message in reader:
        if message.is_excluded:
            unreadable.append(message.id)
        elif total + message.tokens > max_tokens:
            overflow = message
            break
        else:
            suffix.append(message)
            total += message.tokens
    newest_human = next((index for index, message in enumerate(suffix) if message.role == "human"), None)
    if newest_human is None and overflow is not None and policy.clips_newest:
        turn = (
            [*suffix, overflow] if overflow.role == "human" else _back_to_human([*suffix, overflow], reader, unreadable)
        )
        shown = _squeeze(turn[::-1], max_tokens)
        return Window(tuple(shown), (CLIP_DEPARTURE,) if shown else (), tuple(unreadable))
    wanted = max_tokens if behind_tokens is None else stepped(max_tokens, behind_tokens, policy.window_step)
    while suffix and (suffix[-1].role != "human" or (total > wanted and len(suffix) - 1 != newest_human)):
        total -= suffix.pop().tokens
    return Window(tuple(Shown.whole(message) for message in suffix[::-1]), (), tuple(unreadable))


def stepped(max_tokens: int, behind_tokens: int, step: int) -> int:
    """Lower a budget so that the window's start keeps its place while the history grows by less than a step.

    The start stands on a grid of `step` tokens counted from the conversation's first message, so what a window begins
    with is a function of the log alone: a budget that grows with the history leaves the start where it is, until the
    grid's next line is reached. Never more than `max_tokens`, and never less than half of it.
    """
    step = min(step, max_tokens // 2)
    if step <= 0 or behind_tokens <= max_tokens:
        return max_tokens
    return max_tokens - (max_tokens - behind_tokens) % step


def context(store: Store, conversation: Conversation, policy: Policy, request: Request) -> Context:
    """Build the context of a call: system, tools, summary, plan, pins, window, the ongoing turn, reserve.

    Reads the window's rows and one more, whatever the conversation's length; writes nothing and calls no model.
    Raises ContextOverflow when what must be there does not fit the limit.
    """
    last_id = (
        conversation.last_message_id if request.up_to is None else min(request.up_to, conversation.last_message_id)
    )
    head = head_at(store, conversation.id, "running", last_id, request.as_of)
    fixed = [*system_parts(store, conversation, last_id), *tools_parts(request), *_summary_parts(head)]
    fixed += plan_parts(store, conversation.id, request.as_of)
    turn = ongoing_turn(store, conversation.id, request)
    reserve = Part("reserve", policy.output_reserve, "kept free for the answer")
    available = policy.limit_tokens - reserve.tokens - sum(part.tokens for part in fixed)
    pins = pinned(store, conversation.id, up_to=last_id)
    shown = ids_of(fixed) | {message.id for message in turn}
    available = room_beside(pins, shown, available)
    turn_shown = fit_turn(turn, available, pins)
    budget = max(0, min(policy.max_tokens, available - sum(item.tokens for item in turn_shown)))
    before = turn[0].id - 1 if turn else last_id
    down_to = 2 if any(part.message is not None for part in fixed) else 1
    newest_first = store.messages.newest_first(conversation.id, up_to=before, down_to=down_to)
    window = select(
        backwards(newest_first) if policy.keeps_units else newest_first, budget, policy,
        behind_tokens=_behind(store, conversation, before) if policy.window_step else None,
    )  # fmt: skip
    shown |= {item.message.id for item in window.shown}
    history = beside(pin_parts(store, pins, shown), in_full(map(message_part, window.shown), pins))
    parts = (*fixed, *history, *map(turn_part, turn_shown), reserve)
    excluded = Spans.ids((*store.messages.excluded_ids(conversation.id, up_to=last_id), *window.unreadable))
    covered = Spans.of([(head.first_message_id, head.last_message_id)]) if head else Spans()
    ledger = Ledger.of(
        last_id,
        verbatim=spans_of(parts, "verbatim"),
        clipped=spans_of(parts, "clipped"),
        covered=covered,
        excluded=excluded,
    )
    return Context(
        conversation.id, "window", policy, parts, ledger, window.departures, head.last_message_id if head else 0
    )


def _behind(store: Store, conversation: Conversation, last_id: int) -> int:
    """Add up what the messages up to one take, excluded ones too, from the conversation's running total."""
    newest = conversation.last_message_id
    later = store.messages.newest_first(conversation.id, up_to=newest, down_to=last_id + 1, excluded=True)
    return conversation.tokens - sum(message.tokens for message in later)


def _summary_parts(head: Summary | None) -> list[Part]:
    if head is None:
        return []
    text = render_summary(head.text)
    first, last = head.first_message_id, head.last_message_id
    why = f"summary s{head.id} stands for #{first} to #{last}"
    parts = [Part("summary", system_tokens(text), why, text, first, last, "summarised", summary_id=head.id)]
    if head.values:
        values = render_values(head.values)
        parts.append(
            Part("values", text_tokens(values), f"exact values carried by s{head.id}", values, summary_id=head.id)
        )
    return parts


def _back_to_human(
    suffix: list[StoredMessage], reader: Iterable[StoredMessage], unreadable: list[int]
) -> list[StoredMessage]:
    """Read on to the human message the newest turn begins with; [] when there is none near."""
    for message in reader:
        if message.is_excluded:
            unreadable.append(message.id)
            continue
        suffix.append(message)
        if message.role == "human":
            return suffix
        if len(suffix) >= LONGEST_TURN:
            break
    return []


def _squeeze(turn: list[StoredMessage], max_tokens: int) -> list[Shown]:
    """Make a turn fit: clip its tool results, then its answers, then leave out its oldest units, then clip the user.

    The newest unit goes last. [] when not even the user's message fits.
    """
    if not turn:
        return []
    human, units = turn[0], units_of(turn[1:])
    sizes = [sum(_least(message) for message in unit) for unit in units]
    room = max_tokens - human.tokens
    while units and sum(sizes) > room:
        units.pop(0)
        sizes.pop(0)
    shown = [Shown.whole(message) for unit in ([human], *units) for message in unit]
    for roles in (("tool",), ("ai",), ("human",)):
        shown = fit(shown, max_tokens, roles)
    return shown if sum(item.tokens for item in shown) <= max_tokens else []


def _least(message: StoredMessage) -> int:
    can_be_clipped = message.role == "tool" or (message.role == "ai" and not message.tool_calls)
    return min(message.tokens, LEAST_CLIP_TOKENS) if can_be_clipped else message.tokens
