"""A word diff gives both texts back, and names the values that came and went."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from memcli.memory.word_diff import Piece, SummaryDiff, summary_diff, word_diff
from tests.cli.stories import a_summary

words = st.lists(st.sampled_from(["the", "user", "paid", "$121", "\n", " ", "[/b]", "京都", "HAT069"]), max_size=12)
texts = words.map(" ".join)


def test_words_are_the_same_removed_or_added() -> None:
    assert word_diff("the user paid $121 today", "the user paid $150 today") == [
        Piece("same", "the user paid "),
        Piece("removed", "$121"),
        Piece("added", "$150"),
        Piece("same", " today"),
    ]


def test_nothing_differs_from_nothing() -> None:
    assert word_diff("", "") == []
    assert word_diff("same", "same") == [Piece("same", "same")]


@given(texts, texts)
def test_both_texts_can_be_read_back(before: str, after: str) -> None:
    pieces = word_diff(before, after)

    assert "".join(piece.text for piece in pieces if piece.kind != "added") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after


def test_values_are_gained_and_lost_by_text_or_carried() -> None:
    before = replace(a_summary(1, 4, text="Seat HAT069 for $1,200.", values=("LQ940Q", "mia_li_3668")))
    after = replace(a_summary(1, 9, text="Seat for $1200 on 2024-05-20.", values=("LQ940Q", "ZFA04Y")))

    assert summary_diff(before, after) == SummaryDiff(
        (
            Piece("same", "Seat"),
            Piece("removed", " HAT069"),
            Piece("same", " for "),
            Piece("removed", "$1,200."),
            Piece("added", "$1200 on 2024-05-20."),
        ),
        gained=("2024-05-20", "ZFA04Y"),
        lost=("HAT069", "mia_li_3668"),
    )


def test_white_space_between_two_changes_is_part_of_them() -> None:
    assert word_diff("he paid in cash", "he gave a card") == [
        Piece("same", "he "),
        Piece("removed", "paid in cash"),
        Piece("added", "gave a card"),
    ]


def test_the_message_a_quote_is_from_is_no_value() -> None:
    before = replace(a_summary(1, 4, text='Quotes:\n#12 user: "Order #4512 is late."', values=()))
    after = replace(a_summary(1, 4, text="An order is late.", values=()))

    assert (summary_diff(before, after).gained, summary_diff(before, after).lost) == ((), ("#4512",))
