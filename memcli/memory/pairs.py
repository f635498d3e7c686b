"""Which tool result answers which call: matched by id, not by place. Shared by the wire, the history and `doctor`.

A call's result is the first unused one with its id behind it, before a later message asks with the same id again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Entry:
    """What pairing needs to know of a message."""

    call_ids: tuple[str, ...] = ()
    """The calls it asks for, in order."""
    answers: str | None = None
    """The call it is the result of; None for every other message."""


NEITHER = Entry()
"""A message that neither asks nor answers."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One place in the arranged order."""

    kind: Literal["message", "result", "missing", "stray"]
    index: int
    """The entry that stands here; for `missing`, the entry that asked."""
    call: int = 0
    """Which of the asking entry's calls this result, or gap, belongs to."""


def is_whole(entries: Iterable[Entry]) -> bool:
    """Tell whether `arrange` would change nothing: behind every call its results, in call order, and no others."""
    waiting: list[str] = []
    for entry in entries:
        if entry.answers is not None:
            if not waiting or waiting.pop(0) != entry.answers:
                return False
        elif waiting:
            return False
        elif entry.call_ids:
            waiting = list(entry.call_ids)
    return not waiting


def arrange(entries: Sequence[Entry]) -> list[Placed]:
    """Order entries so that every call is followed by its results in call order; nothing is left out.

    A call without a result leaves a `missing` place, a result without a call stays where it was as a `stray`.
    """
    by_id: dict[str, list[int]] = {}
    for index, entry in enumerate(entries):
        if entry.answers is not None:
            by_id.setdefault(entry.answers, []).append(index)
    asked_again = _asked_again(entries)
    answered: dict[int, list[Placed]] = {}
    used: set[int] = set()
    for index, entry in enumerate(entries):
        for place, call_id in enumerate(entry.call_ids):
            found = _first_between(by_id.get(call_id, ()), index, asked_again.get((index, call_id)), used)
            if found is None:
                answered.setdefault(index, []).append(Placed("missing", index, place))
            else:
                used.add(found)
                answered.setdefault(index, []).append(Placed("result", found, place))
    arranged: list[Placed] = []
    for index, entry in enumerate(entries):
        if entry.answers is None:
            arranged += [Placed("message", index), *answered.get(index, ())]
        elif index not in used:
            arranged.append(Placed("stray", index))
    return arranged


def _asked_again(entries: Sequence[Entry]) -> dict[tuple[int, str], int]:
    """Map (entry, call id) to the next entry that asks with the same id."""
    later: dict[str, int] = {}
    again: dict[tuple[int, str], int] = {}
    for index in range(len(entries) - 1, -1, -1):
        for call_id in entries[index].call_ids:
            if call_id in later:
                again[index, call_id] = later[call_id]
        for call_id in entries[index].call_ids:
            later[call_id] = index
    return again


def _first_between(places: Sequence[int], after: int, before: int | None, used: set[int]) -> int | None:
    for place in places:
        if place > after and place not in used and (before is None or place < before):
            return place
    return None
