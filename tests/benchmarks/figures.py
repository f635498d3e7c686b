"""A Figure, one row of the table, and the table itself as Markdown. It refuses to know how a figure was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Bound:
    """What a ratio is meant to be."""

    kind: Literal["at least", "at most"]
    value: float

    def holds(self, ratio: float) -> bool:
        """Tell whether a ratio keeps to it."""
        return ratio >= self.value if self.kind == "at least" else ratio <= self.value


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured ratio."""

    what: str
    ours: str
    against: str
    """The peer or floor and what it came to."""
    ratio: float
    bound: Bound | None = None
    """None where nothing was promised."""

    @property
    def verdict(self) -> str:
        """Say whether the promise is kept; empty where there is none."""
        if self.bound is None:
            return ""
        return "yes" if self.bound.holds(self.ratio) else "**missed**"


def table(figures: Sequence[Figure]) -> str:
    """Lay figures out as a Markdown table, in the order given."""
    rows = [("what", "ours", "against", "ratio", "promise", "kept")]
    rows += [
        (each.what, each.ours, each.against, times(each.ratio), _promise(each.bound), each.verdict) for each in figures
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def times(ratio: float) -> str:
    """Write a ratio with three digits."""
    return f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.1f}×" if ratio >= 10 else f"{ratio:.2f}×"


def duration(seconds: float) -> str:
    """Write a duration in the unit it is read in, with three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def _promise(bound: Bound | None) -> str:
    return f"{bound.kind} {bound.value:,g}×" if bound else ""
