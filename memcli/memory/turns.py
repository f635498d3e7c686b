"""Model B: completed turns leave the context as summaries, the oldest summaries as one compaction; the ongoing turn is whole.

Order: compaction, turn summaries oldest first, plan, the ongoing turn. Recalls are told as messages of the harness, never
as system messages. A completed turn that has no summary yet (a process died, or the conversation was kept under Model A)
is shown in full as far as the budget goes; what does not fit is forgotten, and said to be. It refuses to know Model A
(`window`) and never calls a model: `rolling` makes the summaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memcli.memory.clip import Shown, fit
from memcli.memory.context import Context, Ledger, Part, Policy, Request, spans_of
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
from memcli.memory.pins import pin_parts, pinned, room_beside
from memcli.memory.prompts import render_values
from memcli.memory.recalls import render_compaction, render_plan, render_turn_summary, rendered
from memcli.memory.spans import Spans
from memcli.memory.tokens import count_message_tokens
from memcli.records import Conversation, StoredMessage, Summary
from memcli.store import Store

RECAP_HEADING = "The middle of the ongoing turn, in short:"


@dataclass(frozen=True, slots=True)
class Recalls:
    """What stands for the completed turns: the compaction in force and the turn summaries after it."""

    compaction: Summary | None
    summaries: tuple[Summary, ...]
    """Oldest first, the newest of each turn."""

    @property
    def boundary(self) -> int:
        """Tell the last message the compaction stands for, or that was cleared with one; 0 without one."""
        return self.compaction.last_message_id if self.compaction else 0

    @property
    def covered(self) -> Spans:
        """Collect the messages all of them stand for."""
        spans = Spans.of((item.first_message_id, item.last_message_id) for item in self.summaries)
        return spans | compaction_covers(self.compaction)


def context(store: Store, conversation: Conversation, policy: Policy, request: Request) -> Context:
    """Build the context of a call. Reads the recalls and the turns without one; writes nothing and calls no model.

    Raises ContextOverflow when what must be there does not fit the limit.
    """
    last_id = (
        conversation.last_message_id if request.up_to is None else min(request.up_to, conversation.last_message_id)
    )
    turn = ongoing_turn(store, conversation.id, request)
    before = turn[0].id - 1 if turn else last_id
    recalls = recalls_at(store, conversation.id, before, request.as_of)
    system = [*system_parts(store, conversation), *tools_parts(request)]
    plan = _plan_parts(store, conversation.id, request.as_of)
    reserve = Part("reserve", policy.output_reserve, "kept free for the answer")
    available = policy.limit_tokens - sum(part.tokens for part in (*system, *plan, reserve))
    pins = pinned(store, conversation.id, up_to=last_id)
    available = room_beside(pins, ids_of(system) | {message.id for message in turn}, available)
    ongoing = ongoing_parts(store, conversation.id, turn, available)
    available -= sum(part.tokens for part in ongoing)
    shown = ids_of((*system, *ongoing))
    available = room_beside([item for item in pins if turn and item.id >= turn[0].id], shown, available)
    compaction = _within(compaction_parts(recalls.compaction), available)
    room = min(policy.max_tokens, max(0, available - sum(part.tokens for part in compaction)))
    told = _newest_within([_summary_part(item) for item in recalls.summaries], room)
    room -= sum(part.tokens for part in told)
    excluded = Spans.ids(store.messages.excluded_ids(conversation.id, up_to=last_id))
    gap = Spans.of([(recalls.boundary + 1, before)]) - recalls.covered - excluded - spans_of(system, "verbatim")
    pending = _pending(store, conversation.id, gap, room)
    history = sorted((*told, *pending), key=lambda part: part.first_message_id or 0)
    told_first = next((place for place, part in enumerate(history) if part.message is not None), len(history))
    history[told_first:told_first] = pin_parts(store, pins, shown | ids_of(pending))
    parts = (*system, *compaction, *history, *plan, *ongoing, reserve)
    ledger = Ledger.of(
        last_id,
        verbatim=spans_of(parts, "verbatim"),
        clipped=spans_of(parts, "clipped"),
        covered=spans_of(parts, "summarised"),
        excluded=excluded,
    )
    return Context(
        conversation.id,
        "turns",
        policy,
        parts,
        ledger,
        tuple(_departures(policy, recalls, told, gap)),
        recalls.boundary,
    )


def recalls_at(store: Store, conversation_id: str, last_id: int, as_of: datetime | None = None) -> Recalls:
    """Find what stands for the turns up to `last_id`: the newest compaction that covers nothing later, and the summaries.

    With `as_of` they were also made by then.
    """
    head = store.summaries.head(conversation_id, "compaction")
    while head is not None and (head.last_message_id > last_id or (as_of is not None and head.created_at > as_of)):
        head = store.summaries.get(conversation_id, head.parent_id) if head.parent_id else None
    after = head.last_message_id if head else 0
    found = store.summaries.newest_of_turns(conversation_id, after=after)
    found = [item for item in found if as_of is None or item.created_at <= as_of]
    return Recalls(head, tuple(item for item in reversed(found) if item.last_message_id <= last_id))


def is_cleared(summary: Summary) -> bool:
    """Tell whether a compaction only marks what `on_full = "clear"` dropped."""
    return bool(summary.details.get("cleared"))


def compaction_covers(compaction: Summary | None) -> Spans:
    """Collect the messages a compaction stands for; none when it only marks what was cleared."""
    if compaction is None or is_cleared(compaction):
        return Spans()
    return Spans.of([(compaction.first_message_id, compaction.last_message_id)])


def compaction_parts(compaction: Summary | None) -> list[Part]:
    """Describe the compaction and the values it carries; [] without one."""
    if compaction is None or is_cleared(compaction):
        return []
    text = render_compaction(compaction)
    first, last = compaction.first_message_id, compaction.last_message_id
    why = f"s{compaction.id} folds the turns from #{first} to #{last}"
    parts = [_told("compaction", text, why, first, last, compaction.id)]
    if compaction.values:
        values = render_values(compaction.values)
        tokens = count_message_tokens(role="user", content=values)
        parts.append(
            Part("values", tokens, f"exact values carried by s{compaction.id}", values, summary_id=compaction.id)
        )
    return parts


def ongoing_parts(store: Store, conversation_id: str, turn: list[StoredMessage], available: int) -> list[Part]:
    """Describe the ongoing turn: the user's message, the recap of its middle if there is one, the rest in full."""
    if not turn:
        return []
    recap = recap_of(store, conversation_id, turn)
    shown_messages = turn if recap is None else [turn[0], *(item for item in turn if item.id > recap.last_message_id)]
    recap_parts = [_recap_part(recap)] if recap else []
    room = available - sum(part.tokens for part in recap_parts) - sum(_line_tokens(item) for item in shown_messages)
    shown = [_with_line(turn_part(item)) for item in fit_turn(shown_messages, room)]
    return [shown[0], *recap_parts, *shown[1:]]


