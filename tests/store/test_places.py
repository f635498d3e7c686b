"""A conversation's messages lie together: no id, however absurd, reaches a neighbour. Partly SQLite-specific."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from memcli.records import Conversation, Problem
from memcli.store import Store
from tests.store.samples import message, messages


@pytest.fixture
def between(store: Store, talk: Conversation) -> str:
    """Give a conversation that lies between two others."""
    mine = store.conversations.create()
    after = store.conversations.create()
    for id in (talk.id, mine.id, after.id):
        store.messages.append(id, [message(f"{id} {number}") for number in (1, 2)])
    return mine.id


@pytest.mark.parametrize(("low", "high"), [(1, 2), (0, 3), (-5, 10**30), (-(10**30), 2**32), (1, 2**63)])
def test_no_bound_reaches_into_a_neighbour(store: Store, between: str, low: int, high: int) -> None:
    wanted = [f"{between} 1", f"{between} 2"]
    assert [item.text for item in store.messages.newest_first(between, down_to=low, up_to=high)] == wanted[::-1]
    assert [item.text for item in store.messages.oldest_first(between, after=low - 1, up_to=high)] == wanted
    assert store.messages.token_sum(between, [(low, high)]) == sum(len(text) for text in wanted)
    assert store.messages.humans_after(between, low - 1, at_most=9, up_to=high) == 2
    assert store.messages.excluded_ids(between, up_to=high) == []


def test_marking_and_clearing_touch_one_conversation_alone(store: Store, between: str, talk: Conversation) -> None:
    store.messages.mark(between, [-1, 0, 2, 3, 2**32, 2**32 + 1], "failed")
    assert store.messages.excluded_ids(between, up_to=2**63) == [2]
    store.conversations.clear(between)
    assert list(store.messages.newest_first(between)) == []
    assert [item.state for item in store.messages.newest_first(talk.id)] == ["whole", "whole"]
    assert store.check() == []


def test_a_message_without_a_uid_is_named_by_its_id_in_a_fork_too(store: Store, talk: Conversation) -> None:
    stored = store.messages.append(talk.id, [message("a"), message("b", uid="u"), message("c", uid="")])
    child = store.conversations.fork(talk.id)
    assert [item.uid for item in stored] == ["#1", "u", "#3"]
    for id in (talk.id, child.id):
        assert [item.uid for item in store.messages.oldest_first(id)] == ["#1", "u", "#3"]


def test_a_conversation_that_is_deleted_by_hand_takes_its_messages_along(
    store: Store, store_file: Path, talk: Conversation
) -> None:
    other = store.conversations.create()
    for id in (talk.id, other.id):
        store.messages.append(id, messages(2))
    store.search.index()
    connection = sqlite3.connect(store_file)
    connection.execute("pragma foreign_keys = on")
    with connection:
        connection.execute("delete from conversations where id = ?", (talk.id,))
    connection.close()
    assert list(store.messages.newest_first(talk.id)) == []
    assert [hit.conversation_id for hit in store.search("message")] == [other.id] * 2
    assert store.check() == []


def test_a_row_in_the_wrong_place_is_the_files_own_problem(store: Store, store_file: Path, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(2))
    connection = sqlite3.connect(store_file)
    with connection:
        connection.execute("update messages set place = place + 7 where id = 2")
    connection.close()
    assert store.check() == [Problem("file", "a row of messages is not where its conversation and id say")]


def test_a_turn_opened_again_behind_a_rewound_one_is_still_found_when_its_process_died(
    store: Store, talk: Conversation
) -> None:
    first = store.turns.start(talk.id)
    store.turns.close(talk.id, first.id, "failed")
    second = store.turns.start(talk.id)
    store.turns.close(talk.id, second.id, "rewound")
    store.turns.reopen(talk.id, first.id)
    store.turns.start(talk.id)
    assert [turn.status for turn in store.turns.newest_first(talk.id)] == ["open", "rewound", "interrupted"]


def test_only_the_conversation_that_was_asked_for_is_indexed(store: Store, talk: Conversation) -> None:
    other = store.conversations.create()
    for id in (talk.id, other.id):
        store.messages.append(id, messages(3))
    assert store.search.index(talk.id) == 3
    assert store.search.index(talk.id) == 0
    assert store.search.index() == 3
    assert store.search.index("nobody") == 0
