"""The colours and marks of a context's parts, and how ids and counts are written, on dark and on light."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from memcli.memory.context import Part, Source
from memcli.memory.spans import Spans

Detail = Literal["brief", "full", "plain"]
"""`brief` fits a screen, `full` leaves nothing out, `plain` leaves nothing out and wraps nothing: for pipes."""
MOST_SPANS = 4
"""Spans named in a line before the rest is counted."""


@dataclass(frozen=True, slots=True)
class Swatch:
    """How one kind of part looks in a bar and its legend."""

    name: str
    style: str
    fill: str
    """What fills its share of the bar in colour."""
    letter: str
    """What fills it where there is no colour."""


SWATCHES: tuple[Swatch, ...] = (
    Swatch("system", "blue", "█", "s"),
    Swatch("tools", "bright_blue", "█", "t"),
    Swatch("summary", "yellow", "█", "m"),
    Swatch("compaction", "yellow", "█", "c"),
    Swatch("turn summaries", "yellow", "▓", "u"),
    Swatch("values", "magenta", "█", "v"),
    Swatch("plan", "bright_cyan", "█", "p"),
    Swatch("pinned", "bright_magenta", "▓", "k"),
    Swatch("window", "green", "█", "w"),
    Swatch("new", "cyan", "█", "n"),
    Swatch("free", "dim", "░", "."),
    Swatch("reserve", "dim", "▒", "r"),
)
"""In the order they stand in the bar."""

SEGMENT_OF: Mapping[Source, str] = {
    "system": "system",
    "tools": "tools",
    "summary": "summary",
    "compaction": "compaction",
    "turn_summary": "turn summaries",
    "values": "values",
    "plan": "plan",
    "pin": "pinned",
    "message": "window",
    "new": "new",
    "reserve": "reserve",
}
STANDING: tuple[Source, ...] = ("summary", "compaction", "turn_summary", "values")
"""The sources that stand for messages which are not in the context themselves."""
STYLE_OF: Mapping[str, str] = {swatch.name: swatch.style for swatch in SWATCHES}
ROLE_NAMES: Mapping[str, str] = {"human": "user", "ai": "assistant"}


def span(first: int | None, last: int | None) -> str:
    """Write a span of message ids: `#12–#31`, `#12`, or `–` for none."""
    if first is None:
        return "–"
    return f"#{first}" if last is None or last == first else f"#{first}–#{last}"


def spans(ids: Spans, *, most: int | None = MOST_SPANS) -> str:
    """Write a set of message ids; beyond `most` spans the rest is counted. None names them all."""
    pairs = list(ids)
    named = pairs if most is None else pairs[:most]
    more = [f"and {len(pairs) - len(named)} more spans"] if len(pairs) > len(named) else []
    return ", ".join([*(span(first, last) for first, last in named), *more])


def ids_of(parts: Sequence[Part]) -> str:
    """Write the message ids of parts; a gap between them is a gap here."""
    ids = Spans.ids(part.first_message_id for part in parts if part.first_message_id is not None)
    return spans(ids, most=2)


def counted(number: int, noun: str) -> str:
    """Write a count with its noun: `1 message`, `1,204 tokens`."""
    if number == 1:
        return f"{number:,} {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("ry") else f"{number:,} {noun}s"
