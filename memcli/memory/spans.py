"""Sets of message ids as inclusive spans, so that the ledger is arithmetic and never a walk over the history.

A Spans value is sorted, disjoint and has no touching neighbours: equal sets are equal values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spans:
    """A set of message ids."""

    pairs: tuple[tuple[int, int], ...] = ()
    """(first, last), both inclusive, ascending."""

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> Spans:
        """Make a set from spans in any order, overlapping or not. Empty ones (first > last) vanish."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted(pair for pair in pairs if pair[0] <= pair[1]):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        return cls(tuple(merged))

    @classmethod
    def ids(cls, ids: Iterable[int]) -> Spans:
        """Make a set from single ids in any order."""
        return cls.of((id, id) for id in ids)

    @property
    def count(self) -> int:
        """Count the ids."""
        return sum(last - first + 1 for first, last in self.pairs)

    def __contains__(self, id: int) -> bool:
        return any(first <= id <= last for first, last in self.pairs)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self.pairs)

    def __bool__(self) -> bool:
        return bool(self.pairs)

    def __or__(self, other: Spans) -> Spans:
        return Spans.of((*self.pairs, *other.pairs))

    def __sub__(self, other: Spans) -> Spans:
        left: list[tuple[int, int]] = []
        cuts = list(other.pairs)
        for first, last in self.pairs:
            start = first
            for cut_first, cut_last in cuts:
                if cut_last < start:
                    continue
                if cut_first > last:
                    break
                if cut_first > start:
                    left.append((start, cut_first - 1))
                start = cut_last + 1
            if start <= last:
                left.append((start, last))
        return Spans(tuple(left))

    def __and__(self, other: Spans) -> Spans:
        return self - (self - other)
