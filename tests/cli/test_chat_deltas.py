"""Text that arrives in pieces is cleaned as the whole would be."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from memcli.cli.cleaning import clean
from memcli.cli.deltas import MOST_HELD, Deltas
from tests.cli.stories import EVIL, EVIL_SHOWN

PIECES = st.lists(
    st.text(st.sampled_from("ab\n\r\t\x1b[]0m;?52c\x07\\PX^_ (#\u202e\u0085é"), max_size=8)
    | st.sampled_from(["\x1b[31m", "\x1b]0;title\x07", "\x1b]8;;x\x1b\\", "\x1bP1$r\x1b\\", "\r\n", "\x1b(B"]),
    max_size=8,
)


@example(["\r", "\x1b[31m", "\n"])
@given(PIECES)
def test_pieces_together_are_what_cleaning_the_whole_gives(pieces: list[str]) -> None:
    deltas = Deltas()

    shown = "".join([*(deltas.feed(piece) for piece in pieces), deltas.end()])

    assert shown == clean("".join(pieces))


def test_letter_by_letter_nothing_a_terminal_acts_on_gets_through() -> None:
    deltas = Deltas()

    assert "".join([*(deltas.feed(letter) for letter in EVIL), deltas.end()]) == EVIL_SHOWN


def test_plain_text_is_shown_at_once() -> None:
    assert Deltas().feed("hello") == "hello"


def test_a_sequence_that_never_ends_is_not_held_back_for_ever() -> None:
    deltas = Deltas()
    deltas.feed("\x1b]52;c;")

    shown = deltas.feed("x" * (2 * MOST_HELD))

    assert len(shown) > MOST_HELD
    assert "\x1b" not in shown
