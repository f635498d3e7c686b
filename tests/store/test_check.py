"""What doctor reports of a store, and what it mends."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from memcli.errors import StoreCorrupt
from memcli.records import Conversation, Problem
from memcli.store import Store
from tests.store.samples import messages, summary


def _spoil(path: Path, *statements: str) -> None:
    with sqlite3.connect(path, isolation_level=None) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_an_empty_store_and_a_used_one_are_sound(store: Store, talk: Conversation) -> None:
    assert store.check() == []
    turn = store.turns.start(talk.id)
    store.messages.append(talk.id, messages(3), turn_id=turn.id)
    store.summaries.commit(talk.id, summary(2), expected_head=None)
    store.search("message")
    store.conversations.fork(talk.id, at=2)
    assert store.check() == []


def test_wrong_counters_are_named_and_counted_again(store: Store, store_file: Path, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(3))
    sound = store.conversations.get(talk.id)
    _spoil(store_file, "update conversations set last_message_id = 9, tokens = 0, turns = 4")
    [problem] = store.check()
    assert problem == Problem("counters", "its counters disagree with its rows", "count again", talk.id)
    store.check.mend(problem)
    assert store.conversations.get(talk.id) == sound
    assert store.check() == []


def test_a_gap_in_the_ids_is_named_and_left_to_a_person(store: Store, store_file: Path, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(3))
    _spoil(store_file, "delete from messages where id = 2", "update conversations set tokens = 18")
    [problem] = store.check()
    assert problem == Problem("ids", "2 messages are numbered up to #3", conversation_id=talk.id)
    store.check.mend(problem)
    assert store.check() == [problem]


@pytest.mark.parametrize(
    "damage",
    [
        ("update conversations set indexed = 1",),
        ("update conversations set indexed = 3",),
        ("delete from messages_text_data where id > 1",),
        ("update messages_text_data set block = x'00' where id > 10",),
        ("update messages_text_data set block = x'00' where id = 10",),
    ],
    ids=["mark too low", "mark too high", "rows gone", "rows spoilt", "root spoilt"],
)
def test_a_wrong_search_index_is_named_and_built_again(
    store: Store, store_file: Path, talk: Conversation, damage: tuple[str, ...]
) -> None:
    store.messages.append(talk.id, messages(2))
    if "indexed = 3" not in damage[0]:
        store.search.index()
    store.messages.append(talk.id, messages(1))
    _spoil(store_file, *damage)
    problems = store.check()
    assert [(problem.where, problem.fix) for problem in problems] == [("search", "build it again")]
    store.check.mend(problems[0])
    assert store.check() == []
    assert len(store.search("message")) == 3


def test_a_head_that_points_beyond_the_log_is_named_and_dropped(
    store: Store, store_file: Path, talk: Conversation
) -> None:
    store.messages.append(talk.id, messages(3))
    store.summaries.commit(talk.id, summary(2), expected_head=None)
    _spoil(store_file, "update summaries set last_message_id = 9")
    [problem] = store.check()
    assert (problem.where, problem.conversation_id) == ("head", talk.id)
    assert problem.what == "the running summary in force, s1, covers messages that are not there"
    store.check.mend(problem)
    assert store.summaries.head(talk.id, "running") is None
    assert len(store.summaries.list(talk.id)) == 1
    assert store.check() == []


def test_a_row_that_refers_to_nothing_is_the_files_own_problem(
    store: Store, store_file: Path, talk: Conversation
) -> None:
    store.messages.append(talk.id, messages(3))
    _spoil(store_file, "update messages set turn_id = 5 where id = 2")
    assert store.check() == [Problem("file", "a row of messages refers to a row of turns that is not there")]


def test_a_store_that_can_only_be_read_is_checked_too(store: Store, other: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(3))
    with other.transaction():
        assert store.check() == []


def test_a_search_through_a_damaged_index_says_what_mends_it(
    store: Store, store_file: Path, talk: Conversation
) -> None:
    store.messages.append(talk.id, messages(2))
    store.search.index()
    _spoil(store_file, "update messages_text_data set block = x'00' where id > 10")
    with pytest.raises(StoreCorrupt) as caught:
        store.search("message")
    assert caught.value.hint == "run `memcli doctor --fix`: the search index can be built again"
