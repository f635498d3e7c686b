"""Walking back from the summary in force to its ancestors: one walk for every kind and both memory models.

It refuses to move a head; `undo` and `model` do.
"""

from __future__ import annotations

from datetime import datetime

from memcli.records import Summary, SummaryKind
from memcli.store import Store


def head_at(
    store: Store, conversation_id: str, kind: SummaryKind, last_id: int, as_of: datetime | None = None
) -> Summary | None:
    """Find the summary in force, or its newest ancestor that covers nothing after `last_id`; None without one.

    With `as_of` it was also made by then.
    """
    head = store.summaries.head(conversation_id, kind)
    while head is not None and (head.last_message_id > last_id or (as_of is not None and head.created_at > as_of)):
        head = parent_of(store, head)
    return head


def parent_of(store: Store, summary: Summary) -> Summary | None:
    """Read the summary this one was built on; None for the first of its line."""
    return store.summaries.get(summary.conversation_id, summary.parent_id) if summary.parent_id else None
