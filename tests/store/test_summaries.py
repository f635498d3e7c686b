"""Summaries: commit against the head that was seen, read back, undo."""

from __future__ import annotations

import threading
from dataclasses import asdict

import pytest

from memcli.errors import HeadMoved, MemcliError, NotFound
from memcli.records import Conversation, Summary
from memcli.store import Store
from tests.store.samples import message, messages, summary


def test_a_committed_summary_is_in_force_and_as_it_was_made(store: Store, talk: Conversation) -> None:
    new = summary(4)
    stored = store.summaries.commit(talk.id, new, expected_head=None)
    assert stored == Summary(
        **{name: getattr(new, name) for name in asdict(new)},
        id=1, conversation_id=talk.id, created_at=stored.created_at, in_force=True,
    )  # fmt: skip
    assert store.summaries.head(talk.id, "running") == store.summaries.get(talk.id, 1) == stored


def test_there_is_no_head_before_the_first_commit(store: Store, talk: Conversation) -> None:
    assert store.summaries.head(talk.id, "running") is None
    assert store.summaries.list(talk.id) == []


def test_each_kind_has_a_head_of_its_own(store: Store, talk: Conversation) -> None:
    running = store.summaries.commit(talk.id, summary(2), expected_head=None)
    folded = store.summaries.commit(talk.id, summary(2, kind="compaction"), expected_head=None)
    assert store.summaries.head(talk.id, "running") == running
    assert store.summaries.head(talk.id, "compaction") == folded
    assert store.summaries.list(talk.id, kind="compaction") == [folded]
    assert store.summaries.list(talk.id) == [running, folded]


def test_a_summary_that_is_only_added_is_not_in_force(store: Store, talk: Conversation) -> None:
    added = store.summaries.add(talk.id, summary(2))
    assert added.in_force is False
    assert store.summaries.head(talk.id, "running") is None
    assert store.summaries.list(talk.id) == [added]


def test_undo_moves_the_head_and_deletes_nothing(store: Store, talk: Conversation) -> None:
    store.summaries.commit(talk.id, summary(2), expected_head=None)
    store.summaries.commit(talk.id, summary(4, parent=1), expected_head=1)
    store.summaries.move_head(talk.id, "running", 1, expected_head=2)
    assert [(item.id, item.in_force) for item in store.summaries.list(talk.id)] == [(1, True), (2, False)]
    store.summaries.move_head(talk.id, "running", None, expected_head=1)
    assert store.summaries.head(talk.id, "running") is None
    assert len(store.summaries.list(talk.id)) == 2


@pytest.mark.parametrize("id", [3, 0, -1, 10**30])
def test_a_summary_that_is_not_there_cannot_be_read_or_put_in_force(store: Store, talk: Conversation, id: int) -> None:
    store.summaries.commit(talk.id, summary(2), expected_head=None)
    with pytest.raises(NotFound, match=f"no summary s{id}"):
        store.summaries.get(talk.id, id)
    with pytest.raises(NotFound):
        store.summaries.move_head(talk.id, "running", id, expected_head=1)
    assert store.summaries.head(talk.id, "running") == store.summaries.get(talk.id, 1)


def test_a_summary_of_another_kind_cannot_be_put_in_force(store: Store, talk: Conversation) -> None:
    store.summaries.add(talk.id, summary(2, kind="compaction"))
    with pytest.raises(NotFound, match="s1 is not a running summary"):
        store.summaries.move_head(talk.id, "running", 1, expected_head=None)


def test_a_summary_of_no_conversation_is_refused(store: Store) -> None:
    with pytest.raises(NotFound):
        store.summaries.commit("nobody", summary(2), expected_head=None)


def test_a_summary_is_found_by_what_it_was_made_from(store: Store, talk: Conversation) -> None:
    store.summaries.add(talk.id, summary(2, input_hash="same"))
    newer = store.summaries.add(talk.id, summary(2, input_hash="same"))
    assert store.summaries.by_input(talk.id, "same") == newer
    assert store.summaries.by_input(talk.id, "other") is None


@pytest.mark.parametrize("seen", [None, 7])
def test_fault_11_a_commit_that_saw_another_head_stores_nothing(
    store: Store, talk: Conversation, seen: int | None
) -> None:
    first = store.summaries.commit(talk.id, summary(2), expected_head=None)
    with pytest.raises(HeadMoved):
        store.summaries.commit(talk.id, summary(4), expected_head=seen)
    with pytest.raises(HeadMoved):
        store.summaries.move_head(talk.id, "running", None, expected_head=seen)
    assert store.summaries.list(talk.id) == [first]


def test_fault_11_one_of_two_compactions_wins_and_what_was_appended_meanwhile_survives(
    store: Store, other: Store, talk: Conversation
) -> None:
    store.messages.append(talk.id, messages(4))
    seen_here, seen_there = store.summaries.head(talk.id, "running"), other.summaries.head(talk.id, "running")
    assert (seen_here, seen_there) == (None, None)
    other.messages.append(talk.id, [message("while the summarizer ran")])
    won = store.summaries.commit(talk.id, summary(4, text="here"), expected_head=None)
    with pytest.raises(HeadMoved):
        other.summaries.commit(talk.id, summary(4, text="there"), expected_head=None)
    other.messages.append(talk.id, [message("and after it")])
    assert store.summaries.list(talk.id) == [won]
    assert [item.id for item in store.messages.oldest_first(talk.id, after=4)] == [5, 6]
    assert store.check() == []


def test_fault_11_of_many_compactions_at_once_exactly_one_wins(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(4))
    gate = threading.Barrier(6)
    outcomes: list[str] = []

    def compact(number: int) -> None:
        gate.wait()
        try:
            store.summaries.commit(talk.id, summary(4, text=str(number)), expected_head=None)
            store.messages.append(talk.id, [message(f"by {number}")])
            outcomes.append("won")
        except MemcliError as err:
            outcomes.append(type(err).__name__)

    threads = [threading.Thread(target=compact, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["HeadMoved"] * 5 + ["won"]
    assert len(store.summaries.list(talk.id)) == 1
    assert store.messages.last_id(talk.id) == 5


def test_the_head_is_one_row_however_many_summaries_there_are(store: Store, talk: Conversation) -> None:
    for number in range(1, 40):
        store.summaries.commit(talk.id, summary(number, parent=number - 1 or None), expected_head=number - 1 or None)
    before = store.rows_read
    assert store.summaries.head(talk.id, "running") is not None
    assert store.rows_read - before == 1
