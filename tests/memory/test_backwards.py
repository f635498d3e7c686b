"""Reading a log backwards gives the order `pairs` arranges, for any log, without reading further than it must."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from memcli.memory.backwards import REACH, backwards
from memcli.memory.pairs import Entry, arrange
from memcli.records import StoredMessage
from tests.histories import asking, histories
from tests.memory.test_clip import row


def log(said: list[BaseMessage]) -> list[StoredMessage]:
    return [row(message, id) for id, message in enumerate(said, 1)]


def arranged(rows: list[StoredMessage]) -> list[int]:
    entries = [Entry(tuple(call.id for call in item.tool_calls), item.tool_call_id) for item in rows]
    return [rows[place.index].id for place in arrange(entries) if place.kind != "missing"]


@settings(max_examples=1000, deadline=None)
@given(histories)
def test_any_log_read_backwards_is_the_arranged_one_reversed(said: list[BaseMessage]) -> None:
    rows = log(said)
    assert [item.id for item in backwards(reversed(rows))] == arranged(rows)[::-1]


def test_a_log_without_results_is_read_no_further_than_it_is_taken() -> None:
    taken: list[int] = []

    def reading() -> Iterator[StoredMessage]:
        for item in reversed(log([HumanMessage(str(number)) for number in range(9)])):
            taken.append(item.id)
            yield item

    reader = backwards(reading())
    assert [next(reader).id, next(reader).id] == [9, 8]
    assert taken == [9, 8]


def test_a_call_further_away_than_the_reach_is_taken_for_absent() -> None:
    between: list[BaseMessage] = [HumanMessage("x")] * REACH
    near = log([asking("a"), *between[1:], ToolMessage("A", tool_call_id="a")])
    far = log([asking("a"), *between, ToolMessage("A", tool_call_id="a")])
    assert [item.id for item in backwards(reversed(near))][-2:] == [REACH + 1, 1]
    assert next(backwards(reversed(far))).id == REACH + 2


def test_an_excluded_row_keeps_its_place_and_answers_nothing() -> None:
    rows = log([asking("a"), HumanMessage("x"), ToolMessage("A", tool_call_id="a")])
    rows[2] = rows[2].as_unreadable()
    assert [item.id for item in backwards(reversed(rows))] == [3, 2, 1]
