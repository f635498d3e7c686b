"""What changed from one context to another: parts, and where messages stand, with the tokens it makes.

Pure arithmetic over two contexts, whatever moment or policy they come from. It refuses to know where they were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memcli.memory.context import Context, Part
from memcli.memory.spans import Spans

PartChange = Literal["added", "dropped", "changed"]


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """One part that is not the same in both contexts."""

    kind: PartChange
    before: Part | None
    """None for one that was added."""
    after: Part | None
    """None for one that was dropped."""

    @property
    def part(self) -> Part:
        """Give the part as it is now, or as it was before it was dropped."""
        part = self.after or self.before
        assert part is not None
        return part

    @property
    def tokens(self) -> int:
        """Tell how many tokens more it takes; negative when it takes fewer."""
        return (self.after.tokens if self.after else 0) - (self.before.tokens if self.before else 0)


@dataclass(frozen=True, slots=True)
class SourceTokens:
    """What the parts of one source take in both contexts."""

    source: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different in the second of two contexts."""

    parts: tuple[ChangedPart, ...]
    """In the order of the second context; those that were dropped stand first, in the order of the first."""
    sources: tuple[SourceTokens, ...]
    """The sources whose tokens differ, in the order they first appear."""
    added: Spans
    """Messages shown now that were not shown before, new ones and returned ones."""
    dropped: Spans
    """Messages shown or summarised before that are in this context in no form."""
    summarised: Spans
    """Messages a summary stands for now, and did not before."""
    clipped: Spans
    """Messages shortened now that were whole, or not there."""
    excluded: Spans
    """Messages that stand outside every context now, and did not before."""
    tokens_before: int
    tokens_after: int

    @property
    def tokens(self) -> int:
        """Tell how many tokens more the second context takes, the output reserve included."""
        return self.tokens_after - self.tokens_before

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing is different."""
        return not (self.parts or self.added or self.dropped or self.summarised or self.clipped or self.excluded)


def changes(before: Context, after: Context) -> Changes:
    """Compare two contexts of one conversation."""
    shown_before = before.ledger.verbatim | before.ledger.clipped
    shown_after = after.ledger.verbatim | after.ledger.clipped
    return Changes(
        parts=tuple(_changed_parts(before.parts, after.parts)),
        sources=tuple(_changed_sources(before.parts, after.parts)),
        added=shown_after - shown_before,
        dropped=(shown_before | before.ledger.summarised) & after.ledger.forgotten,
        summarised=after.ledger.summarised - before.ledger.summarised,
        clipped=after.ledger.clipped - before.ledger.clipped,
        excluded=after.ledger.excluded - before.ledger.excluded,
        tokens_before=before.tokens,
        tokens_after=after.tokens,
    )


def _changed_parts(before: Sequence[Part], after: Sequence[Part]) -> list[ChangedPart]:
    was, now = _by_identity(before), _by_identity(after)
    found = [ChangedPart("dropped", part, None) for key, part in was.items() if key not in now]
    for key, part in now.items():
        earlier = was.get(key)
        if earlier is None:
            found.append(ChangedPart("added", None, part))
        elif _as_sent(earlier) != _as_sent(part):
            found.append(ChangedPart("changed", earlier, part))
    return found


def _as_sent(part: Part) -> tuple[object, ...]:
    """Take what is sent of a part; the text of the tools is their names, for people, and not always known."""
    return part.tokens, part.state, "" if part.source == "tools" else part.text


def _by_identity(parts: Sequence[Part]) -> dict[tuple[str, int, int], Part]:
    """Key parts by what they are: a message by its id whatever its source, a summary by its own, others by source."""
    keyed: dict[tuple[str, int, int], Part] = {}
    for part in parts:
        if part.message is not None or (part.summary_id is None and part.first_message_id is not None):
            key = ("message", part.first_message_id or 0)
        else:
            key = (part.source, part.summary_id or 0)
        again = sum(known[:2] == key for known in keyed) if (*key, 0) in keyed else 0
        keyed[(*key, again)] = part
    return keyed


def _changed_sources(before: Sequence[Part], after: Sequence[Part]) -> list[SourceTokens]:
    sources = dict.fromkeys(part.source for part in (*before, *after))
    rows = [SourceTokens(source, _tokens(before, source), _tokens(after, source)) for source in sources]
    return [row for row in rows if row.before != row.after]


def _tokens(parts: Sequence[Part], source: str) -> int:
    return sum(part.tokens for part in parts if part.source == source)
