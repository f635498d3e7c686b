"""The parts of a context as rows, in the order the model sees them: source, ids, tokens, and why it is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from memcli.cli.cleaning import clean, clean_line
from memcli.cli.render.palette import ROLE_NAMES, SEGMENT_OF, STYLE_OF, Detail, counted, span
from memcli.memory.context import Context, Part

MOST_ROWS = 8
"""Rows of the window before its middle is counted."""
FIRST_ROWS = 2
"""Rows kept before that middle."""
EXCERPT = 160
"""Characters of a text that a one-line excerpt takes at most; a terminal may cut it shorter."""


_SHOWN_BESIDE = ("summary", "values", "compaction", "turn_summary")
"""Parts whose text stands in the side by side."""


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


def parts_table(context: Context, *, detail: Detail) -> Table:
    """Lay out every part: beneath the window a row a turn, or a row a message when nothing is to be left out."""
    is_plain = detail == "plain"
    lines = None if is_plain else box.SIMPLE
    table = Table(box=lines, expand=not is_plain, padding=(0, 1), show_edge=False, show_footer=True)
    table.add_column("part", Text("total", "bold"), no_wrap=True)
    table.add_column("messages", no_wrap=True)
    table.add_column("tokens", Text(f"{context.tokens:,}", "bold"), justify="right", no_wrap=True)
    table.add_column("why it is there", Text(_total_words(context), "dim"), ratio=1)
    for row in rows(context.parts, detail=detail, max_tokens=context.policy.max_tokens):
        table.add_row(*_cells(row))
    return table


def _total_words(context: Context) -> str:
    free = max(context.limit_tokens - context.tokens, 0)
    return f"{context.prompt_tokens:,} to send; {free:,} of {context.limit_tokens:,} free"


def rows(parts: Sequence[Part], *, detail: Detail, max_tokens: int) -> list[Row]:
    """List the rows: one a part, and beneath the window one a turn, or one a message in full."""
    listed: list[Row] = []
    window: list[Part] = []
    for part in parts:
        if part.source == "message" and part.message is not None:
            window.append(part)
            continue
        if window:
            listed += _window_rows(window, detail=detail, max_tokens=max_tokens)
            window = []
        listed.append(_fixed_row(part, detail))
    return listed + (_window_rows(window, detail=detail, max_tokens=max_tokens) if window else [])


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
    if part.source not in _SHOWN_BESIDE:
        excerpt = clean(part.text) if detail == "full" else _excerpt(part.text)
    style = STYLE_OF[SEGMENT_OF[part.source]]
    return Row(label, style, span(part.first_message_id, part.last_message_id), part.tokens, part.why, excerpt)


def _excerpt(text: str) -> str:
    line = clean_line(text[: 2 * EXCERPT])
    return line if len(line) <= EXCERPT else f"{line[:EXCERPT]}…"


def _window_rows(window: Sequence[Part], *, detail: Detail, max_tokens: int) -> list[Row]:
    ids = span(window[0].first_message_id, window[-1].last_message_id)
    why = f"the newest {counted(len(window), 'message')}, word for word, within the budget of {max_tokens:,}"
    clipped = [part for part in window if part.state == "clipped"]
    if clipped:
        newest = f"the newest {counted(len(window), 'message')}"
        why = f"{newest}, {len(clipped)} of them clipped to the budget of {max_tokens:,}"
    head = Row("window", STYLE_OF["window"], ids, sum(part.tokens for part in window), why)
    if detail == "full":
        return [head, *(_message_row(part) for part in window)]
    turns = turns_of(window)
    inner = [_turn_row(turn) for turn in turns]
    return [head, *(inner if detail == "plain" else _shortened(inner, turns))]


def _message_row(part: Part) -> Row:
    assert part.message is not None
    label = ROLE_NAMES.get(part.message.role, part.message.role)
    calls = ", ".join(f"calls {call.name}" for call in part.message.tool_calls)
    said = _excerpt(part.text) or calls
    note = part.why if part.state == "clipped" else ""
    return Row(label, "", span(part.first_message_id, None), part.tokens, note, said, is_inner=True)


def _turn_row(turn: Sequence[Part]) -> Row:
    ids = span(turn[0].first_message_id, turn[-1].last_message_id)
    clipped = [f"#{part.first_message_id} {part.why}" for part in turn if part.state == "clipped"]
    tokens = sum(part.tokens for part in turn)
    return Row("turn", "", ids, tokens, "; ".join(clipped), _excerpt(turn[0].text), is_inner=True)


def _shortened(inner: list[Row], turns: Sequence[Sequence[Part]]) -> list[Row]:
    if len(inner) <= MOST_ROWS:
        return inner
    last = MOST_ROWS - FIRST_ROWS - 1
    middle = turns[FIRST_ROWS:-last]
    ids = span(middle[0][0].first_message_id, middle[-1][-1].last_message_id)
    tokens = sum(part.tokens for turn in middle for part in turn)
    clipped = sum(part.state == "clipped" for turn in middle for part in turn)
    note = f", {clipped} clipped messages among them" if clipped else ""
    why = f"{counted(len(middle), 'more turn')}{note}; --full shows them"
    return [*inner[:FIRST_ROWS], Row("…", "", ids, tokens, why, is_inner=True), *inner[-last:]]


def _cells(row: Row) -> tuple[RenderableType, ...]:
    why: RenderableType = Text(row.why)
    if row.excerpt:
        is_line = "\n" not in row.excerpt
        quote = Text(f"“{row.excerpt}”", "dim", no_wrap=is_line, overflow="ellipsis" if is_line else "fold")
        why = Group(Text(row.why), quote) if row.why else quote
    if row.is_inner:
        return Text(f"  {row.label}"), Text(row.ids, "dim"), Text(f"{row.tokens:,}", "dim"), why
    return Text(row.label, f"bold {row.style}"), Text(row.ids), Text(f"{row.tokens:,}", "bold"), why
