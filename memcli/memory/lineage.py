"""How a conversation's summaries descend from one another: what each folded, what it was folded into, what counts now.

Pure arithmetic over the stored summaries and the turns' spans. It refuses to read the store and to draw a tree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from memcli.records import Summary, SummaryKind, TurnSpan

Fate = Literal["in force", "superseded", "undone", "rewound", "ended", "proposed", "discarded"]
"""`undone`: its head was moved elsewhere; `ended`: a recap whose turn is over."""
_WITH_HEADS: tuple[SummaryKind, ...] = ("running", "compaction")


@dataclass(frozen=True, slots=True)
class Descent:
    """One summary and its place among the others."""

    summary: Summary
    fate: Fate
    into: int | None
    """The summary that took its place: the one that folded it, was built on it, or was made again of the same turn."""
    folds: tuple[int, ...]
    """The turn summaries a compaction folded; () for every other kind."""
    folded: tuple[int, int]
    """The messages it was made of: what it covers, without what its parent stood for already."""
    turns: tuple[int, int] | None
    """The first and last turn it stands for; None when its messages belong to no turn."""
    is_first: bool = True
    """Whether its tree begins with it."""
    is_root: bool = True
    """Whether its tree ends with it: nothing took its place."""
    is_branch: bool = False
    """Whether it was folded by a later one, and is no earlier version of it."""

    @property
    def is_cleared(self) -> bool:
        """Tell whether it stands for nothing and only marks what was dropped."""
        return bool(self.summary.details.get("cleared"))


def lineage(summaries: Sequence[Summary], spans: Sequence[TurnSpan]) -> list[Descent]:
    """Order summaries as trees, each behind everything it was made of; the trees by the messages they begin with.

    `summaries` are all of a conversation, `spans` its turns oldest first. [] when there are none.
    """
    family = _Family(summaries, spans)
    below: dict[int, list[Descent]] = {}
    for descent in family.descents:
        if descent.into is not None:
            below.setdefault(descent.into, []).append(descent)
    roots = [descent for descent in family.descents if descent.into is None]
    roots.sort(key=lambda item: (item.summary.first_message_id, item.summary.id))
    return [item for root in roots for item in _tree(root, below)]


class _Family:
    """What is known of all summaries when one is placed."""

    def __init__(self, summaries: Sequence[Summary], spans: Sequence[TurnSpan]) -> None:
        self._by_id = {item.id: item for item in summaries}
        self._spans = spans
        self._firsts = [span.first_message_id for span in spans]
        self._after: dict[int, int] = {}
        self._boundary = 0
        for item in summaries:
            if item.in_force and item.kind in _WITH_HEADS:
                self._follow(item)
        self._remade = _remade(summaries)
        self.descents = [self._descent(item) for item in summaries]

    def _follow(self, head: Summary) -> None:
        """Note what took the place of each ancestor of a summary in force, and of what they folded."""
        if head.kind == "compaction":
            self._boundary = head.last_message_id
        item: Summary | None = head
        while item is not None:
            self._after.update(dict.fromkeys(_folds(item), item.id))
            parent = self._by_id.get(item.parent_id) if item.parent_id is not None else None
            if parent is not None:
                self._after[parent.id] = item.id
            item = parent

    def _descent(self, item: Summary) -> Descent:
        fate, into = self._fate(item)
        parent = self._by_id.get(item.parent_id) if item.parent_id is not None else None
        first = parent.last_message_id + 1 if parent and item.kind != "turn" else item.first_message_id
        folded = min(first, item.last_message_id), item.last_message_id
        return Descent(item, fate, into, _folds(item), folded, self._turns(item), is_root=into is None)

    def _fate(self, item: Summary) -> tuple[Fate, int | None]:
        if item.state == "proposed":
            return "proposed", None
        if item.state == "discarded":
            return "discarded", None
        into = self._after.get(item.id) or self._remade.get(item.id)
        if item.in_force:
            return "in force", None
        if into is not None and into in self._by_id:
            return "superseded", into
        if item.kind in _WITH_HEADS:
            return "undone", None
        return self._fate_of_turn(item), None

    def _fate_of_turn(self, item: Summary) -> Fate:
        turns = self._turns(item)
        status = next((span.turn.status for span in self._spans if turns and span.turn.id == turns[1]), None)
        if item.kind == "recap":
            return "in force" if status == "open" else "ended"
        if status == "rewound":
            return "rewound"
        return "superseded" if item.first_message_id <= self._boundary else "in force"

    def _turns(self, item: Summary) -> tuple[int, int] | None:
        first = max(0, bisect_right(self._firsts, item.first_message_id) - 1)
        last = bisect_right(self._firsts, item.last_message_id)
        ids = [span.turn.id for span in self._spans[first:last]]
        return (min(ids), max(ids)) if ids else None


def _folds(item: Summary) -> tuple[int, ...]:
    folds = item.details.get("folds")
    return tuple(id for id in folds if isinstance(id, int)) if isinstance(folds, list) else ()


def _remade(summaries: Sequence[Summary]) -> Mapping[int, int]:
    """Find, for turn summaries and recaps, the one that was made of the same turn next."""
    newest: dict[tuple[str, int], int] = {}
    found: dict[int, int] = {}
    for item in summaries:
        if item.kind in _WITH_HEADS or item.state != "made":
            continue
        key = (item.kind, item.first_message_id)
        if key in newest:
            found[newest[key]] = item.id
        newest[key] = item.id
    return found


def _tree(root: Descent, below: Mapping[int, Sequence[Descent]]) -> list[Descent]:
    """List a tree: its trunk from the oldest version to the root, and before each version what it folded."""
    trunk = [root]
    while parent := next((item for item in below.get(trunk[-1].summary.id, ()) if _is_version(item, trunk[-1])), None):
        trunk.append(parent)
    listed: list[Descent] = []
    for place, version in enumerate(reversed(trunk)):
        earlier = trunk[len(trunk) - place].summary.id if place else None
        branches = [item for item in below.get(version.summary.id, ()) if item.summary.id != earlier]
        listed += [_placed(item, is_branch=True) for item in _flat(branches, below)]
        listed.append(version)
    return [_placed(item, is_first=place == 0, is_branch=item.is_branch) for place, item in enumerate(listed)]


def _is_version(item: Descent, later: Descent) -> bool:
    return item.summary.kind == later.summary.kind


def _flat(branches: Sequence[Descent], below: Mapping[int, Sequence[Descent]]) -> list[Descent]:
    """List branches by their messages, each behind its own earlier versions."""
    found: list[Descent] = []
    waiting = list(branches)
    while waiting:
        item = waiting.pop()
        found.append(item)
        waiting += below.get(item.summary.id, ())
    return sorted(found, key=lambda item: (item.summary.first_message_id, item.summary.id))


def _placed(item: Descent, *, is_first: bool = False, is_branch: bool) -> Descent:
    return Descent(
        item.summary, item.fate, item.into, item.folds, item.folded, item.turns, is_first, item.is_root, is_branch
    )
