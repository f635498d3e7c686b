"""PersistentChatHistory: what it stores, in which order it comes back, and what a retry or a crash does to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from memcli.agent.history import PersistentChatHistory, interleaved
from memcli.errors import NotFound
from memcli.records import Turn
from memcli.store import Store
from tests.histories import asking, exchange, histories, opened


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("store")) as store:
        yield store


@pytest.fixture
def history(store: Store) -> PersistentChatHistory:
    return PersistentChatHistory(store, store.conversations.create().id)


def turns(history: PersistentChatHistory) -> list[Turn]:
    return list(history.store.turns.newest_first(history.conversation_id))[::-1]


def result(id: str, text: str = "found") -> ToolMessage:
    return ToolMessage(text, tool_call_id=id, name="look")


def test_a_conversation_that_does_not_exist_is_begun(store: Store) -> None:
    history = PersistentChatHistory(store, "made-up-id")
    assert (history.messages, history.last_message_id) == ([], None)
    assert store.conversations.get("made-up-id").last_message_id == 0


def test_parallel_calls_are_followed_by_their_results_in_call_order(history: PersistentChatHistory) -> None:
    ask = asking("a", "b", text="both at once")
    history.add_messages([HumanMessage("go"), ask, result("b", "B"), result("a", "A"), AIMessage("done")])
    assert history.messages == [HumanMessage("go"), ask, result("a", "A"), result("b", "B"), AIMessage("done")]


def test_results_that_land_one_by_one_are_put_behind_their_call_when_read(history: PersistentChatHistory) -> None:
    ask = asking("a", "b")
    for message in (HumanMessage("go"), ask, result("b", "B"), result("a", "A")):
        history.add_message(message)
    assert history.messages == [HumanMessage("go"), ask, result("a", "A"), result("b", "B")]


@settings(max_examples=300, deadline=None)
@given(said=histories, sizes=st.lists(st.integers(1, 4), max_size=6))
def test_however_a_history_arrives_nothing_is_lost_and_the_order_is_that_of_interleaving(
    store: Store, said: list[BaseMessage], sizes: list[int]
) -> None:
    history = PersistentChatHistory(store, store.conversations.create().id)
    at = 0
    for size in [*sizes, len(said)]:
        history.add_messages(said[at : at + size])
        at += size
    back = history.messages
    assert sorted(map(repr, back)) == sorted(map(repr, said))
    assert interleaved(back) == back


@settings(max_examples=300, deadline=None)
@given(said=histories)
def test_a_history_stored_message_by_message_is_read_as_interleaving_would_put_it(
    store: Store, said: list[BaseMessage]
) -> None:
    history = PersistentChatHistory(store, store.conversations.create().id)
    for message in said:
        history.add_message(message)
    assert history.messages == interleaved(said)


def test_a_result_without_a_call_and_a_second_result_are_kept(history: PersistentChatHistory) -> None:
    said = [HumanMessage("go"), asking("a"), result("a", "first"), result("a", "second"), result("z", "stray")]
    history.add_messages(said)
    assert history.messages == said


def test_messages_after_an_id_are_those_with_a_larger_one(history: PersistentChatHistory) -> None:
    said = [*exchange(1), *exchange(2)]
    history.add_messages(said)
    assert history.messages_after(None) == said
    assert history.messages_after(2) == said[2:]
    assert history.messages_after(4) == []
    assert history.last_message_id == 4


def test_fault_18_order_is_by_id_whatever_the_clock_says(store: Store, history: PersistentChatHistory) -> None:
    from dataclasses import replace
    from datetime import UTC, datetime

    from memcli.agent.codec import encode

    said = exchange(1) + exchange(2)
    moments = [datetime(2030, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC)] * 2
    rows = [replace(encode(item), created_at=moment) for item, moment in zip(said, moments, strict=True)]
    store.messages.append(history.conversation_id, rows)
    assert history.messages == said


def test_fault_18_the_same_message_again_is_one_row(history: PersistentChatHistory) -> None:
    said = [HumanMessage("go", id="h1"), AIMessage("done", id="a1")]
    history.add_messages(said)
    history.add_messages(said)
    assert history.messages == said


def test_fault_18_another_message_under_a_used_id_is_kept(history: PersistentChatHistory) -> None:
    history.add_messages([HumanMessage("one", id="same")])
    history.add_messages([HumanMessage("two", id="same")])
    history.add_messages([HumanMessage("two", id="same")])
    assert history.messages == [HumanMessage("one", id="same"), HumanMessage("two", id="same")]


def test_a_human_message_begins_a_turn_and_an_answer_without_calls_ends_it(history: PersistentChatHistory) -> None:
    history.add_messages([*exchange(1), HumanMessage("two"), asking("a"), result("a")])
    assert [turn.status for turn in turns(history)] == ["done", "open"]
    history.add_messages([AIMessage("done")])
    assert [turn.status for turn in turns(history)] == ["done", "done"]


def test_what_stands_before_the_first_human_message_is_a_turn_of_its_own(history: PersistentChatHistory) -> None:
    history.add_messages([SystemMessage("be brief"), *exchange(1)])
    assert [turn.status for turn in turns(history)] == ["done", "done"]


def test_messages_of_failed_and_rewound_turns_are_left_out(history: PersistentChatHistory) -> None:
    for number in (1, 2, 3):
        history.add_messages(exchange(number))
    history.store.turns.close(history.conversation_id, 1, "failed")
    history.store.turns.close(history.conversation_id, 3, "rewound")
    assert history.messages == exchange(2)
    assert history.last_message_id == 6


def test_clearing_takes_summaries_and_cursors_along(store: Store, history: PersistentChatHistory) -> None:
    from memcli.memory.context import Policy
    from memcli.memory.running import settle
    from memcli.memory.summarizer import ExtractiveSummarizer

    history.add_messages([message for number in range(12) for message in exchange(number)])
    conversation = store.conversations.get(history.conversation_id)
    assert settle(store, conversation, Policy(), ExtractiveSummarizer()).status == "compacted"
    history.clear()
    assert (history.messages, history.last_message_id) == ([], None)
    assert store.summaries.head(history.conversation_id, "running") is None
    history.add_messages(exchange(1))
    assert (history.messages, history.last_message_id) == (exchange(1), 2)


def test_messages_are_stored_all_or_none(history: PersistentChatHistory) -> None:
    class Unreadable(Sequence[BaseMessage]):
        def __len__(self) -> int:
            return 1

        def __getitem__(self, index: object) -> BaseMessage:  # type: ignore[override]
            raise KeyboardInterrupt

    history.add_messages(exchange(1))
    with pytest.raises(KeyboardInterrupt):
        history.add_messages(Unreadable())
    history.store.conversations.clear(history.conversation_id)
    orphan = PersistentChatHistory(history.store, history.conversation_id)
    orphan.conversation_id = "nobody"
    with pytest.raises(NotFound):
        orphan.add_messages(exchange(1))
    assert history.store.check() == []


def test_a_lone_surrogate_and_a_nul_are_stored(history: PersistentChatHistory) -> None:
    history.add_messages([HumanMessage("a\0b\ud800")])
    assert history.messages == [HumanMessage("a\0b\ud800")]
