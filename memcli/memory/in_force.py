"""What stands for messages under Model B: the compaction, the turn summaries behind it, the recap of a turn's middle.

It reads the store and nothing more. It refuses to know how a recall is told (`recalls`) and how one is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memcli.memory.heads import head_at
from memcli.memory.parts import units_of
from memcli.memory.spans import Spans
from memcli.records import StoredMessage, Summary
from memcli.store import Store


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
    def tokens(self) -> int:
        """Add up what the turn summaries take."""
        return sum(summary.tokens for summary in self.summaries)

    @property
    def covered(self) -> Spans:
        """Collect the messages all of them stand for."""
        spans = Spans.of((item.first_message_id, item.last_message_id) for item in self.summaries)
        return spans | compaction_covers(self.compaction)


def recalls_at(store: Store, conversation_id: str, last_id: int, as_of: datetime | None = None) -> Recalls:
    """Find what stands for the turns up to `last_id`: the newest compaction that covers nothing later, and summaries.

    With `as_of` they were also made by then.
    """
    head = head_at(store, conversation_id, "compaction", last_id, as_of)
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


def recap_of(store: Store, conversation_id: str, turn: Sequence[StoredMessage]) -> Summary | None:
    """Find the recap of a turn's middle; None when there is none."""
    if len(turn) < 2:
        return None
    recap = store.summaries.newest_of(conversation_id, "recap", turn[1].id)
    return recap if recap is not None and recap.last_message_id <= turn[-1].id else None


def beyond(turn: Sequence[StoredMessage], recap: Summary | None) -> list[StoredMessage]:
    """Take what a turn is shown with beside its recap: the user's message, and what came after the recap."""
    after = recap.last_message_id if recap else 0
    return [message for place, message in enumerate(turn) if place == 0 or message.id > after]


def middle_of(turn: Sequence[StoredMessage], recap: Summary | None) -> list[list[StoredMessage]]:
    """Take the units a recap may cover beyond the last one: all but the user's message and the newest unit."""
    return units_of(beyond(turn, recap)[1:])[:-1]
