"""What `compact` would do under Model B, worked out without calling a model: turn summaries to make, then folds.

It refuses to change anything: `rolling.settle` does.
"""

from __future__ import annotations

from dataclasses import replace

from memcli.memory.compaction import is_over
from memcli.memory.context import Policy, Request
from memcli.memory.fold import FoldResult, chunk_budget
from memcli.memory.in_force import Recalls, recalls_at
from memcli.memory.lacking import KEPT_SHARE, SUMMARY_TOKENS, Lack, Lacks, lacking, lacks
from memcli.memory.summarizer import EXTRACTIVE, Summarizer, request_tokens
from memcli.memory.turn_prompts import fold_prompt
from memcli.memory.turns import summaries_room
from memcli.memory.uncovered import foldable_up_to
from memcli.records import Conversation
from memcli.store import Store

NO_BOUND = 2**31
"""Turn summaries that no conversation reaches: nothing would be folded."""


def propose(
    store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer, request: Request,
    *, if_needed: bool, instructions: str | None = None,
) -> FoldResult:  # fmt: skip
    """Say what `settle` with the same arguments would make and fold. The summarizer is asked for its window only.

    The result's status is `proposed` or `nothing`; `turn_summaries` and `folds` are how many of each, `calls` and
    `input_tokens` the requests to a model and about what they would carry, in budget tokens.
    """
    recalls = recalls_at(store, conversation.id, foldable_up_to(store, conversation))
    found = lacking(store, conversation, recalls)
    making = lacks(store, conversation, replace(policy, max_summaries=NO_BOUND), summarizer)
    sizes = [*(item.tokens for item in recalls.summaries), *[SUMMARY_TOKENS] * making.turns]
    if if_needed:
        room = summaries_room(store, conversation, policy, request, recalls)
        leaving = _overflow(recalls, making, sizes, policy, room)
    else:
        leaving = sizes
    if not making.turns and not leaving:
        idle = "every completed turn is summarised already" if if_needed else "there is nothing to fold"
        return FoldResult(conversation.id, "nothing", error=idle)
    is_cleared = if_needed and policy.on_full == "clear"
    folds = [[*leaving]] if is_cleared and leaving else _batches(leaving, chunk_budget(policy, summarizer, None))
    asks = summarizer.label != EXTRACTIVE and not is_cleared
    frame = request_tokens(fold_prompt(None, (), max_tokens=policy.summary_tokens, instructions=instructions))
    carried = sum(frame + policy.summary_tokens + sum(batch) for batch in folds) if asks else 0
    first, last = _span(recalls, found, len(leaving))
    return FoldResult(
        conversation.id, "proposed", None, first, last, _before(store, conversation, recalls, found, len(leaving)),
        sum(sizes[len(leaving) :]) - _kept_before(recalls, len(leaving)) + (policy.summary_tokens if leaving else 0),
        making.tokens + carried, 0, making.requests + (len(folds) if asks else 0), None, making.turns, len(folds),
    )  # fmt: skip


def _overflow(recalls: Recalls, making: Lacks, sizes: list[int], policy: Policy, room: int) -> list[int]:
    """Take the oldest that would leave the window once the missing ones are made; [] when it holds them all."""
    if not making.turns and not is_over(recalls, policy.max_summaries, room):
        return []
    if len(sizes) <= policy.max_summaries and sum(sizes) <= room:
        return []
    share = 1.0 if policy.on_full == "clear" else KEPT_SHARE
    kept = used = 0
    for size in reversed(sizes):
        used += size
        if kept >= max(1, int(policy.max_summaries * share)) or used > room * (share if kept else 1.0):
            break
        kept += 1
    return sizes[: len(sizes) - kept]


def _batches(sizes: list[int], budget: int) -> list[list[int]]:
    """Cut what leaves as folds would, as much as one request carries each."""
    batches: list[list[int]] = []
    for size in sizes:
        if not batches or sum(batches[-1]) + size > budget:
            batches.append([])
        batches[-1].append(size)
    return batches


def _span(recalls: Recalls, found: list[Lack], leaving: int) -> tuple[int, int]:
    """Tell the messages that are summarised or folded."""
    spans = [(item.span.first_message_id, item.span.last_message_id) for item in found]
    spans += [(item.first_message_id, item.last_message_id) for item in recalls.summaries[:leaving]]
    return min(first for first, _ in spans), max(last for _, last in spans)


def _before(store: Store, conversation: Conversation, recalls: Recalls, found: list[Lack], leaving: int) -> int:
    """Add up what would be replaced: the turns, the summaries that leave, and the compaction they are folded into."""
    spans = [(item.span.first_message_id, item.span.last_message_id) for item in found]
    base = recalls.compaction.tokens if recalls.compaction and leaving else 0
    folded = sum(item.tokens for item in recalls.summaries[:leaving])
    return store.messages.token_sum(conversation.id, spans) + folded + base


def _kept_before(recalls: Recalls, leaving: int) -> int:
    """Add up the summaries that stand already and stay: they are no part of what is brought about."""
    return sum(item.tokens for item in recalls.summaries[leaving:])
