"""Model A's compactor: when the running summary is due, what it may cover, and how it is undone.

It folds every ten human messages (the source's rule) and, beyond the source, as soon as uncovered messages leave the
window: between two folds the source has them in neither window nor summary. An ongoing turn is never folded.
"""

from __future__ import annotations

from memcli.errors import ContextOverflow, HeadMoved, NotFound
from memcli.memory import window
from memcli.memory.asking import breaker_opens_until
from memcli.memory.context import Context, Policy, Request
from memcli.memory.due import Due
from memcli.memory.fold import FoldResult, Task, fold
from memcli.memory.spans import Spans
from memcli.memory.summarizer import ExtractiveSummarizer, Summarizer
from memcli.records import Conversation, Summary
from memcli.store import Store


def due(
    store: Store,
    conversation: Conversation,
    policy: Policy,
    request: Request | None = None,
    *,
    seen: Context | None = None,
) -> Due:
    """Tell whether the running summary is due. Reads a window's worth of rows, whatever the conversation's length.

    `seen` is the conversation's next context where the caller has it already: then the window is not read again.
    """
    head = store.summaries.head(conversation.id, "running")
    covered = head.last_message_id if head else 0
    last = foldable_up_to(store, conversation)
    humans = store.messages.humans_after(conversation.id, covered, at_most=policy.compact_every, up_to=last)
    reason = None
    if last > covered:
        if humans >= policy.compact_every:
            reason = f"{policy.compact_every} messages from the user since the last fold"
        elif policy.compact_on_overflow:
            try:
                seen = seen or window.context(store, conversation, policy, _at_rest(last, request))
                reason = _overflow(seen, last)
            except ContextOverflow as err:
                reason = f"the context does not fit: {err.message}"
    left = 0 if reason else max(0, policy.compact_every - humans)
    return Due(reason, humans, covered + 1, last, left)


def settle(
    store: Store,
    conversation: Conversation,
    policy: Policy,
    summarizer: Summarizer,
    *,
    if_needed: bool = True,
    instructions: str | None = None,
    request: Request | None = None,
) -> FoldResult:
    """Fold if it is due, or anyway with `if_needed` off. Running it twice changes nothing.

    When a model has failed too often in a row an automatic fold is made by the extractive summarizer and flagged.
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
    return fold(task)


def undo(store: Store, conversation: Conversation, steps: int = 1) -> FoldResult:
    """Put the summary before the one in force back in force; None of them is deleted.

    Raises NotFound when there are not that many to undo.
    """
    head = store.summaries.head(conversation.id, "running")
    target: Summary | None = head
    for step in range(steps):
        if target is None:
            raise NotFound(f"there are {step} compactions to undo, not {steps}", "run `memcli summaries` to list them")
        target = store.summaries.get(conversation.id, target.parent_id) if target.parent_id else None
    try:
        store.summaries.move_head(
            conversation.id, "running", target.id if target else None, expected_head=head.id if head else None
        )
    except HeadMoved as err:
        return FoldResult(conversation.id, "nothing", error=err.message)
    assert head is not None
    first = (target.last_message_id if target else 0) + 1
    return FoldResult(
        conversation.id, "undone", target, first, head.last_message_id, head.tokens, target.tokens if target else 0
    )


def foldable_up_to(store: Store, conversation: Conversation) -> int:
    """Tell the last message a fold may cover: the ongoing turn is left alone."""
    last = store.turns.last(conversation.id)
    if last is None or last.status != "open":
        return conversation.last_message_id
    ongoing = store.messages.of_turn(conversation.id, last.id, excluded=True)
    return ongoing[0].id - 1 if ongoing else conversation.last_message_id


def _at_rest(last: int, request: Request | None) -> Request:
    return Request(last, None, request.tools_tokens if request else 0)


def _overflow(seen: Context, last: int) -> str | None:
    out = seen.ledger.forgotten & Spans.of([(1, last)])
    return f"{out.count} messages left the window uncovered" if out else None
