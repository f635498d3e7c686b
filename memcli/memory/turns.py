"""Model B: completed turns leave the context as summaries, the oldest of those as one compaction.

Order: compaction, turn summaries oldest first, plan, the ongoing turn. Recalls are told as messages of the harness,
never as system messages. A completed turn that has no summary yet is shown in full as far as the budget goes
(`pending`); what does not fit is forgotten, and said to be. It refuses to know Model A (`window`) and never calls a
model: `rolling` makes the summaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memcli.errors import ContextOverflow
from memcli.memory.context import Context, Ledger, Part, Policy, Request, Source, spans_of
from memcli.memory.in_force import Recalls, beyond, is_cleared, recalls_at, recap_of
from memcli.memory.parts import fit_turn, ids_of, ongoing_turn, system_parts, tools_parts, turn_part
from memcli.memory.pending import line_tokens, pending_parts, with_line
from memcli.memory.pins import in_full, pin_parts, pinned, room_beside
from memcli.memory.plans import current_plan
from memcli.memory.recalls import render_carried, render_compaction, render_plan, render_recap, render_turn_summary
from memcli.memory.spans import Spans
from memcli.memory.tokens import count_message_tokens
from memcli.records import Conversation, StoredMessage, Summary
from memcli.store import Store

LEAST_TURN_TOKENS = 200
"""What recalls must leave for the next message."""


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
    system = [*system_parts(store, conversation, last_id), *tools_parts(request)]
    plan = _plan_parts(store, conversation.id, request.as_of)
    reserve = Part("reserve", policy.output_reserve, "kept free for the answer")
    available = policy.limit_tokens - sum(part.tokens for part in (*system, *plan, reserve))
    pins = pinned(store, conversation.id, up_to=last_id)
    available = room_beside(pins, ids_of(system) | {message.id for message in turn}, available)
    ongoing = ongoing_parts(store, conversation.id, turn, available, pins)
    available -= sum(part.tokens for part in ongoing)
    shown = ids_of((*system, *ongoing))
    available = room_beside([item for item in pins if turn and item.id >= turn[0].id], shown, available)
    compaction = _within(compaction_parts(recalls.compaction), available)
    room = min(policy.max_tokens, max(0, available - sum(part.tokens for part in compaction)))
    told = _newest_within([_summary_part(item) for item in recalls.summaries], room)
    room -= sum(part.tokens for part in told)
    excluded = Spans.ids(store.messages.excluded_ids(conversation.id, up_to=last_id))
    gap = Spans.of([(recalls.boundary + 1, before)]) - recalls.covered - excluded - spans_of(system, "verbatim")
    pending = in_full(pending_parts(store, conversation.id, gap, room), pins)
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


def summaries_room(
    store: Store, conversation: Conversation, policy: Policy, request: Request, recalls: Recalls
) -> int:  # fmt: skip
    """Tell the tokens turn summaries may take when the next message comes: the window's budget, or what is left of it.

    A compaction is taken to be as long as it may be before there is one; 0 where nothing is left.
    """
    fixed = [
        *system_parts(store, conversation), *tools_parts(request), *_plan_parts(store, conversation.id),
        *compaction_parts(recalls.compaction),
    ]  # fmt: skip
    available = policy.limit_tokens - policy.output_reserve - LEAST_TURN_TOKENS - sum(part.tokens for part in fixed)
    if recalls.compaction is None:
        available -= policy.summary_tokens + policy.values_tokens
    try:
        available = room_beside(pinned(store, conversation.id, up_to=conversation.last_message_id), set(), available)
    except ContextOverflow:
        return 0
    return max(0, min(policy.max_tokens, available))


def compaction_parts(compaction: Summary | None) -> list[Part]:
    """Describe the compaction and the values it carries; [] without one."""
    if compaction is None or is_cleared(compaction):
        return []
    first, last = compaction.first_message_id, compaction.last_message_id
    why = f"s{compaction.id} folds the turns from #{first} to #{last}"
    parts = [_told("compaction", render_compaction(compaction), why, compaction)]
    if compaction.values:
        why = f"exact values carried by s{compaction.id}"
        values = _spoken("values", render_carried(compaction), why)
        parts.append(Part("values", values.tokens, why, values.text, summary_id=compaction.id))
    return parts


def ongoing_parts(
    store: Store, conversation_id: str, turn: list[StoredMessage], available: int, pins: Sequence[StoredMessage] = ()
) -> list[Part]:  # fmt: skip
    """Describe the ongoing turn: the user's message, the recap of its middle if there is one, the rest in full."""
    if not turn:
        return []
    recap = recap_of(store, conversation_id, turn)
    shown_messages = beyond(turn, recap)
    recap_parts = [_recap_part(recap)] if recap else []
    room = available - sum(part.tokens for part in recap_parts) - sum(line_tokens(item) for item in shown_messages)
    shown = [with_line(turn_part(item)) for item in fit_turn(shown_messages, room, pins)]
    return [shown[0], *recap_parts, *shown[1:]]


def _summary_part(summary: Summary) -> Part:
    fallback = ", word for word: the model could not" if summary.fallback else ""
    why = f"s{summary.id} stands for the turn #{summary.first_message_id} to #{summary.last_message_id}{fallback}"
    return _told("turn_summary", render_turn_summary(summary), why, summary)


def _recap_part(recap: Summary) -> Part:
    why = f"s{recap.id} stands for the middle of this turn, #{recap.first_message_id} to #{recap.last_message_id}"
    return _told("compaction", render_recap(recap), why, recap)


def _plan_parts(store: Store, conversation_id: str, as_of: datetime | None = None) -> list[Part]:
    plan = current_plan(store, conversation_id, as_of)
    return [_spoken("plan", render_plan(plan.text, plan.created_at), "the plan in force")] if plan else []


def _told(source: Source, text: str, why: str, summary: Summary) -> Part:
    """Describe a recall that stands for messages."""
    tokens = count_message_tokens(role="user", content=text)
    first, last = summary.first_message_id, summary.last_message_id
    return Part(source, tokens, why, text, first, last, "summarised", summary_id=summary.id)


def _spoken(source: Source, text: str, why: str) -> Part:
    """Describe a message of the harness that stands for none."""
    return Part(source, count_message_tokens(role="user", content=text), why, text)


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
