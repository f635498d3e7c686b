"""Side by side: the summary that stands for the past, and the window of what is still said word for word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from memcli.cli.cleaning import clean, clean_line
from memcli.cli.picture import Picture
from memcli.cli.render.palette import ROLE_NAMES, STYLE_OF, counted, span
from memcli.cli.render.words import percent
from memcli.memory.context import Part
from memcli.memory.prompts import SUMMARY_HEADING

NARROW = 72
"""Columns below which the two stand one above the other."""
LEAST_LINES = 12
"""Lines a side has at least, where there is that much to say."""
MOST_LINES = 20
"""Lines a side has at most, short of --full."""
LINES_A_MESSAGE = 3
"""Lines one message takes at most in the window's side, short of --full."""
_STANDING = ("summary", "compaction", "turn_summary", "values")
_FRAME = 4
"""Columns a panel's border and padding take."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The two sides of one picture."""

    picture: Picture
    full: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw them beside one another, or one above the other where it is narrow."""
        is_narrow = options.max_width < NARROW
        width = options.max_width if is_narrow else (options.max_width - 1) // 2
        summary = _summary_lines(console, self.picture, width - _FRAME)
        shown = summary if self.full else _cut(summary, MOST_LINES, "--full shows the rest")
        height = max(len(shown), LEAST_LINES)
        window = _window_lines(console, self.picture, width - _FRAME, None if self.full else height)
        if not is_narrow:
            height = max(len(shown), len(window))
            shown, window = (lines + [Text()] * (height - len(lines)) for lines in (shown, window))
        left = _panel(shown, summary_title(self.picture), STYLE_OF["summary"], width, summary_note(self.picture))
        right = _panel(window, window_title(self.picture), STYLE_OF["window"], width)
        if is_narrow:
            yield Group(left, right)
            return
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_row(left, right)
        yield grid


def plain_sides(picture: Picture) -> Group:
    """Write both whole, one after the other, nothing wrapped: for pipes."""
    sections: list[RenderableType] = [Text(f"── {summary_title(picture)} {summary_note(picture)}".rstrip())]
    sections += [Text(clean(text)) for text in _summary_texts(picture)]
    sections += [Text(""), Text(f"── {window_title(picture)}")]
    sections += [_said(part) for part in _window(picture)] or [Text("No message is in the window.")]
    return Group(*sections)


def summary_title(picture: Picture) -> str:
    """Name the left side, with its tokens."""
    parts = [part for part in picture.context.parts if part.source in _STANDING]
    if not parts:
        return "no summary · 0 tokens"
    tokens = counted(sum(part.tokens for part in parts), "token")
    name = f"summary s{picture.summary.id}" if picture.summary else "summary"
    return f"{name} of {span(parts[0].first_message_id, parts[0].last_message_id)} · {tokens}"


def summary_note(picture: Picture) -> str:
    """Say who wrote the summary and which share of the exact values it kept; '' without one."""
    summary = picture.summary
    if summary is None:
        return ""
    by = f"by {clean_line(summary.model)}" + (", standing in for a model that failed" if summary.fallback else "")
    return by if summary.fidelity is None else f"{by} · fidelity {percent(summary.fidelity)}"


def window_title(picture: Picture) -> str:
    """Name the right side, with its tokens."""
    window = _window(picture)
    if not window:
        return "empty window · 0 tokens"
    tokens = counted(sum(part.tokens for part in window), "token")
    return f"window {span(window[0].first_message_id, window[-1].last_message_id)} · {tokens}"


def _window(picture: Picture) -> list[Part]:
    return [part for part in picture.context.parts if part.source in ("message", "new") and part.message is not None]


def _summary_texts(picture: Picture) -> list[str]:
    standing = [part for part in picture.context.parts if part.source in _STANDING]
    if standing:
        return [part.text.removeprefix(f"{SUMMARY_HEADING}\n") for part in standing]
    if not picture.context.ledger.forgotten:
        return ["Nothing needs one: every message is in the context."]
    return [
        "Nothing stands for the past: what left the window is forgotten.",
        "`memcli compact` folds it into a summary.",
    ]


def _summary_lines(console: Console, picture: Picture, width: int) -> list[Text]:
    lines: list[Text] = []
    for text in _summary_texts(picture):
        lines += (
            [Text(), *_wrapped(console, Text(clean(text)), width)]
            if lines
            else _wrapped(console, Text(clean(text)), width)
        )
    return lines


def _window_lines(console: Console, picture: Picture, width: int, most: int | None) -> list[Text]:
    """Write the window's messages, oldest first; where there is no room for all, the newest that fit."""
    window = _window(picture)
    if not window:
        return _wrapped(console, Text("No message is in the window."), width)
    lines: list[Text] = []
    for left, part in enumerate(reversed(window)):
        shown = _wrapped(console, _said(part), width)
        shown = shown if most is None else _cut(shown, LINES_A_MESSAGE)
        rest = window[: len(window) - left]
        if most is not None and len(shown) + len(lines) > most - (len(rest) > 1) and lines:
            tokens = counted(sum(part.tokens for part in rest), "token")
            return [Text(f"… {counted(len(rest), 'earlier message')}, {tokens}", "dim", no_wrap=True), *lines]
        lines = [*shown, *lines]
    return lines


def _said(part: Part) -> Text:
    message = part.message
    assert message is not None
    role = ROLE_NAMES.get(message.role, message.role)
    calls = " ".join(f"→ {clean_line(call.name)}({_arguments(call.args)})" for call in message.tool_calls)
    text = " ".join(piece for piece in (clean(part.text).strip(), calls) if piece)
    note = f" [{part.why}]" if part.state == "clipped" else ""
    return Text.assemble(
        (f"#{message.id} {role}", f"bold {_ROLE_STYLES.get(role, 'default')}"), (note, "yellow"), " ", text
    )


_ROLE_STYLES = {"user": "cyan", "assistant": "green", "tool": "magenta", "system": "blue"}


def _arguments(args: object) -> str:
    import json

    return clean_line(json.dumps(args, ensure_ascii=False, default=str)).removeprefix("{").removesuffix("}")


def _wrapped(console: Console, text: Text, width: int) -> list[Text]:
    return list(text.wrap(console, max(width, 1), tab_size=4))


def _cut(lines: Sequence[Text], most: int, note: str = "") -> list[Text]:
    if len(lines) <= most:
        return list(lines)
    if note:
        return [*lines[: most - 1], Text(f"… {counted(len(lines) - most + 1, 'more line')}; {note}", "dim")]
    last = lines[most - 1].copy()
    last.rstrip()
    last.append(" …")
    return [*lines[: most - 1], last]


def _panel(lines: Sequence[Text], title: str, style: str, width: int, note: str = "") -> Panel:
    body = Text("\n").join(lines)
    body.no_wrap, body.overflow = True, "ellipsis"
    return Panel(
        body, title=Text(title, f"bold {style}"), title_align="left", subtitle=Text(note, "dim") if note else None,
        subtitle_align="right", box=box.ROUNDED, border_style=style, width=width,
    )  # fmt: skip
