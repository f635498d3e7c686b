"""How summaries descend from one another: trees, what took whose place, and what counts now."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from memcli.memory.lineage import Descent, lineage
from memcli.records import Summary, SummaryKind, Turn, TurnSpan, TurnStatus

MOMENT = datetime(2026, 3, 1, tzinfo=UTC)


def a_summary(id: int, kind: SummaryKind, first: int, last: int, parent: int | None = None, **more: object) -> Summary:
    made = Summary(
        kind=kind, parent_id=parent, first_message_id=first, last_message_id=last, text=f"text {id}", values=(),
        fidelity=None, tokens=10, model="m", prompt_version="1", input_tokens=0, output_tokens=0, input_hash=str(id),
        id=id, created_at=MOMENT,
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]


def spans(turns: int, status: TurnStatus = "done") -> list[TurnSpan]:
    """Make turns of two messages each; the last has the status."""
    ended = [*["done"] * (turns - 1), status]
    return [
        TurnSpan(Turn(n, "c", MOMENT, MOMENT, ended[n - 1]), 2 * n - 1, 2 * n)  # type: ignore[arg-type]
        for n in range(1, turns + 1)
    ]


def turn(id: int, number: int, **more: object) -> Summary:
    return a_summary(id, "turn", 2 * number - 1, 2 * number, **more)  # type: ignore[arg-type]


def told(found: list[Descent]) -> list[tuple[int, str, int | None]]:
    return [(item.summary.id, item.fate, item.into) for item in found]


def test_without_summaries_there_is_no_tree() -> None:
    assert lineage([], spans(3)) == []


def test_turn_summaries_stand_before_the_compaction_that_folded_them_and_the_others_after_it() -> None:
    made = [turn(n, n) for n in range(1, 5)]
    head = a_summary(5, "compaction", 1, 4, in_force=True, details={"folds": [1, 2]})

    found = lineage([*made, head], spans(4))

    assert told(found) == [
        (1, "superseded", 5), (2, "superseded", 5), (5, "in force", None), (3, "in force", None), (4, "in force", None),
    ]  # fmt: skip
    assert [(item.is_first, item.is_root, item.is_branch) for item in found] == [
        (True, False, True), (False, False, True), (False, True, False), (True, True, False), (True, True, False),
    ]  # fmt: skip
    assert [item.turns for item in found] == [(1, 1), (2, 2), (1, 2), (3, 3), (4, 4)]
    assert found[2].folds == (1, 2)


def test_a_compaction_on_another_continues_its_line() -> None:
    first = a_summary(3, "compaction", 1, 4, details={"folds": [1, 2]})
    second = a_summary(6, "compaction", 1, 8, parent=3, in_force=True, details={"folds": [4, 5]})

    found = lineage([turn(1, 1), turn(2, 2), first, turn(4, 3), turn(5, 4), second], spans(4))

    assert told(found) == [
        (1, "superseded", 3), (2, "superseded", 3), (3, "superseded", 6), (4, "superseded", 6), (5, "superseded", 6),
        (6, "in force", None),
    ]  # fmt: skip
    assert found[-1].folded == (5, 8)
    assert [item.summary.id for item in found if item.is_branch] == [1, 2, 4, 5]


def test_an_undone_compaction_gives_its_turn_summaries_back() -> None:
    undone = a_summary(3, "compaction", 1, 4, details={"folds": [1, 2]})
    assert told(lineage([turn(1, 1), turn(2, 2), undone], spans(2))) == [
        (1, "in force", None), (3, "undone", None), (2, "in force", None),
    ]  # fmt: skip


def test_a_fallback_that_was_made_again_is_superseded_by_the_one_after_it() -> None:
    found = lineage([turn(1, 1, fallback=True), turn(2, 1, parent_id=1)], spans(1))
    assert told(found) == [(1, "superseded", 2), (2, "in force", None)]
    assert [item.is_branch for item in found] == [False, False]


def test_a_remade_turn_summary_that_was_folded_stands_with_both_its_versions() -> None:
    head = a_summary(3, "compaction", 1, 2, in_force=True, details={"folds": [2]})
    assert told(lineage([turn(1, 1, fallback=True), turn(2, 1, parent_id=1), head], spans(1))) == [
        (1, "superseded", 2), (2, "superseded", 3), (3, "in force", None),
    ]  # fmt: skip


def test_running_summaries_are_one_line_and_each_says_what_it_folded() -> None:
    first = a_summary(1, "running", 1, 2)
    second = a_summary(2, "running", 1, 6, parent=1, in_force=True)

    found = lineage([first, second], spans(3))

    assert told(found) == [(1, "superseded", 2), (2, "in force", None)]
    assert [item.folded for item in found] == [(1, 2), (3, 6)]
    assert [item.turns for item in found] == [(1, 1), (1, 3)]


def test_a_line_of_thousands_is_ordered() -> None:
    last = 3000
    chain = [a_summary(n, "running", 1, n, parent=n - 1 or None, in_force=n == last) for n in range(1, last + 1)]
    assert [item.summary.id for item in lineage(chain, [])] == list(range(1, last + 1))


def test_a_proposal_and_a_discarded_one_take_nobodys_place() -> None:
    head = a_summary(1, "running", 1, 2, in_force=True)
    proposed = a_summary(2, "running", 1, 4, parent=1, state="proposed")
    discarded = a_summary(3, "running", 1, 4, parent=1, state="discarded")
    assert told(lineage([head, proposed, discarded], spans(2))) == [
        (1, "in force", None), (2, "proposed", None), (3, "discarded", None),
    ]  # fmt: skip


def test_a_summary_of_a_turn_that_was_taken_back_does_not_count() -> None:
    assert told(lineage([turn(1, 1), turn(2, 2)], spans(2, "rewound"))) == [(1, "in force", None), (2, "rewound", None)]


def test_a_recap_counts_while_its_turn_is_open() -> None:
    recap = a_summary(1, "recap", 4, 4)
    assert told(lineage([recap], spans(2, "open"))) == [(1, "in force", None)]
    assert told(lineage([recap], spans(2))) == [(1, "ended", None)]


def test_a_cleared_marker_says_that_it_stands_for_nothing() -> None:
    marker = a_summary(2, "compaction", 1, 2, in_force=True, details={"cleared": True, "folds": [1]})
    assert [item.is_cleared for item in lineage([turn(1, 1), marker], spans(1))] == [False, True]
