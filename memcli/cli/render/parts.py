"""The parts of a context as rows, in the order the model sees them: source, ids, tokens, and why it is there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from memcli.cli.cleaning import clean, clean_line
from memcli.cli.render.palette import ROLE_NAMES, SEGMENT_OF, STANDING, STYLE_OF, Detail, counted, ids_of, span, spans
from memcli.memory.context import Context, Part
from memcli.memory.spans import Spans
from memcli.records import MemoryModel

MOST_ROWS = 8
"""Rows of the window before its middle is counted."""
FIRST_ROWS = 2
"""Rows kept before that middle."""
EXCERPT = 160
"""Characters of a text that a one-line excerpt takes at most; a terminal may cut it shorter."""


GroupName = Literal["", "window", "turn summaries", "pending", "ongoing turn"]
"""What neighbouring parts are together; "" for a part of its own."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    label: str
    style: str
    ids: str
    tokens: int
    why: str
    excerpt: str = ""
    """What it says: one line, or the whole text."""
    is_inner: bool = False
    """Whether the row above already counts its tokens."""
    clipped: int = 0
    """Clipped messages a turn's row stands for."""


def parts_table(context: Context, *, detail: Detail) -> Table:
    """Lay out every part: beneath the window a row a turn, or a row a message when nothing is to be left out."""
    is_plain = detail == "plain"
    lines = None if is_plain else box.SIMPLE
    table = Table(box=lines, expand=not is_plain, padding=(0, 1), show_edge=False, show_footer=True)
    table.add_column("part", Text("total", "bold"), no_wrap=True)
    table.add_column("messages", no_wrap=True)
    table.add_column("tokens", Text(f"{context.tokens:,}", "bold"), justify="right", no_wrap=True)
    table.add_column("why it is there", Text(_total_words(context), "dim"), ratio=1)
    listed = rows(context.parts, detail=detail, max_tokens=context.policy.max_tokens, memory=context.memory)
    for row in listed:
        table.add_row(*_cells(row))
    return table


def _total_words(context: Context) -> str:
    free = max(context.limit_tokens - context.tokens, 0)
    return f"{context.prompt_tokens:,} to send; {free:,} of {context.limit_tokens:,} free"


def rows(
    parts: Sequence[Part], *, detail: Detail, max_tokens: int, memory: MemoryModel = "window"
) -> list[Row]:  # fmt: skip
    """List the rows: one a part, and beneath a group one a turn or a turn summary, or one a message in full.

    The groups are the window's messages, the turn summaries, the turns without one, and the ongoing turn.
    """
    return [
        row
        for name, group in _groups(parts, memory)
        for row in (
            _grouped(name, group, detail=detail, max_tokens=max_tokens) if name else [_fixed_row(group[0], detail)]
        )
    ]


def _groups(parts: Sequence[Part], memory: MemoryModel) -> list[tuple[GroupName, list[Part]]]:
    """Put neighbours that belong together under one name; a part of its own has none."""
    groups: list[tuple[GroupName, list[Part]]] = []
    is_ongoing = False
    for part in parts:
        is_ongoing = is_ongoing or part.source == "new"
        name: GroupName = ""
        if part.source == "turn_summary":
            name = "turn summaries"
        elif is_ongoing and part.source != "reserve":
            name = "ongoing turn"
        elif part.source == "message" and part.message is not None:
            name = "window" if memory == "window" else "pending"
        if name and groups and groups[-1][0] == name:
            groups[-1][1].append(part)
        else:
            groups.append((name, [part]))
    return groups


def turns_of(window: Sequence[Part]) -> list[list[Part]]:
    """Group the window's messages in turns: each begins with a message from the user."""
    turns: list[list[Part]] = []
    for part in window:
        if not turns or (part.message is not None and part.message.role == "human"):
            turns.append([])
        turns[-1].append(part)
    return turns


def _fixed_row(part: Part, detail: Detail) -> Row:
    label = part.source.replace("_", " ")
    excerpt = ""
    if part.source not in STANDING:
        excerpt = clean(part.text) if detail == "full" else _excerpt(part.text)
    style = STYLE_OF[SEGMENT_OF[part.source]]
    return Row(label, style, span(part.first_message_id, part.last_message_id), part.tokens, part.why, excerpt)


def _excerpt(text: str) -> str:
    line = clean_line(text[: 2 * EXCERPT])
    return line if len(line) <= EXCERPT else f"{line[:EXCERPT]}…"


def _grouped(name: GroupName, group: Sequence[Part], *, detail: Detail, max_tokens: int) -> list[Row]:
    """Write a group: what it is in all, and beneath it what it is made of."""
    tokens = sum(part.tokens for part in group)
    style = STYLE_OF[SEGMENT_OF[group[0].source]]
    head = Row(name, style, _ids(group), tokens, _WHY[name](group, max_tokens))
    if name == "ongoing turn" and len(group) == 1:
        return [replace(head, label="new", why=group[0].why, excerpt=_excerpt(said_by(group[0])))]
    if name == "turn summaries":
        inner = [_summary_row(part) for part in group]
        return [head, *(inner if detail != "brief" else _shortened(inner, "turn summaries"))]
    if detail == "full" or name == "ongoing turn":
        inner = [_message_row(part) for part in group]
        return [head, *(inner if detail != "brief" else _shortened(inner, "messages"))]
    inner = [_turn_row(turn) for turn in turns_of(group)]
    return [head, *(inner if detail == "plain" else _shortened(inner, "turns"))]


