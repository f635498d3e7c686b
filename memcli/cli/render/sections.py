"""A screen of several sections: how wide it is and what stands between two. It refuses to know what is in them."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from memcli.cli.render.palette import Detail

MOST_COLUMNS = 132
"""A wider picture is harder to read, not easier."""


def inside(options: ConsoleOptions, detail: Detail) -> ConsoleOptions:
    """Give a screen its width: all of a pipe's, and of a terminal's no more than MOST_COLUMNS."""
    return options.update(width=options.max_width if detail == "plain" else min(options.max_width, MOST_COLUMNS))


def spaced(console: Console, options: ConsoleOptions, sections: Iterable[RenderableType]) -> RenderResult:
    """Draw sections one below another, a blank line between two."""
    for index, section in enumerate(sections):
        if index:
            yield Text("")
        yield from console.render(section, options)
