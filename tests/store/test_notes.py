"""Plans and pins."""

from __future__ import annotations

import pytest

from memcli.errors import NotFound
from memcli.records import Conversation
from memcli.store import Store
from tests.store.samples import messages


def test_the_newest_version_of_a_plan_is_current(store: Store, talk: Conversation) -> None:
    assert store.plans.current(talk.id) is None
    first = store.plans.save(talk.id, "1. ask")
    second = store.plans.save(talk.id, "1. ask\n2. book")
    assert store.plans.current(talk.id) == second
    assert store.plans.list(talk.id) == [second, first]
    assert store.plans.list(talk.id, limit=1) == [second]


def test_an_empty_text_ends_the_plan_and_keeps_its_versions(store: Store, talk: Conversation) -> None:
    store.plans.save(talk.id, "1. ask")
    store.plans.save(talk.id, "")
    assert store.plans.current(talk.id) is None
    assert [plan.text for plan in store.plans.list(talk.id)] == ["", "1. ask"]


def test_a_plan_is_returned_as_it_is_stored(store: Store, talk: Conversation) -> None:
    assert store.plans.save(talk.id, "a\0\udcff") == store.plans.current(talk.id)


def test_a_plan_of_no_conversation_is_refused(store: Store) -> None:
    with pytest.raises(NotFound):
        store.plans.save("nobody", "x")


def test_pinning_twice_is_once_and_pins_come_in_order(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(3))
    for id in (3, 1, 3):
        store.pins.add(talk.id, id)
    assert store.pins.list(talk.id) == [1, 3]


def test_unpinning_says_whether_it_was_pinned(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(1))
    store.pins.add(talk.id, 1)
    assert store.pins.remove(talk.id, 1) is True
    assert store.pins.remove(talk.id, 1) is False
    assert store.pins.list(talk.id) == []


@pytest.mark.parametrize("id", [0, 2, 10**30])
def test_a_message_that_is_not_there_cannot_be_pinned(store: Store, talk: Conversation, id: int) -> None:
    store.messages.append(talk.id, messages(1))
    with pytest.raises(NotFound, match=f"no message #{id}"):
        store.pins.add(talk.id, id)