def recap_of(store: Store, conversation_id: str, turn: Sequence[StoredMessage]) -> Summary | None:
    """Find the recap of a turn's middle; None when there is none."""
    if len(turn) < 2:
        return None
    recap = store.summaries.newest_of(conversation_id, "recap", turn[1].id)
    return recap if recap is not None and recap.last_message_id <= turn[-1].id else None


def middle_of(turn: list[StoredMessage], recap: Summary | None) -> list[StoredMessage]:
    """Take what a recap may cover beyond the last one: everything but the user's message and the newest unit."""
    units = units_of(turn[1:])
    after = recap.last_message_id if recap else 0
    return [message for unit in units[:-1] for message in unit if message.id > after]


def _summary_part(summary: Summary) -> Part:
    text = render_turn_summary(summary)
    first, last = summary.first_message_id, summary.last_message_id
    fallback = ", word for word: the model could not" if summary.fallback else ""
    return _told(
        "turn_summary",
        text,
        f"s{summary.id} stands for the turn #{first} to #{last}{fallback}",
        first,
        last,
        summary.id,
    )


def _recap_part(recap: Summary) -> Part:
    first, last = recap.first_message_id, recap.last_message_id
    text = rendered("harness", recap.created_at, f"{RECAP_HEADING}\n{recap.text}", what="recap")
    return _told(
        "compaction",
        text,
        f"s{recap.id} stands for the middle of this turn, #{first} to #{last}",
        first,
        last,
        recap.id,
    )


