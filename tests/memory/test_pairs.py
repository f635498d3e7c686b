"""Which result answers which call: by id, the first one behind it, before the id is asked with again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memcli.memory.pairs import Entry, Placed, arrange, is_whole

SAID = Entry()


def asked(*ids: str) -> Entry:
    return Entry(ids)


def result(id: str) -> Entry:
    return Entry(answers=id)


entries = st.lists(
    st.one_of(
        st.just(SAID),
        st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(lambda ids: asked(*ids)),
        st.sampled_from("abc").map(result),
    ),
    max_size=10,
)


def test_results_are_put_behind_their_calls_in_call_order() -> None:
    assert arrange([asked("a", "b"), SAID, result("b"), result("a")]) == [
        Placed("message", 0),
        Placed("result", 3, 0),
        Placed("result", 2, 1),
        Placed("message", 1),
    ]


def test_a_call_without_a_result_leaves_a_gap() -> None:
    assert arrange([asked("a", "b"), result("b")]) == [
        Placed("message", 0),
        Placed("missing", 0, 0),
        Placed("result", 1, 1),
    ]


def test_a_result_without_a_call_stays_where_it_was() -> None:
    assert arrange([SAID, result("a"), SAID]) == [Placed("message", 0), Placed("stray", 1), Placed("message", 2)]


def test_a_result_before_its_call_is_no_answer() -> None:
    assert arrange([result("a"), asked("a")]) == [Placed("stray", 0), Placed("message", 1), Placed("missing", 1)]


def test_an_id_that_is_asked_twice_is_answered_twice() -> None:
    assert arrange([asked("a"), result("a"), asked("a"), result("a")]) == [
        Placed("message", 0),
        Placed("result", 1),
        Placed("message", 2),
        Placed("result", 3),
    ]


def test_a_second_result_for_one_call_is_a_stray() -> None:
    assert arrange([asked("a"), result("a"), result("a")]) == [
        Placed("message", 0),
        Placed("result", 1),
        Placed("stray", 2),
    ]


@given(entries)
def test_every_entry_stands_exactly_once_and_every_call_is_followed_by_its_answers(given_entries: list[Entry]) -> None:
    places = arrange(given_entries)
    assert sorted(place.index for place in places if place.kind != "missing") == list(range(len(given_entries)))
    for at, place in enumerate(places):
        if place.kind == "message":
            behind = places[at + 1 : at + 1 + len(given_entries[place.index].call_ids)]
            assert [item.kind in ("result", "missing") for item in behind] == [True] * len(behind)
            assert [item.call for item in behind] == list(range(len(behind)))


@given(entries)
def test_arranging_twice_changes_nothing(given_entries: list[Entry]) -> None:
    once = [given_entries[place.index] for place in arrange(given_entries) if place.kind != "missing"]
    twice = [once[place.index] for place in arrange(once) if place.kind != "missing"]
    assert twice == once


@given(entries)
def test_what_is_whole_is_what_arranging_leaves_as_it_is(given_entries: list[Entry]) -> None:
    places = arrange(given_entries)
    changes_nothing = [place.index for place in places] == list(range(len(given_entries)))
    assert is_whole(given_entries) == (changes_nothing and all(place.kind in ("message", "result") for place in places))
