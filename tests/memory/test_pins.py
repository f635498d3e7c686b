"""Pins: what is pinned stays word for word, once, counted and in a valid order, or is refused with numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import ContextOverflow, NotFound, UsageError
from memcli.memory.context import Context, Request
from memcli.memory.model import memory_of
from memcli.memory.pins import pin, unit_of
from memcli.memory.spans import Spans
from memcli.memory.travel import of_call
from memcli.memory.wire import wire
from memcli.records import MemoryModel
from memcli.store import Store
from tests.cli.conversations import add_turn, said
from tests.histories import opened
from tests.memory.talks import SMALL, asking, begin, keep, next_context, record, turn_of

BOTH: tuple[MemoryModel, ...] = get_args(MemoryModel)
ROOMY = replace(SMALL, limit_tokens=4000)


def pins_of(context: Context) -> list[tuple[int | None, str | None, str]]:
    return [(part.first_message_id, part.state, part.why) for part in context.parts if part.source == "pin"]


@pytest.mark.parametrize("memory", BOTH)
def test_a_pinned_message_stays_when_its_turn_is_folded(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    keep(store, talk, [turn_of(number) for number in range(1, 14)], ROOMY)
    without = next_context(store, talk, ROOMY)

    taken = pin(store, store.conversations.get(talk.id), ROOMY, Request(), 1)
    context = next_context(store, talk, ROOMY)

    assert pins_of(context) == [(1, "verbatim", "pinned: it stays word for word, whatever is folded")]
    assert taken == store.messages.get(talk.id, 1).tokens
    assert context.tokens == without.tokens + taken
    assert context.ledger.verbatim == without.ledger.verbatim | Spans.ids([1])
    assert context.ledger.summarised == without.ledger.summarised - Spans.ids([1])
    assert context.ledger.total == without.ledger.total


def test_pins_stand_behind_the_summary_and_before_the_window(store: Store) -> None:
    talk = begin(store)
    keep(store, talk, [turn_of(number) for number in range(1, 14)], ROOMY)
    for id in (9, 1):
        store.pins.add(talk.id, id)

    context = next_context(store, talk, ROOMY)

    sources = [part.source for part in context.parts]
    assert sources[:6] == ["system", "summary", "values", "pin", "pin", "message"]
    assert [part.first_message_id for part in context.parts if part.source == "pin"] == [1, 9]
    assert wire(context)[1].message_id == 1


@pytest.mark.parametrize("memory", BOTH)
def test_a_pinned_result_brings_its_call_and_its_siblings(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    first = [
        said("human", "look twice"),
        asking("", ("a", {}), ("b", {})),
        said("tool", "one", tool_call_id="a"),
        said("tool", "two", tool_call_id="b"),
        said("ai", "both seen"),
    ]
    keep(store, talk, [first, *(turn_of(number) for number in range(1, 14))], ROOMY)
    store.pins.add(talk.id, 4)

    context = next_context(store, talk, ROOMY)

    beside = "it goes with #4, which is pinned"
    assert [(id, why) for id, _, why in pins_of(context)] == [
        (2, beside), (3, beside), (4, "pinned: it stays word for word, whatever is folded"),
    ]  # fmt: skip
    shown = [(item.role, item.tool_call_id) for item in wire(context) if item.message_id in (2, 3, 4)]
    assert shown == [("assistant", None), ("tool", "a"), ("tool", "b")]
    assert not any(item.is_error for item in wire(context))


@pytest.mark.parametrize("memory", BOTH)
def test_what_the_context_shows_anyway_is_not_doubled(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    add_turn(store, talk, said("human", "one"), said("ai", "two"))
    without = next_context(store, talk)

    store.pins.add(talk.id, 1)

    assert next_context(store, talk) == without


@pytest.mark.parametrize("memory", BOTH)
def test_the_ongoing_turn_is_not_doubled(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    add_turn(store, talk, said("human", "one"), status="open")
    store.pins.add(talk.id, 1)

    context = memory_of(memory).context(store, store.conversations.get(talk.id), SMALL, Request(turn_id=1))

    assert [part.source for part in context.parts] == ["system", "new", "reserve"]


@pytest.mark.parametrize("memory", BOTH)
def test_a_pin_that_cannot_fit_is_refused_with_numbers(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    keep(store, talk, [[said("human", "x" * 6000), said("ai", "ok")]], replace(SMALL, limit_tokens=8000))
    now = store.conversations.get(talk.id)
    needed = store.messages.get(talk.id, 1).tokens
    available = 2000 - 200 - 9 - 160 - 200

    with pytest.raises(ContextOverflow) as refused:
        pin(store, now, SMALL, Request(), 1)

    assert refused.value.message == f"pinning #1 needs {needed:,} tokens and {available:,} are available"
    assert store.pins.list(talk.id) == []


@pytest.mark.parametrize("memory", BOTH)
def test_pins_that_no_longer_fit_are_named_with_numbers(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    keep(store, talk, [[said("human", "x" * 2000), said("ai", "ok")], *(turn_of(n) for n in range(1, 14))], ROOMY)
    store.pins.add(talk.id, 1)

    with pytest.raises(ContextOverflow, match=r"the pinned messages needs? \d+ tokens and \d+ are available"):
        next_context(store, talk, replace(SMALL, limit_tokens=600))


def test_only_what_is_there_and_in_a_context_can_be_pinned(store: Store) -> None:
    talk = begin(store)
    add_turn(store, talk, said("human", "one"), said("ai", "two"), status="failed")
    now = store.conversations.get(talk.id)

    with pytest.raises(NotFound, match="no message #9"):
        pin(store, now, SMALL, Request(), 9)
    with pytest.raises(UsageError, match="#1 is failed"):
        pin(store, now, SMALL, Request(), 1)
    assert store.pins.list(talk.id) == []


def test_a_pinned_message_whose_turn_is_taken_back_leaves_the_context(store: Store) -> None:
    talk = begin(store)
    keep(store, talk, [turn_of(1)])
    store.pins.add(talk.id, 2)
    store.turns.close(talk.id, 1, "rewound")

    assert pins_of(next_context(store, talk)) == []


def test_a_message_alone_is_its_own_unit(store: Store) -> None:
    talk = begin(store)
    add_turn(store, talk, said("human", "one"), said("tool", "stray", tool_call_id="zz"), said("ai", "two"))

    units = [[item.id for item in unit_of(store, store.messages.get(talk.id, id))] for id in (1, 2, 3)]

    assert units == [[1], [2], [3]]


@settings(max_examples=30)
@given(st.integers(1, 14), st.sets(st.integers(1, 30), max_size=6), st.sampled_from(BOTH))
def test_the_ledger_adds_up_and_every_pin_is_shown_once(
    tmp_path_factory: pytest.TempPathFactory, turns: int, ids: set[int], memory: MemoryModel
) -> None:
    with opened(tmp_path_factory.mktemp("pins")) as store:
        talk = begin(store, memory=memory)
        keep(store, talk, [turn_of(number) for number in range(1, turns + 1)], ROOMY)
        last = store.messages.last_id(talk.id)
        pinned = {id for id in ids if id <= last}
        for id in pinned:
            store.pins.add(talk.id, id)

        context = next_context(store, talk, ROOMY)
        call = record(store, context, 1)
        again = of_call(store, talk, call).context

        shown = [part.message.id for part in context.parts if part.message is not None]
        assert len(shown) == len(set(shown))
        assert pinned <= set(shown)
        assert all(id in context.ledger.verbatim for id in pinned)
        assert context.ledger.total == last
        assert context.tokens <= ROOMY.limit_tokens
        assert (again.tokens, again.ledger, wire(again)) == (context.tokens, context.ledger, wire(context))
        assert not any(item.is_error for item in wire(context))


@pytest.mark.parametrize("memory", BOTH)
def test_a_pinned_result_is_whole_where_the_budget_clips_its_siblings(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    turn = [said("human", "look twice"), asking("", ("a", {}), ("b", {}))]
    turn += [said("tool", letter * 1200, tool_call_id=letter) for letter in "ab"]
    add_turn(store, talk, *turn, said("ai", "both seen"))
    policy = replace(ROOMY, max_tokens=400)
    without = next_context(store, talk, policy)
    assert [without.ledger.clipped.count, without.ledger.verbatim.count] == [2, 3]

    pin(store, store.conversations.get(talk.id), policy, Request(), 3)
    context = next_context(store, talk, policy)

    assert {3, 2, 1, 5} <= {id for first, last in context.ledger.verbatim for id in range(first, last + 1)}
    assert [item.content for item in wire(context) if item.message_id == 3] == ["a" * 1200]
    assert not any(item.is_error for item in wire(context))
    assert context.tokens <= policy.limit_tokens


@pytest.mark.parametrize("memory", BOTH)
def test_a_pinned_result_of_the_ongoing_turn_is_whole_where_its_siblings_are_clipped(
    store: Store, memory: MemoryModel
) -> None:
    talk = begin(store, memory=memory)
    turn = store.turns.start(talk.id)
    asked = [said("human", "look twice"), asking("", ("a", {})), said("tool", "a" * 4000, tool_call_id="a")]
    asked += [asking("", ("b", {})), said("tool", "b" * 8000, tool_call_id="b")]
    store.messages.append(talk.id, asked, turn_id=turn.id)
    policy = replace(ROOMY, limit_tokens=2000)
    request = Request(turn_id=turn.id)
    without = memory_of(memory).context(store, store.conversations.get(talk.id), policy, request)
    assert without.ledger.clipped == Spans.ids([3, 5])

    store.pins.add(talk.id, 3)
    context = memory_of(memory).context(store, store.conversations.get(talk.id), policy, request)

    assert context.ledger.clipped == Spans.ids([5])
    assert [item.content for item in wire(context) if item.message_id == 3] == ["a" * 4000]
    assert context.tokens <= policy.limit_tokens
    store.pins.add(talk.id, 5)
    with pytest.raises(ContextOverflow, match="this turn needs 3,"):
        memory_of(memory).context(store, store.conversations.get(talk.id), policy, request)


def test_a_pinned_unit_that_the_newest_turn_leaves_out_stands_behind_its_question(store: Store) -> None:
    talk = begin(store)
    turn = [said("human", "look often")]
    for number in range(12):
        turn += [asking("", (f"c{number}", {"n": "x" * 60})), said("tool", "y" * 300, tool_call_id=f"c{number}")]
    add_turn(store, talk, *turn, said("ai", "all seen"))
    policy = replace(ROOMY, max_tokens=200)
    store.pins.add(talk.id, 3)

    context = next_context(store, talk, policy)

    ids = [part.first_message_id for part in context.parts if part.message is not None]
    assert ids == sorted(ids, key=lambda id: id or 0)
    assert ids[:3] == [1, 2, 3]
    assert [part.source for part in context.parts if part.first_message_id in (2, 3)] == ["pin", "pin"]


def test_a_refusal_counts_what_is_pinned_already(store: Store) -> None:
    talk = begin(store)
    keep(store, talk, [[said("human", "x" * 2000), said("ai", "y" * 6000)]], replace(SMALL, limit_tokens=8000))
    now = store.conversations.get(talk.id)
    pin(store, now, SMALL, Request(), 1)

    with pytest.raises(ContextOverflow, match=r"pinning #2 beside 1 pinned already needs 2,\d+ tokens and 1,\d+ are"):
        pin(store, now, SMALL, Request(), 2)
    assert store.pins.list(talk.id) == [1]
