"""What one round of Model B's upkeep brought about: which summaries were made and still stand, and what they replaced.

What was made and folded in the same round counts once. It refuses to know how a summary is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from memcli.memory.fold import FoldResult
from memcli.records import Summary


@dataclass(frozen=True, slots=True)
class Entry:
    """One summary that was made, and what it stands in for."""

    summary: Summary
    first_message_id: int
    """The first message it was made of."""
    replaced_tokens: int


@dataclass(slots=True)
class Tally:
    """What was made so far."""

    turn_summaries: int = 0
    folds: int = 0
    _standing: dict[int, Entry] = field(default_factory=dict)

    def note(self, summary: Summary, first_message_id: int, replaced_tokens: int) -> None:
        """Note a summary that was stored; what it took the place of, if made in this round, counts through it."""
        gone = [self._standing.pop(id) for id in _replaced(summary, self._standing)]
        recaps = [entry for entry in gone if entry.summary.kind == "recap"]
        inner = [entry for entry in gone if entry not in recaps or summary.kind == "recap"]
        replaced_tokens += sum(entry.replaced_tokens - entry.summary.tokens for entry in inner)
        first = min([first_message_id, *(entry.first_message_id for entry in inner)])
        self._standing[summary.id] = Entry(summary, first, replaced_tokens)
        self.turn_summaries += summary.kind == "turn"
        self.folds += summary.kind == "compaction"

    def told_in(self, result: FoldResult) -> FoldResult:
        """Put the totals in a result: the whole span, and the tokens before and after."""
        standing = list(self._standing.values())
        if not standing:
            return result
        return replace(
            result,
            first_message_id=min(entry.first_message_id for entry in standing),
            last_message_id=max(entry.summary.last_message_id for entry in standing),
            tokens_before=sum(entry.replaced_tokens for entry in standing),
            tokens_after=sum(entry.summary.tokens for entry in standing),
            turn_summaries=self.turn_summaries,
            folds=self.folds,
        )


def _replaced(summary: Summary, standing: dict[int, Entry]) -> Sequence[int]:
    """Name the summaries of this round that another takes the place of; a turn's own takes that of its recaps."""
    folds = summary.details.get("folds")
    ids = {summary.parent_id, *(folds if isinstance(folds, list) else ())}
    return [
        id
        for id, entry in standing.items()
        if id in ids or (summary.kind == "turn" and entry.summary.kind == "recap" and _is_within(entry, summary))
    ]


def _is_within(entry: Entry, summary: Summary) -> bool:
    return summary.first_message_id <= entry.first_message_id <= summary.last_message_id
