"""What a turn says of the memory, in a line."""

from __future__ import annotations

from dataclasses import replace

from memcli.cli.render.turn import fold_line
from memcli.memory.fold import FoldResult
from tests.cli.render.test_compact_view import _summary

FOLDED = FoldResult("c", "compacted", _summary(), 21, 40, 1_234, 20)


def test_a_fold_of_messages_names_them_and_the_summary() -> None:
    assert fold_line(FOLDED).plain == "folded #21–#40 into summary s3: 1,234 → 20 tokens, by llama3.2"


def test_a_turn_summary_is_told_as_one() -> None:
    made = replace(FOLDED, turn_summaries=1)
    assert fold_line(made).plain == "summarised #21–#40 in 1 turn summary, the last s3: 1,234 → 20 tokens, by llama3.2"


def test_turn_summaries_and_what_they_pushed_out_are_told_together() -> None:
    made = replace(FOLDED, turn_summaries=2, folds=1)
    assert fold_line(made).plain == (
        "made 2 turn summaries and folded the oldest into compaction s3: 1,234 → 20 tokens, by llama3.2"
    )
    assert fold_line(replace(made, turn_summaries=0)).plain.startswith("folded the oldest into compaction s3: ")
