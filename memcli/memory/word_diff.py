"""Two summaries word by word, and the exact values the later one gained and lost.

It refuses to know how a difference is drawn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from memcli.memory.facts import survives, values_of
from memcli.records import NewSummary

PieceKind = Literal["same", "removed", "added"]
_WORD = re.compile(r"\s+|\S+")
_QUOTED = re.compile(r"^#\d+ ", re.MULTILINE)
"""How the extractive summarizer begins a quote: the message it is from is no value of it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of words that is in both texts, or in one."""

    kind: PieceKind
    text: str


@dataclass(frozen=True, slots=True)
class SummaryDiff:
    """What the second of two summaries says otherwise."""

    pieces: tuple[Piece, ...]
    gained: tuple[str, ...]
    """Exact values the second says or carries and the first does not, in order of mention."""
    lost: tuple[str, ...]
    """Exact values the first says or carries and the second does not."""


def word_diff(before: str, after: str) -> list[Piece]:
    """Compare two texts by words.

    The pieces that are not `added` joined are the first text, those that are not `removed` the second. Of a replaced
    run what was removed comes first.
    """
    was, now = _WORD.findall(before), _WORD.findall(after)
    pieces: list[Piece] = []
    for tag, removed, added in _runs(was, now):
        if tag == "equal":
            pieces.append(Piece("same", removed))
            continue
        if removed:
            pieces.append(Piece("removed", removed))
        if added:
            pieces.append(Piece("added", added))
    return pieces


def summary_diff(before: NewSummary, after: NewSummary) -> SummaryDiff:
    """Compare two summaries: their texts word by word, and the values they say or carry."""
    return SummaryDiff(
        tuple(word_diff(before.text, after.text)), _only_in(after, before), _only_in(before, after)
    )  # fmt: skip


def _runs(was: list[str], now: list[str]) -> list[tuple[str, str, str]]:
    """Cut both texts into runs that are equal or changed; mere white space between two changes is part of them."""
    runs: list[tuple[str, str, str]] = []
    for tag, first, last, new_first, new_last in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        run = ("equal" if tag == "equal" else "changed", "".join(was[first:last]), "".join(now[new_first:new_last]))
        if run[0] == "changed" and len(runs) >= 2 and runs[-1][0] == "equal" and runs[-1][1].isspace():
            space, before = runs.pop(), runs.pop()
            run = ("changed", before[1] + space[1] + run[1], before[2] + space[2] + run[2])
        runs.append(run)
    return runs


def _only_in(one: NewSummary, other: NewSummary) -> tuple[str, ...]:
    values = values_of([_QUOTED.sub("", one.text), *one.values])
    kept = survives(values, other.text, other.values)
    return tuple(value.text for value, alive in zip(values, kept, strict=True) if not alive)
