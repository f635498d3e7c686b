"""Untrusted text made safe: what goes, what stays, and that nothing a terminal acts on is ever left."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.cli.cleaning import clean, clean_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 京都 \U0001f600\ttab\nline", "plain é 京都 \U0001f600\ttab\nline"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]52;c;aGk=\x07clip", "clip"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title that never ends", "\ufffd]0;title that never ends"),
        ("\x1bPq#0\x1b\\sixel", "sixel"),
        ("\x1bcreset", "reset"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("bell\x07 nul\x00 del\x7f csi\x9b", "bell\ufffd nul\ufffd del\ufffd csi\ufffd"),
        ("\u202egnp.exe\u202c \u2066x\u2069", "gnp.exe x"),
        ("half \ud83d of it", "half \ufffd of it"),
        ("one\u2028two\x85three", "one\ufffdtwo\ufffdthree"),
        ("[/b] [red]not markup[/red]", "[/b] [red]not markup[/red]"),
    ],
)
def test_what_is_shown_of_a_text(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_a_line_has_no_line_ends() -> None:
    assert clean_line(" a\n\n b\tc\x1b[2J ") == "a b c"


@given(st.text(alphabet=st.characters() | st.sampled_from("\x1b\x07\x9b[]P\\;m0\r\n")))
def test_nothing_a_terminal_acts_on_is_left(text: str) -> None:
    left = {char for char in clean(text) if unicodedata.category(char) in ("Cc", "Cs")}
    assert left <= {"\n", "\t"}


@given(st.text())
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)
