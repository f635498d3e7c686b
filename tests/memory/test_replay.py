"""A replay is what a chat would have come to: its rows, its last row, and nothing else touched."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.memory.context import Context, Policy
from memcli.memory.model import HEAD_OF
from memcli.memory.replay import STANDING_FOR, ReplayRow, replay
from memcli.records import MemoryModel
from memcli.store import Store
from tests.cli.conversations import add_turn, said
from tests.histories import opened
from tests.memory.talks import SMALL, begin, keep, next_context, turn_of

BOTH: tuple[MemoryModel, ...] = get_args(MemoryModel)


def numbers(context: Context) -> tuple[int, ...]:
    """Tell what a row tells of a context."""
    standing = sum(part.tokens for part in context.parts if part.source in STANDING_FOR)
    return context.prompt_tokens, standing, context.ledger.verbatim.count, context.ledger.forgotten.count


def told(row: ReplayRow) -> tuple[int, ...]:
    return row.tokens, row.summary_tokens, row.verbatim, row.forgotten


@pytest.mark.parametrize("memory", BOTH)
def test_every_row_is_what_the_chat_really_came_to(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    real: list[tuple[int, ...]] = []
    peaks: list[int] = []
    for number in range(1, 15):
        calls = keep(store, talk, [turn_of(number)])
        peaks.append(max(call.prompt_tokens for call in calls))
        real.append(numbers(next_context(store, talk)))

    rows = list(replay(store, store.conversations.get(talk.id), SMALL))

    assert [told(row) for row in rows] == real
    assert [row.peak_tokens for row in rows] == peaks
    assert [row.turn for row in rows] == list(range(1, 15))
    assert rows[-1].last_message_id == store.messages.last_id(talk.id)
    assert rows[-1].folds == len(store.summaries.list(talk.id, kind=HEAD_OF[memory])) > 1
    assert {row.problem for row in rows} == {None}


def test_another_policy_is_walked_without_touching_the_conversation(store: Store) -> None:
    talk = begin(store)
    keep(store, talk, [turn_of(number) for number in range(1, 12)])
    now = store.conversations.get(talk.id)
    before = (
        store.summaries.list(talk.id),
        store.calls.newest_first(talk.id),
        list(store.messages.oldest_first(talk.id)),
    )
    never = replace(SMALL, compact_every=1000, compact_on_overflow=False)

    rows = list(replay(store, now, never))

    assert (rows[-1].folds, rows[-1].summary_tokens) == (0, 0)
    assert [row.forgotten for row in rows] == sorted(row.forgotten for row in rows)
    assert rows[-1].forgotten + rows[-1].verbatim == now.last_message_id
    assert rows[-1].most_forgotten == rows[-1].forgotten > 0
    assert (
        store.summaries.list(talk.id), store.calls.newest_first(talk.id), list(store.messages.oldest_first(talk.id)),
    ) == before  # fmt: skip
    assert store.conversations.get(talk.id) == now


def test_the_other_memory_model_can_be_tried(store: Store) -> None:
    talk = begin(store)
    keep(store, talk, [turn_of(number) for number in range(1, 9)])

    rows = list(replay(store, store.conversations.get(talk.id), SMALL, memory="turns"))

    assert (rows[-1].verbatim, rows[-1].forgotten) == (0, 0)


def test_a_call_that_would_be_refused_is_a_problem_of_its_row(store: Store) -> None:
    talk = begin(store)
    roomy = replace(SMALL, limit_tokens=9000)
    keep(store, talk, [turn_of(1), [said("human", "x" * 9000), said("ai", "ok")], turn_of(2)], roomy)

    rows = list(replay(store, store.conversations.get(talk.id), SMALL))

    assert [row.problem for row in rows] == [None, "the message needs 2,254 tokens and 1,791 are available", None]
    assert [row.peak_tokens > 0 for row in rows] == [True, False, True]


def test_failed_and_taken_back_turns_stand_outside(store: Store) -> None:
    talk = begin(store)
    add_turn(store, talk, *turn_of(1))
    add_turn(store, talk, *turn_of(2), status="failed")
    add_turn(store, talk, *turn_of(4), status="rewound")

    rows = list(replay(store, store.conversations.get(talk.id), SMALL))

    assert [(row.turn, row.verbatim, row.forgotten, row.peak_tokens > 0) for row in rows] == [
        (1, 2, 0, True), (2, 2, 0, False), (3, 2, 0, False),
    ]  # fmt: skip


def test_messages_outside_turns_are_walked_by_the_user_s(store: Store) -> None:
    talk = begin(store)
    for number in (1, 2, 4):
        store.messages.append(talk.id, turn_of(number))

    assert [row.last_message_id for row in replay(store, store.conversations.get(talk.id), SMALL)] == [2, 4, 6]


def test_pins_and_the_plan_are_in_it(store: Store) -> None:
    talk = begin(store)
    keep(store, talk, [turn_of(number) for number in range(1, 12)])
    bare = list(replay(store, store.conversations.get(talk.id), SMALL))
    store.pins.add(talk.id, 1)

    pinned = list(replay(store, store.conversations.get(talk.id), SMALL))

    assert pinned[-1].tokens == bare[-1].tokens + store.messages.get(talk.id, 1).tokens
    assert told(pinned[-1]) == numbers(next_context(store, talk))


def test_an_empty_conversation_has_no_rows(store: Store) -> None:
    assert list(replay(store, begin(store), SMALL)) == []


@settings(max_examples=12)
@given(
    st.integers(1, 10), st.sampled_from(BOTH), st.integers(60, 400), st.integers(1, 6), st.integers(0, 120),
    st.sampled_from(["fold", "clear"]),
)  # fmt: skip
def test_the_last_row_equals_the_real_thing_under_any_policy(
    tmp_path_factory: pytest.TempPathFactory, turns: int, memory: MemoryModel, max_tokens: int, every: int, step: int,
    on_full: str,
) -> None:  # fmt: skip
    policy: Policy = replace(
        SMALL, max_tokens=max_tokens, compact_every=every, window_step=step, on_full=on_full, max_summaries=4
    )
    with opened(tmp_path_factory.mktemp("replay")) as store:
        talk = begin(store, memory=memory)
        keep(store, talk, [turn_of(number) for number in range(1, turns + 1)], policy)

        rows = list(replay(store, store.conversations.get(talk.id), policy))

        assert told(rows[-1]) == numbers(next_context(store, talk, policy))
