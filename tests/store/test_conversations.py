"""Conversations: create, find, list, change, clear, fork."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import AmbiguousName, NotFound, UsageError
from memcli.records import Conversation
from memcli.store import Store
from tests.store.samples import message, messages, summary

THEN = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def test_a_new_conversation_has_what_it_was_given(store: Store) -> None:
    made = store.conversations.create(
        id="one", name="work", model="llama3.2", system_prompt="Be {brief}", memory="turns",
        settings={"max_tokens": 500}, source="openai:1", created_at=THEN,
    )  # fmt: skip
    assert made == Conversation(
        id="one", name="work", model="llama3.2", system_prompt="Be {brief}", memory="turns",
        settings={"max_tokens": 500}, parent_id=None, forked_at=None, source="openai:1", created_at=THEN,
        updated_at=THEN, last_message_id=0, turns=0, tokens=0,
    )  # fmt: skip
    assert store.conversations.get("one") == made


def test_a_conversation_without_an_id_gets_one_of_its_own(store: Store) -> None:
    first, second = store.conversations.create(), store.conversations.create()
    assert first.id != second.id
    assert len(first.id) == 32


def test_a_taken_id_is_refused(store: Store) -> None:
    store.conversations.create(id="one")
    with pytest.raises(UsageError, match="'one' is already there"):
        store.conversations.create(id="one")


def test_a_taken_source_is_refused(store: Store) -> None:
    store.conversations.create(source="openai:1")
    with pytest.raises(UsageError):
        store.conversations.create(source="openai:1")


def test_a_conversation_is_found_by_its_source(store: Store) -> None:
    made = store.conversations.create(source="openai:1")
    assert store.conversations.by_source("openai:1") == made
    assert store.conversations.by_source("openai:2") is None


def test_get_refuses_a_prefix(store: Store, talk: Conversation) -> None:
    with pytest.raises(NotFound, match="no conversation has the id"):
        store.conversations.get(talk.id[:8])


@pytest.mark.parametrize("reference", ["abc123", "abc", "ABC1", "work"])
def test_find_takes_an_id_a_prefix_in_any_case_and_a_name(store: Store, reference: str) -> None:
    made = store.conversations.create(id="abc123", name="work")
    store.conversations.create(id="fff000", name="home")
    assert store.conversations.find(reference) == made


def test_find_takes_a_prefix_of_an_id_that_is_no_number(store: Store) -> None:
    made = store.conversations.create(id="user-7:main")
    store.conversations.create(id="user-8:main")
    assert store.conversations.find("user-7") == made


def test_an_id_wins_over_a_name_and_a_name_over_a_prefix(store: Store) -> None:
    by_id = store.conversations.create(id="abc", name="other")
    store.conversations.create(id="xyz", name="abc")
    by_name = store.conversations.create(id="zzz", name="ab")
    assert store.conversations.find("abc") == by_id
    assert store.conversations.find("ab") == by_name


def test_an_ambiguous_reference_lists_candidates_that_can_be_told_apart(store: Store) -> None:
    store.conversations.create(id="airline-task-001")
    store.conversations.create(id="airline-task-002", name="refund")
    with pytest.raises(AmbiguousName, match="'airline' fits 2 conversations") as caught:
        store.conversations.find("airline")
    assert caught.value.hint == "use one of airline-task-002 (refund), airline-task-001"


def test_an_ambiguous_reference_names_at_most_eight(store: Store) -> None:
    for number in range(10):
        store.conversations.create(id=f"c{number}", name="same")
    with pytest.raises(AmbiguousName) as caught:
        store.conversations.find("same")
    assert caught.value.hint is not None
    assert caught.value.hint.endswith("c2 (same) and 2 more")


def test_a_reference_that_fits_nothing_suggests_the_closest_name(store: Store) -> None:
    store.conversations.create(name="work")
    with pytest.raises(NotFound, match="no conversation matches 'wrok'") as caught:
        store.conversations.find("wrok")
    assert caught.value.hint == "did you mean 'work'? run `memcli history` to list conversations"


@pytest.mark.parametrize("reference", ["", "%", "_", "\udcff", "\0", "x" * 10_000, "'; drop table messages"])
def test_an_odd_reference_is_not_found(store: Store, talk: Conversation, reference: str) -> None:
    with pytest.raises(NotFound):
        store.conversations.find(reference)


def test_last_is_the_conversation_that_changed_last(store: Store) -> None:
    first, second = store.conversations.create(), store.conversations.create()
    assert store.conversations.find("last").id == second.id
    store.messages.append(first.id, [message("hello")])
    assert store.conversations.find().id == first.id


def test_last_is_right_when_the_clock_goes_back(store: Store) -> None:
    store.conversations.create(created_at=datetime(2100, 1, 1, tzinfo=UTC))
    newer = store.conversations.create()
    assert store.conversations.find("last").id == newer.id


def test_there_is_no_last_in_an_empty_store(store: Store) -> None:
    with pytest.raises(NotFound, match="no conversations yet"):
        store.conversations.find("last")


def test_list_gives_the_last_changed_first(store: Store) -> None:
    ids = [store.conversations.create().id for _ in range(3)]
    store.conversations.rename(ids[0], "moved up")
    assert [item.id for item in store.conversations.list()] == [ids[0], ids[2], ids[1]]
    assert [item.id for item in store.conversations.list(limit=2)] == [ids[0], ids[2]]


def test_list_can_be_narrowed_by_time_and_parent(store: Store) -> None:
    old = store.conversations.create(created_at=THEN)
    new = store.conversations.create(created_at=THEN + timedelta(days=2))
    child = store.conversations.fork(old.id)
    assert [item.id for item in store.conversations.list(since=THEN + timedelta(days=1))] == [child.id, new.id]
    assert [item.id for item in store.conversations.list(parent_id=old.id)] == [child.id]


def test_list_is_empty_in_an_empty_store(store: Store) -> None:
    assert store.conversations.list() == []


def test_each_field_can_be_changed_and_nothing_else_changes(store: Store, talk: Conversation) -> None:
    store.conversations.rename(talk.id, "renamed")
    store.conversations.set_model(talk.id, "qwen3:4b")
    store.conversations.set_system_prompt(talk.id, "Be kind")
    store.conversations.set_memory(talk.id, "turns")
    store.conversations.set_settings(talk.id, {"max_tokens": 300})
    changed = store.conversations.get(talk.id)
    assert changed == replace(
        talk, name="renamed", model="qwen3:4b", system_prompt="Be kind", memory="turns",
        settings={"max_tokens": 300}, updated_at=changed.updated_at,
    )  # fmt: skip


def test_a_name_can_be_taken_away(store: Store, talk: Conversation) -> None:
    store.conversations.rename(talk.id, None)
    assert store.conversations.get(talk.id).name is None


def test_changing_a_conversation_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(NotFound):
        store.conversations.rename("nobody", "x")


def test_a_name_with_a_lone_surrogate_and_a_nul_is_kept_visibly(store: Store) -> None:
    made = store.conversations.create(name="a\udcffb\0c")
    assert store.conversations.get(made.id).name == "a\\udcffb\u2400c"


def test_clear_leaves_an_empty_conversation_whose_ids_start_again(store: Store, talk: Conversation) -> None:
    turn = store.turns.start(talk.id)
    store.messages.append(talk.id, messages(3), turn_id=turn.id)
    store.summaries.commit(talk.id, summary(2), expected_head=None)
    store.pins.add(talk.id, 1)
    store.plans.save(talk.id, "a plan")
    store.conversations.clear(talk.id)
    cleared = store.conversations.get(talk.id)
    assert cleared == replace(talk, updated_at=cleared.updated_at)
    assert store.summaries.list(talk.id) == []
    assert store.summaries.head(talk.id, "running") is None
    assert store.pins.list(talk.id) == []
    assert store.plans.list(talk.id) == []
    assert [item.id for item in store.messages.append(talk.id, messages(1))] == [1]
    assert store.check() == []


def test_clear_forgets_nothing_of_another_conversation(store: Store, talk: Conversation) -> None:
    neighbour = store.conversations.create()
    store.messages.append(neighbour.id, messages(2))
    store.messages.append(talk.id, messages(2))
    store.search("message")
    store.conversations.clear(talk.id)
    store.messages.append(talk.id, [message("a word anew")])
    assert [hit.conversation_id for hit in store.search("anew")] == [talk.id]
    assert [(hit.conversation_id, hit.message_id) for hit in store.search("message")] == [
        (neighbour.id, 2),
        (neighbour.id, 1),
    ]
    assert store.check() == []


@given(length=st.integers(0, 12), data=st.data())
def test_a_fork_equals_the_prefix_of_its_parent(store: Store, length: int, data: st.DataObject) -> None:
    parent = store.conversations.create()
    for new in messages(length):
        store.messages.append(parent.id, [new], turn_id=store.turns.start(parent.id).id)
    at = data.draw(st.integers(0, length))
    child = store.conversations.fork(parent.id, at=at)
    copied = list(store.messages.oldest_first(child.id, excluded=True))
    assert [replace(item, conversation_id=parent.id) for item in copied] == list(
        store.messages.oldest_first(parent.id, up_to=at, excluded=True)
    )
    assert (child.parent_id, child.forked_at, child.last_message_id, child.turns) == (parent.id, at, at, at)
    assert child.tokens == sum(item.tokens for item in copied)
    assert store.conversations.get(parent.id).last_message_id == length


def test_a_fork_goes_its_own_way(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(4))
    child = store.conversations.fork(talk.id, at=2, name="branch")
    store.messages.append(child.id, [message("another way")])
    assert [item.text for item in store.messages.oldest_first(child.id)] == ["message 1", "message 2", "another way"]
    assert [item.text for item in store.messages.oldest_first(talk.id)] == [f"message {n}" for n in (1, 2, 3, 4)]
    assert store.check() == []


@pytest.mark.parametrize("at", [-1, 5, 10**30])
def test_a_fork_at_a_message_that_is_not_there_is_refused(store: Store, talk: Conversation, at: int) -> None:
    store.messages.append(talk.id, messages(4))
    with pytest.raises(NotFound, match=f"talk has no message #{at}"):
        store.conversations.fork(talk.id, at=at)
    assert len(store.conversations.list()) == 1


@pytest.mark.parametrize(("at", "head"), [(9, 3), (8, 3), (7, 2), (4, 1), (3, None)])
def test_fault_27_the_head_of_a_fork_is_the_newest_ancestor_before_the_point(
    store: Store, talk: Conversation, at: int, head: int | None
) -> None:
    store.messages.append(talk.id, messages(9))
    for number, last in enumerate((4, 6, 8), start=1):
        parent = number - 1 or None
        store.summaries.commit(talk.id, summary(last, parent=parent), expected_head=parent)
    child = store.conversations.fork(talk.id, at=at)
    found = store.summaries.head(child.id, "running")
    assert (found.id if found else None) == head
    assert store.summaries.head(talk.id, "running") == store.summaries.get(talk.id, 3)
    assert store.check() == []


def test_fault_27_an_undone_summary_is_not_the_head_of_a_fork(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(9))
    store.summaries.commit(talk.id, summary(4), expected_head=None)
    store.summaries.commit(talk.id, summary(6, parent=1), expected_head=1)
    store.summaries.move_head(talk.id, "running", 1, expected_head=2)
    child = store.conversations.fork(talk.id)
    assert store.summaries.head(child.id, "running") == replace(
        store.summaries.get(talk.id, 1), conversation_id=child.id
    )
    store.summaries.commit(child.id, summary(8, parent=1), expected_head=1)
    assert [item.id for item in store.summaries.list(child.id)] == [1, 2, 3]


def test_a_summary_whose_parent_lies_behind_the_point_is_forked_without_it(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(9))
    store.summaries.commit(talk.id, summary(8), expected_head=None)
    store.summaries.commit(talk.id, summary(4, parent=1), expected_head=1)
    child = store.conversations.fork(talk.id, at=5)
    assert store.summaries.list(child.id) == [
        replace(store.summaries.get(talk.id, 2), conversation_id=child.id, parent_id=None)
    ]


def test_a_fork_takes_plans_and_pins_along(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(4))
    store.plans.save(talk.id, "a plan")
    store.pins.add(talk.id, 1)
    store.pins.add(talk.id, 4)
    child = store.conversations.fork(talk.id, at=2)
    assert store.plans.list(child.id) == store.plans.list(talk.id)
    assert store.pins.list(child.id) == [1]


def test_finding_the_last_conversation_reads_one_row_however_many_there_are(store: Store) -> None:
    for _ in range(50):
        store.conversations.create()
    before = store.rows_read
    store.conversations.find("last")
    assert store.rows_read - before == 1
