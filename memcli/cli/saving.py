"""A screen as a file: an SVG image or a web page, as wide as it reads well. It refuses to know what is on it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Literal

from rich.console import Console, RenderableType

from memcli.cli.cleaning import clean_line

WIDTH = 100
"""Columns of a saved screen."""


def save(
    screen: RenderableType, path: Path, kind: Literal["svg", "html"], title: str, *, no_color: bool = False
) -> None:
    """Write a screen to a file, whatever is there. Raises OSError when it cannot be written."""
    console = Console(
        record=True, file=io.StringIO(), width=WIDTH, force_terminal=True, color_system="truecolor", no_color=no_color,
        markup=False, emoji=False, highlight=False, legacy_windows=False,
    )  # fmt: skip
    console.print(screen)
    if kind == "svg":
        text = console.export_svg(title=clean_line(title), unique_id="memcli")
    else:
        text = console.export_html(inline_styles=True)
    path.write_text(text, encoding="utf-8")
