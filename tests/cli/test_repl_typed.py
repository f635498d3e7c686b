"""What was typed is a command, something to say, or nothing."""

from __future__ import annotations

import pytest

from memcli.cli.repl.typed import Say, Slash, is_open_block, read


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", None),
        ("  \n ", None),
        ("hello", Say("hello")),
        ("two\nlines", Say("two\nlines")),
        ("/help", Slash("help", "")),
        ("/HELP ", Slash("help", "")),
        ("/compact mind  the names", Slash("compact", "mind  the names")),
        ("/system be\nbrief", Slash("system", "be\nbrief")),
        ("/system\nbe brief", Slash("system", "be brief")),
        ("/", Slash("", "")),
        ("//etc/hosts is what?", Say("/etc/hosts is what?")),
        ('"""a\n\n  b"""', Say("a\n\n  b")),
        ('"""\nblock\n"""', Say("block")),
        ('"""never closed', Say("never closed")),
        ('""""""', None),
        ("a \ud800 b", Say("a ? b")),
    ],
)
def test_what_was_typed_is_told_apart(typed: str, said: Slash | Say | None) -> None:
    assert read(typed) == said


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ('"""', True),
        ('"""a', True),
        ('"""a\n"""', False),
        ('""""""', False),
        ("a", False),
        ('a"""', False),
        ('""""', True),
    ],
)
def test_a_block_is_open_until_its_three_quotes_end(text: str, is_open: bool) -> None:
    assert is_open_block(text) == is_open
