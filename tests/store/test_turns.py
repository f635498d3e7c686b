"""Turns: start, close, reopen, read back."""

from __future__ import annotations

from itertools import islice

import pytest

from memcli.errors import NotFound
from memcli.records import Conversation, Turn, TurnStatus
from memcli.store import Store
from tests.store.samples import message, messages


def _states(store: Store, talk: Conversation) -> list[str]:
    return [item.state for item in store.messages.oldest_first(talk.id, excluded=True)]


def test_turns_are_numbered_from_one(store: Store, talk: Conversation) -> None:
    first = store.turns.start(talk.id)
    store.turns.close(talk.id, first.id, "done")
    second = store.turns.start(talk.id)
    assert first == Turn(1, talk.id, first.started_at, None, "open")
    assert second == Turn(2, talk.id, second.started_at, None, "open")
    assert store.conversations.get(talk.id).turns == 2


def test_starting_a_turn_closes_the_one_a_dead_process_left_open(store: Store, talk: Conversation) -> None:
    left = store.turns.start(talk.id)
    store.messages.append(talk.id, messages(1), turn_id=left.id)
    store.turns.start(talk.id)
    closed = store.turns.get(talk.id, left.id)
    assert closed.status == "interrupted"
    assert closed.ended_at is not None
    assert _states(store, talk) == ["whole"]


def test_starting_a_turn_of_no_conversation_is_refused(store: Store) -> None:
    with pytest.raises(NotFound, match="no conversation has the id 'nobody'"):
        store.turns.start("nobody")


@pytest.mark.parametrize(
    ("status", "states"),
    [
        ("done", ["whole", "whole", "partial"]),
        ("interrupted", ["whole", "whole", "partial"]),
        ("failed", ["whole", "failed", "failed"]),
        ("rewound", ["whole", "rewound", "rewound"]),
    ],
)
def test_closing_a_turn_marks_its_own_messages(
    store: Store, talk: Conversation, status: TurnStatus, states: list[str]
) -> None:
    store.messages.append(talk.id, [message("before")])
    turn = store.turns.start(talk.id)
    store.messages.append(talk.id, [message("hi"), message("hel", "ai", state="partial")], turn_id=turn.id)
    store.turns.close(talk.id, turn.id, status)
    assert store.turns.get(talk.id, turn.id).status == status
    assert _states(store, talk) == states


def test_a_reopened_turn_counts_its_user_messages_again_and_not_the_attempt(store: Store, talk: Conversation) -> None:
    turn = store.turns.start(talk.id)
    store.messages.append(talk.id, [message("hi"), message("oops", "ai")], turn_id=turn.id)
    store.turns.close(talk.id, turn.id, "failed")
    store.turns.reopen(talk.id, turn.id)
    assert store.turns.get(talk.id, turn.id) == turn
    assert _states(store, talk) == ["whole", "failed"]


@pytest.mark.parametrize("turn_id", [0, 2, -1, 10**30])
def test_a_turn_that_is_not_there_is_refused(store: Store, talk: Conversation, turn_id: int) -> None:
    store.turns.start(talk.id)
    with pytest.raises(NotFound, match=f"no turn {turn_id}"):
        store.turns.get(talk.id, turn_id)
    with pytest.raises(NotFound):
        store.turns.close(talk.id, turn_id, "done")
    with pytest.raises(NotFound):
        store.turns.reopen(talk.id, turn_id)


def test_the_last_turn_may_leave_out_rewound_ones(store: Store, talk: Conversation) -> None:
    assert store.turns.last(talk.id) is None
    for status in ("done", "rewound", "rewound"):
        turn = store.turns.start(talk.id)
        store.turns.close(talk.id, turn.id, status)
    assert store.turns.last(talk.id) == store.turns.get(talk.id, 3)
    assert store.turns.last(talk.id, counted=True) == store.turns.get(talk.id, 1)