def _plan_parts(store: Store, conversation_id: str, as_of: datetime | None = None) -> list[Part]:
    versions = store.plans.list(conversation_id, limit=1 if as_of is None else None)
    plan = next((item for item in versions if as_of is None or item.created_at <= as_of), None)
    if plan is None or not plan.text:
        return []
    text = render_plan(plan.text, plan.created_at)
    return [Part("plan", count_message_tokens(role="user", content=text), f"version {plan.id} of the plan", text)]


def _told(source: str, text: str, why: str, first: int, last: int, summary_id: int) -> Part:
    tokens = count_message_tokens(role="user", content=text)
    return Part(source, tokens, why, text, first, last, "summarised", summary_id=summary_id)  # type: ignore[arg-type]


def _within(parts: list[Part], available: int) -> list[Part]:
    """Keep leading parts that fit."""
    kept: list[Part] = []
    for part in parts:
        if part.tokens > available:
            break
        kept.append(part)
        available -= part.tokens
    return kept


def _newest_within(parts: list[Part], max_tokens: int) -> list[Part]:
    """Keep the newest parts that fit, oldest first."""
    return _within(parts[::-1], max_tokens)[::-1]


def _pending(store: Store, conversation_id: str, gap: Spans, max_tokens: int) -> list[Part]:
    """Show the newest turns without a summary in full, whole turns only, as far as the budget goes."""
    parts: list[Part] = []
    for first, last in reversed(gap.pairs):
        turn: list[StoredMessage] = []
        for message in store.messages.newest_first(conversation_id, up_to=last, down_to=first):
            if turn and message.turn_id != turn[0].turn_id:
                shown = _turn_within(turn, max_tokens)
                if not shown:
                    return parts[::-1]
                parts += shown
                max_tokens -= sum(part.tokens for part in shown)
                turn = []
            turn.append(message)
            if sum(item.tokens for item in turn) > max_tokens and parts:
                return parts[::-1]
        shown = _turn_within(turn, max_tokens)
        parts += shown
        max_tokens -= sum(part.tokens for part in shown)
        if turn and not shown:
            break
    return parts[::-1]


def _turn_within(turn: list[StoredMessage], max_tokens: int) -> list[Part]:
    """Show one turn that was read backwards, its tool results clipped if need be; newest first, [] when it cannot fit."""
    readable = [message for message in turn[::-1] if not message.is_excluded]
    room = max_tokens - sum(_line_tokens(message) for message in readable)
    shown = [Shown.whole(message) for message in readable]
    for role in ("tool", "ai"):
        shown = fit(shown, room, (role,))
    if sum(item.tokens for item in shown) > room:
        return []
    why = "this turn has no summary yet"
    parts = [_with_line(message_part(item)) for item in shown]
    return [replace(part, why=why if part.state == "verbatim" else part.why) for part in reversed(parts)]


def _with_line(part: Part) -> Part:
    """Put the metadata line before a user's message, in the view."""
    message = part.message
    if message is None or message.role != "human":
        return part
    text = rendered("user", message.created_at, part.text)
    return replace(part, text=text, shown_text=text, tokens=part.tokens + _line_tokens(message))


def _line_tokens(message: StoredMessage) -> int:
    """Tell what a user's message takes more with its metadata line and escapes; 0 for every other message."""
    if message.role != "human":
        return 0
    return max(0, len(rendered("user", message.created_at, message.text)) - len(message.text)) // 4 + 1


def _departures(policy: Policy, recalls: Recalls, told: list[Part], gap: Spans) -> list[str]:
    found: list[str] = []
    if len(recalls.summaries) > policy.max_summaries:
        found.append(
            f"{len(recalls.summaries)} turn summaries are in force and {policy.max_summaries} are wanted:"
            " the oldest are folded when the next turn ends"
        )
    if len(told) < len(recalls.summaries):
        found.append(f"{len(recalls.summaries) - len(told)} turn summaries do not fit the budget and are left out")
    if gap:
        found.append(f"{gap.count} messages belong to completed turns without a summary")
    return found
