"""Spans are sets of ids: every operation agrees with Python's own sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memcli.memory.spans import Spans

pairs = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=6)


def ids_of(spans: Spans) -> set[int]:
    return {id for first, last in spans for id in range(first, last + 1)}


def ids_in(given_pairs: list[tuple[int, int]]) -> set[int]:
    return {id for first, last in given_pairs for id in range(first, last + 1)}


def test_touching_and_overlapping_spans_become_one() -> None:
    assert Spans.of([(4, 6), (1, 3), (5, 9), (20, 19)]) == Spans(((1, 9),))


def test_single_ids_become_spans_in_order() -> None:
    assert Spans.ids([7, 1, 2, 9, 8]) == Spans(((1, 2), (7, 9)))


def test_an_empty_set_is_false_and_counts_nothing() -> None:
    assert (bool(Spans()), Spans().count, list(Spans())) == (False, 0, [])


@given(pairs)
def test_spans_hold_exactly_the_ids_they_are_made_of(one: list[tuple[int, int]]) -> None:
    spans = Spans.of(one)
    assert ids_of(spans) == ids_in(one)
    assert spans.count == len(ids_in(one))
    assert {id for id in range(45) if id in spans} == ids_in(one)


@given(pairs, pairs)
def test_union_difference_and_intersection_agree_with_sets(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    left, right = Spans.of(one), Spans.of(other)
    assert ids_of(left | right) == ids_in(one) | ids_in(other)
    assert ids_of(left - right) == ids_in(one) - ids_in(other)
    assert ids_of(left & right) == ids_in(one) & ids_in(other)


@given(pairs, pairs)
def test_equal_sets_are_equal_values(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    left, right = Spans.of(one), Spans.of(other)
    assert (left - right) | (left & right) == left
