"""What a round of upkeep brought about: what was made and folded in one round counts once."""

from __future__ import annotations

from memcli.memory.fold import FoldResult
from memcli.memory.tally import Tally
from tests.memory.test_lineage import a_summary, turn

RESULT = FoldResult("c", "compacted")


def numbers(tally: Tally) -> tuple[int | None, int | None, int, int, int, int]:
    told = tally.told_in(RESULT)
    return (
        told.first_message_id, told.last_message_id, told.tokens_before, told.tokens_after, told.turn_summaries,
        told.folds,
    )  # fmt: skip


def test_nothing_made_leaves_the_result_as_it_is() -> None:
    assert Tally().told_in(RESULT) is RESULT


def test_turn_summaries_add_up() -> None:
    tally = Tally()
    tally.note(turn(1, 1), 1, 100)
    tally.note(turn(2, 2), 3, 200)
    assert numbers(tally) == (1, 4, 300, 20, 2, 0)


def test_what_is_folded_in_the_same_round_counts_through_the_fold() -> None:
    tally = Tally()
    tally.note(turn(1, 1), 1, 100)
    tally.note(turn(2, 2), 3, 200)
    tally.note(turn(3, 3), 5, 300)
    tally.note(a_summary(4, "compaction", 1, 4, details={"folds": [1, 2]}), 1, 20)
    assert numbers(tally) == (1, 6, 600, 20, 3, 1)


def test_a_fold_of_what_stood_before_counts_what_it_replaces() -> None:
    tally = Tally()
    tally.note(a_summary(9, "compaction", 1, 4, parent=5, details={"folds": [6, 7]}), 3, 35)
    assert numbers(tally) == (3, 4, 35, 10, 0, 1)


def test_a_recap_that_a_turn_summary_was_made_of_does_not_count_twice() -> None:
    tally = Tally()
    tally.note(a_summary(1, "recap", 2, 8), 2, 500)
    tally.note(a_summary(2, "turn", 1, 10), 1, 700)
    assert numbers(tally) == (1, 10, 700, 10, 1, 0)
