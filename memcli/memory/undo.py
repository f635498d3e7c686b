"""Taking compactions back, for both memory models: a head moves to an ancestor, and nothing is deleted."""

from __future__ import annotations

from memcli.errors import HeadMoved, NotFound
from memcli.memory.fold import FoldResult
from memcli.memory.heads import parent_of
from memcli.records import Conversation, SummaryKind
from memcli.store import Store


def undo(store: Store, conversation: Conversation, kind: SummaryKind, steps: int = 1) -> FoldResult:
    """Put the summary `steps` before the one in force back in force, or none when it was the first.

    Raises NotFound when there are not that many to undo. `nothing` when another process moved the head meanwhile.
    """
    head = store.summaries.head(conversation.id, kind)
    target = head
    for step in range(steps):
        if target is None:
            raise NotFound(_too_few(step, steps), "run `memcli summaries` to list them")
        target = parent_of(store, target)
    if head is None:
        return FoldResult(conversation.id, "nothing", error="there is nothing to undo")
    try:
        store.summaries.move_head(conversation.id, kind, target.id if target else None, expected_head=head.id)
    except HeadMoved as err:
        return FoldResult(conversation.id, "nothing", error=err.message)
    first = target.last_message_id + 1 if target else head.first_message_id
    after = target.tokens if target else 0
    return FoldResult(conversation.id, "undone", target, first, head.last_message_id, head.tokens, after)


def _too_few(there: int, wanted: int) -> str:
    if not there:
        return "there is no compaction to undo"
    return f"there {'is 1 compaction' if there == 1 else f'are {there} compactions'} to undo, not {wanted}"
