"""Model A's compactor: how the running summary is brought up to date.

It folds every ten human messages (the source's rule) and, beyond the source, as soon as uncovered messages leave the
window: between two folds the source has them in neither window nor summary. An ongoing turn is never folded.
"""

from __future__ import annotations

from dataclasses import replace

from memcli.memory import proposed
from memcli.memory.asking import breaker_opens_until
from memcli.memory.context import Policy, Request
from memcli.memory.fold import FoldResult, Task, fold
from memcli.memory.summarizer import ExtractiveSummarizer, Summarizer
from memcli.memory.uncovered import due as due
from memcli.memory.uncovered import foldable_up_to as foldable_up_to
from memcli.records import Conversation
from memcli.store import Store


def settle(
    store: Store,
    conversation: Conversation,
    policy: Policy,
    summarizer: Summarizer,
    *,
    if_needed: bool = True,
    instructions: str | None = None,
    request: Request | None = None,
    min_fidelity: float | None = None,
) -> FoldResult:
    """Fold if it is due, or anyway with `if_needed` off. Running it twice changes nothing.

    When a model has failed too often in a row an automatic fold is made by the extractive summarizer and flagged. With
    `min_fidelity` (0 to 1) a summary that keeps a smaller share of its span's exact values is rejected, and then none
    of a long backlog's summaries comes into force.
    """
    what = due(store, conversation, policy, request)
    if what.last_message_id < what.first_message_id:
        return FoldResult(conversation.id, "nothing", error="everything is covered already")
    if if_needed and what.reason is None:
        return FoldResult(conversation.id, "nothing", error="no fold is due")
    stands_in = if_needed and breaker_opens_until(store, conversation.id, summarizer.label) is not None
    writer: Summarizer = ExtractiveSummarizer() if stands_in else summarizer
    task = Task(
        store, conversation.id, "running", policy, writer, what.last_message_id, instructions, fallback=stands_in
    )
    if min_fidelity is None:
        return fold(task)
    return _all_or_none(conversation, replace(task, min_fidelity=min_fidelity, state="proposed"))


def propose(
    store: Store,
    conversation: Conversation,
    policy: Policy,
    summarizer: Summarizer,
    *,
    instructions: str | None = None,
    min_fidelity: float | None = None,
) -> FoldResult:
    """Make the summary a fold would make now and store it as a proposal: nothing in force changes.

    The result's status is `proposed`, with the summary; `nothing`, `rejected` or `failed`. `proposed.apply` puts it in
    force. Proposing the same again gives the same proposal back, and costs nothing.
    """
    up_to = foldable_up_to(store, conversation)
    task = Task(
        store, conversation.id, "running", policy, summarizer, up_to, instructions, min_fidelity=min_fidelity,
        state="proposed",
    )  # fmt: skip
    return fold(task)


def _all_or_none(conversation: Conversation, task: Task) -> FoldResult:
    """Make every summary before the first comes into force."""
    result = fold(task)
    if result.summary is None:
        return result
    if result.status == "proposed":
        applied = proposed.apply(task.store, conversation, result.summary.id)
        return replace(result, status="compacted", summary=applied.summary)
    if result.summary.state == "proposed":
        proposed.discard(task.store, conversation, result.summary.id)
    return replace(result, summary=None, first_message_id=None, last_message_id=None, tokens_after=0)