def _ids(group: Sequence[Part]) -> str:
    """Write the ids of a group: summaries name spans, messages themselves."""
    if group[0].source == "turn_summary":
        return spans(Spans.of((part.first_message_id or 0, part.last_message_id or 0) for part in group), most=2)
    return ids_of(group)


def _window_why(window: Sequence[Part], max_tokens: int) -> str:
    newest = f"the newest {counted(len(window), 'message')}" if len(window) > 1 else "the newest message"
    clipped = sum(part.state == "clipped" for part in window)
    if clipped:
        return f"{newest}, {clipped} of them clipped to the budget of {max_tokens:,}"
    return f"{newest}, word for word, within the budget of {max_tokens:,}"


def _summaries_why(group: Sequence[Part], max_tokens: int) -> str:
    if len(group) == 1:
        return f"it stands for its turn, within the budget of {max_tokens:,}"
    return f"each stands for its turn, oldest first, within the budget of {max_tokens:,}"


def _pending_why(group: Sequence[Part], max_tokens: int) -> str:
    turns = counted(len(turns_of(group)), "completed turn")
    clipped = sum(part.state == "clipped" for part in group)
    words = f"{clipped} messages clipped" if clipped else "word for word"
    return f"{turns} without a summary yet, {words}, as far as the budget of {max_tokens:,} goes"


def _ongoing_why(group: Sequence[Part], _max_tokens: int) -> str:
    recaps = [part for part in group if part.message is None]
    middle = f", its middle as the recap s{recaps[0].summary_id}" if recaps else ", in full"
    return f"the user's message and what came of it so far{middle}"


_WHY: Mapping[GroupName, Callable[[Sequence[Part], int], str]] = {
    "window": _window_why, "turn summaries": _summaries_why, "pending": _pending_why, "ongoing turn": _ongoing_why,
}  # fmt: skip


def said_by(part: Part) -> str:
    """Give what a part's message says, without the line that is put before it in the view."""
    if part.message is None or part.shown_text is None or part.message.role != "human":
        return part.text
    return part.message.text if part.state == "verbatim" else part.text.partition("\n")[2]


def _summary_row(part: Part) -> Row:
    note = "word for word: the model could not" if "word for word" in part.why else ""
    return Row(
        f"s{part.summary_id}", "", span(part.first_message_id, part.last_message_id), part.tokens, note,
        _excerpt(_body(part.text).removeprefix("Request: ")), is_inner=True,
    )  # fmt: skip


def _body(text: str) -> str:
    """Leave out the metadata line a recall begins with."""
    return text.partition("\n")[2] if text.startswith("[[") else text


def _message_row(part: Part) -> Row:
    if part.message is None:
        ids = span(part.first_message_id, part.last_message_id)
        return Row("recap", "", ids, part.tokens, "", _excerpt(_body(part.text)), is_inner=True)
    label = ROLE_NAMES.get(part.message.role, part.message.role)
    calls = ", ".join(f"calls {call.name}" for call in part.message.tool_calls)
    said = _excerpt(said_by(part)) or calls
    note = part.why if part.state == "clipped" else ""
    return Row(label, "", span(part.first_message_id, None), part.tokens, note, said, is_inner=True)


def _turn_row(turn: Sequence[Part]) -> Row:
    clipped = [f"#{part.first_message_id} {part.why}" for part in turn if part.state == "clipped"]
    tokens = sum(part.tokens for part in turn)
    return Row(
        "turn", "", ids_of(turn), tokens, "; ".join(clipped), _excerpt(said_by(turn[0])), is_inner=True,
        clipped=len(clipped),
    )  # fmt: skip


def _shortened(inner: list[Row], what: str) -> list[Row]:
    """Keep the first few and the last, and count what is between."""
    if len(inner) <= MOST_ROWS:
        return inner
    last = MOST_ROWS - FIRST_ROWS - 1
    middle = inner[FIRST_ROWS:-last]
    named = re.findall(r"#\d+", f"{middle[0].ids} {middle[-1].ids}")
    ids = f"{named[0]}–{named[-1]}"
    clipped = sum(row.clipped for row in middle)
    note = f", {clipped} clipped messages among them" if clipped else ""
    why = f"{len(middle):,} more {what if len(middle) > 1 else what.removesuffix('s')}{note}; --full shows them"
    row = Row("…", "", ids, sum(row.tokens for row in middle), why, is_inner=True)
    return [*inner[:FIRST_ROWS], row, *inner[-last:]]


def _cells(row: Row) -> tuple[RenderableType, ...]:
    why: RenderableType = Text(row.why)
    if row.excerpt:
        is_line = "\n" not in row.excerpt
        quote = Text(f"“{row.excerpt}”", "dim", no_wrap=is_line, overflow="ellipsis" if is_line else "fold")
        why = Group(Text(row.why), quote) if row.why else quote
    if row.is_inner:
        return Text(f"  {row.label}"), Text(row.ids, "dim"), Text(f"{row.tokens:,}", "dim"), why
    return Text(row.label, f"bold {row.style}"), Text(row.ids), Text(f"{row.tokens:,}", "bold"), why
