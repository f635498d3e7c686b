"""Markdown is cut into blocks without losing a character, and drawn without losing a word."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from memcli.cli.markdown import Answer, Blocks

LINES = [
    "words",
    "- item",
    "1. item",
    "  more",
    "```python",
    "```",
    "# head",
    "",
    "> quote",
    "| a |",
    "|---|",
    "---",
    "<b>",
]


def drawn(text: str, width: int = 60) -> str:
    console = Console(file=StringIO(), width=width)
    with console.capture() as captured:
        console.print(Answer(text))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


@given(st.lists(st.sampled_from(LINES), max_size=20), st.integers(1, 9))
def test_the_blocks_together_are_the_text(lines: list[str], size: int) -> None:
    text, blocks = "\n".join(lines), Blocks()

    pieces = [blocks.feed(text[at : at + size]) for at in range(0, len(text), size)]

    assert "".join([*pieces, blocks.end()]) == text


def test_a_block_is_complete_when_the_next_one_begins() -> None:
    blocks = Blocks()

    assert blocks.feed("First.\n\n") == ""
    assert blocks.feed("Second\n") == "First.\n\n"
    assert blocks.rest == "Second\n"


def test_a_code_block_is_one_block_however_many_empty_lines_are_in_it() -> None:
    blocks = Blocks()

    assert blocks.feed("```\na = 1\n\n# not a heading\n\nb = 2\n") == ""
    assert blocks.feed("```\n\nDone\n") == "```\na = 1\n\n# not a heading\n\nb = 2\n```\n\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <b>tag</b> and <div>", "a <b>tag</b> and <div>"),
        ("<div>\nblock\n</div>", "<div>\nblock\n</div>"),
        ("roses\nviolets", "roses\nviolets"),
        ("[name](https://example.com)", "name (https://example.com)"),
        ("# Heading", "Heading"),
        ("[/b] [red]x[/red]", "[/b] [red]x[/red]"),
        ("```\n  code\n\n  more\n```", "  code\n\n  more"),
        ("", ""),
    ],
)
def test_nothing_a_model_writes_is_dropped(text: str, shown: str) -> None:
    assert drawn(text) == shown