def test_the_newest_turns_come_first_and_only_those_taken_are_read(store: Store, talk: Conversation) -> None:
    for _ in range(20):
        store.turns.start(talk.id)
    before = store.rows_read
    taken = list(islice(store.turns.newest_first(talk.id), 3))
    assert [turn.id for turn in taken] == [20, 19, 18]
    assert store.rows_read - before == 3


def test_messages_are_stored_in_the_turns_they_make_up(store: Store, talk: Conversation) -> None:
    said, asked, got, told = message("hi"), message("", "ai"), message("7", "tool"), message("seven", "ai")
    store.turns.record(talk.id, [(said, "opens"), (asked, "within"), (got, "within"), (told, "closes")])
    store.turns.record(talk.id, [(message("and now?"), "opens")])
    kept = list(store.messages.oldest_first(talk.id))
    assert [(item.id, item.turn_id, item.text) for item in kept] == [
        (1, 1, "hi"), (2, 1, ""), (3, 1, "7"), (4, 1, "seven"), (5, 2, "and now?"),
    ]  # fmt: skip
    assert [turn.status for turn in store.turns.newest_first(talk.id)] == ["open", "done"]
    counted = store.conversations.get(talk.id)
    assert (counted.last_message_id, counted.turns, counted.tokens) == (5, 2, sum(item.tokens for item in kept))
    assert store.check() == []


def test_a_turn_that_opens_closes_the_one_before_it(store: Store, talk: Conversation) -> None:
    store.turns.record(talk.id, [(message("hi"), "opens")])
    store.turns.record(talk.id, [(message("hello?"), "opens")])
    assert [turn.status for turn in store.turns.newest_first(talk.id)] == ["open", "done"]


@pytest.mark.parametrize("status", ["failed", "rewound", "interrupted"])
def test_what_follows_a_turn_that_did_not_end_well_is_a_turn_of_its_own(
    store: Store, talk: Conversation, status: TurnStatus
) -> None:
    turn = store.turns.start(talk.id)
    store.turns.close(talk.id, turn.id, status)
    store.turns.record(talk.id, [(message("late", "ai"), "closes")])
    assert [(item.turn_id, item.text) for item in store.messages.oldest_first(talk.id)] == [(2, "late")]
    assert store.conversations.get(talk.id).turns == 2


def test_fault_18_a_recorded_retry_adds_nothing_and_opens_nothing(store: Store, talk: Conversation) -> None:
    once = [(message("hi", uid="u1"), "opens"), (message("hello", "ai", uid="u2"), "closes")]
    store.turns.record(talk.id, once)  # type: ignore[arg-type]
    before = store.conversations.get(talk.id)
    store.turns.record(talk.id, once)  # type: ignore[arg-type]
    after = store.conversations.get(talk.id)
    assert (after.last_message_id, after.turns, after.tokens) == (2, 1, before.tokens)
    assert store.check() == []


def test_fault_18_a_retry_behind_a_turn_that_failed_adds_nothing_and_is_no_change(
    store: Store, talk: Conversation
) -> None:
    late = [(message("late", "ai", uid="u1"), "closes")]
    store.turns.record(talk.id, late)  # type: ignore[arg-type]
    store.turns.close(talk.id, store.turns.start(talk.id).id, "failed")
    before = store.conversations.get(talk.id)
    store.turns.record(talk.id, late)  # type: ignore[arg-type]
    assert store.conversations.get(talk.id) == before


def test_fault_18_another_message_under_a_recorded_uid_is_kept(store: Store, talk: Conversation) -> None:
    for text in ("hi", "ho", "ha"):
        store.turns.record(talk.id, [(message(text, uid="u1"), "opens")])
    kept = list(store.messages.oldest_first(talk.id))
    assert [(item.uid, item.text) for item in kept] == [("u1", "hi"), ("u1~2", "ho"), ("u1~3", "ha")]


def test_recording_for_no_conversation_is_refused(store: Store) -> None:
    with pytest.raises(NotFound, match="no conversation has the id 'nobody'"):
        store.turns.record("nobody", [(message("hi"), "opens")])
