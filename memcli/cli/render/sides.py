"""Side by side: the summary that stands for the past, and the window of what is still said word for word."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from memcli.cli.cleaning import clean, clean_line
from memcli.cli.picture import Picture
from memcli.cli.render.palette import ROLE_NAMES, STYLE_OF, counted, ids_of, span
from memcli.cli.render.parts import said_by
from memcli.cli.render.standing import (
    cut,
    is_recap,
    standing_lines,
    standing_note,
    standing_texts,
    standing_title,
    wrapped,
)
from memcli.memory.context import Part

NARROW = 72
"""Columns below which the two stand one above the other."""
LEAST_LINES = 12
"""Lines a side has at least, where there is that much to say."""
LINES_A_MESSAGE = 3
"""Lines one message takes at most in the window's side, short of --full."""
_FRAME = 4
"""Columns a panel's border and padding take."""


class Sides:
    """The two sides of one picture."""

    def __init__(self, picture: Picture, *, full: bool) -> None:
        self.picture = picture
        self.full = full

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw them beside one another, or one above the other where it is narrow."""
        is_narrow = options.max_width < NARROW
        width = options.max_width if is_narrow else (options.max_width - 1) // 2
        shown = standing_lines(console, self.picture, width - _FRAME, full=self.full)
        height = max(len(shown), LEAST_LINES)
        window = _window_lines(console, self.picture, width - _FRAME, None if self.full else height)
        if not is_narrow:
            height = max(len(shown), len(window))
            shown, window = (lines + [Text()] * (height - len(lines)) for lines in (shown, window))
        left = _panel(shown, standing_title(self.picture), STYLE_OF["summary"], width, standing_note(self.picture))
        right = _panel(window, window_title(self.picture), STYLE_OF["window"], width)
        if is_narrow:
            yield Group(left, right)
            return
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_row(left, right)
        yield grid


def plain_sides(picture: Picture) -> Group:
    """Write both whole, one after the other, nothing wrapped: for pipes."""
    sections: list[RenderableType] = [Text(f"── {standing_title(picture)} {standing_note(picture)}".rstrip())]
    sections += standing_texts(picture)
    sections += [Text(""), Text(f"── {window_title(picture)}")]
    sections += [_said(part) for part in _window(picture)] or [Text(_empty(picture))]
    return Group(*sections)


def window_title(picture: Picture) -> str:
    """Name the right side, with its tokens."""
    window = _window(picture)
    is_window = picture.context.memory == "window"
    if not window:
        return "empty window · 0 tokens" if is_window else "no turn is open · 0 tokens"
    tokens = counted(sum(part.tokens for part in window), "token")
    return f"{'window' if is_window else _turn_names(window)} {ids_of(window)} · {tokens}"


def _turn_names(window: Sequence[Part]) -> str:
    """Tell the turns without a summary from the ongoing one, which begins with the new message."""
    is_ongoing = any(part.source == "new" for part in window)
    if not is_ongoing:
        return "pending"
    return "ongoing turn" if window[0].source == "new" else "pending, ongoing"


def _empty(picture: Picture) -> str:
    if picture.context.memory == "window":
        return "No message is in the window."
    return "Every completed turn is summarised; the next message begins a turn, which is here in full."


def _window(picture: Picture) -> list[Part]:
    """Take the messages that are there themselves, and the recap of the ongoing turn's middle."""
    return [
        part
        for part in picture.context.parts
        if (part.source in ("message", "new") and part.message is not None) or is_recap(part, picture)
    ]


def _window_lines(console: Console, picture: Picture, width: int, most: int | None) -> list[Text]:
    """Write the window's messages, oldest first; where there is no room for all, the newest that fit."""
    window = _window(picture)
    if not window:
        return wrapped(console, Text(_empty(picture)), width)
    lines: list[Text] = []
    for left, part in enumerate(reversed(window)):
        shown = wrapped(console, _said(part), width)
        shown = shown if most is None else cut(shown, LINES_A_MESSAGE)
        rest = window[: len(window) - left]
        if most is not None and len(shown) + len(lines) > most - (len(rest) > 1) and lines:
            tokens = counted(sum(part.tokens for part in rest), "token")
            return [Text(f"… {counted(len(rest), 'earlier message')}, {tokens}", "dim", no_wrap=True), *lines]
        lines = [*shown, *lines]
    return lines


def _said(part: Part) -> Text:
    message = part.message
    if message is None:
        ids = span(part.first_message_id, part.last_message_id)
        return Text.assemble(
            (f"{ids} recap s{part.summary_id}", "bold yellow"), " ", clean(part.text.partition("\n")[2])
        )
    role = ROLE_NAMES.get(message.role, message.role)
    calls = " ".join(f"→ {clean_line(call.name)}({_arguments(call.args)})" for call in message.tool_calls)
    text = " ".join(piece for piece in (clean(said_by(part)).strip(), calls) if piece)
    note = f" [{part.why}]" if part.state == "clipped" else ""
    return Text.assemble(
        (f"#{message.id} {role}", f"bold {_ROLE_STYLES.get(role, 'default')}"), (note, "yellow"), " ", text
    )


_ROLE_STYLES = {"user": "cyan", "assistant": "green", "tool": "magenta", "system": "blue"}


def _arguments(args: object) -> str:
    import json

    return clean_line(json.dumps(args, ensure_ascii=False, default=str)).removeprefix("{").removesuffix("}")


def _panel(lines: Sequence[Text], title: str, style: str, width: int, note: str = "") -> Panel:
    body = Text("\n").join(lines)
    body.no_wrap, body.overflow = True, "ellipsis"
    return Panel(
        body, title=Text(title, f"bold {style}"), title_align="left", subtitle=Text(note, "dim") if note else None,
        subtitle_align="right", box=box.ROUNDED, border_style=style, width=width,
    )  # fmt: skip
