"""The built-in compactor behind the seed design's interface, with a chat model as the summarizer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately

from memcli.agent.compactor import LLMMemoryCompactor
from memcli.agent.history import PersistentChatHistory
from memcli.agent.window_builder import ContextWindowBuilder
from memcli.errors import ModelUnreachable
from memcli.memory.context import Policy
from memcli.store import Store
from tests.agent.scripted import ScriptedChat, asks, says, scripted
from tests.histories import exchange, opened


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("store")) as store:
        yield store


def talking(
    store: Store, chat: ScriptedChat, policy: Policy | None = None
) -> tuple[PersistentChatHistory, LLMMemoryCompactor]:
    history = PersistentChatHistory(store, store.conversations.create().id)
    return history, LLMMemoryCompactor(store, history.conversation_id, chat, history, policy=policy)


def test_the_tenth_human_message_compacts_and_the_ninth_does_not(store: Store) -> None:
    chat = scripted(otherwise="The user asked questions.")
    history, compactor = talking(store, chat)
    seen = []
    for number in range(20):
        history.add_messages(exchange(number, words=4))
        compactor.compact_if_needed()
        seen.append((len(chat.script.requests), compactor.get_summary() is not None))
    assert seen == [(0, False)] * 9 + [(1, True)] * 10 + [(2, True)]


def test_the_second_compaction_sends_the_old_summary_and_only_the_new_messages(store: Store) -> None:
    chat = scripted("SUMMARY ONE of question0word0.", "SUMMARY TWO of question0word0.")
    history, compactor = talking(store, chat)
    for number in range(20):
        history.add_messages(exchange(number, words=4))
        compactor.compact_if_needed()
    first, second = (str(request[1].content) for request in chat.script.requests)
    assert [number for number in range(20) if f"question{number}word0" in first.split("<transcript")[1]] == list(
        range(10)
    )
    new = second.split("<transcript")[1]
    assert [number for number in range(20) if f"question{number}word0" in new] == list(range(10, 20))
    assert "SUMMARY ONE of question0word0." in second.split("<transcript")[0]
    assert [type(message) for message in chat.script.requests[1]] == [SystemMessage, HumanMessage]
    assert chat.script.tools == [[], []]


def test_the_cost_of_a_compaction_is_flat_from_the_first_to_the_two_hundredth(store: Store) -> None:
    summary = "The user asked questions and the assistant answered them. " * 10
    chat = scripted(otherwise=summary)
    history, compactor = talking(store, chat, Policy(max_tokens=100_000, limit_tokens=200_000))
    for compaction in range(200):
        with store.transaction():
            for number in range(10):
                history.add_messages(exchange(1000 + 10 * compaction + number, words=4))
        compactor.compact_if_needed()
    costs = [count_tokens_approximately(request) for request in chat.script.requests]
    assert len(costs) == 200
    assert costs[0] < costs[1]
    assert max(costs[1:]) <= 1.05 * min(costs[1:])


def test_the_summary_reaches_the_context_with_its_exact_values(store: Store) -> None:
    chat = scripted(otherwise="The user booked a flight.")
    history, compactor = talking(store, chat)
    for number in range(10):
        history.add_messages([HumanMessage(f"Book HAT06{number} for me, please."), says("It is booked.")])
    compactor.compact_if_needed()
    built = ContextWindowBuilder(history, compactor).build(3000)
    text = str(built[0].content)
    assert text.startswith("Summary of earlier conversation:\nThe user booked a flight.\nExact values")
    assert "HAT06" in text


@pytest.mark.parametrize(
    "reply",
    ["", "Error: 503", ValueError("bad"), says("The user asked.", done_reason="length"), asks(("look", {}))],
    ids=["empty", "error", "raises", "cut off", "tool call"],
)
def test_fault_9_a_failure_is_never_raised_into_the_turn_that_is_over(store: Store, reply: object) -> None:
    chat = scripted(otherwise=reply)  # type: ignore[arg-type]
    history, compactor = talking(store, chat)
    for number in range(10):
        history.add_messages(exchange(number, words=4))
    before = history.messages
    compactor.compact_if_needed()
    assert compactor.last_result is not None
    assert compactor.last_result.status in ("rejected", "failed")
    assert (compactor.get_summary(), history.messages) == (None, before)


def test_fault_9_a_model_nobody_reaches_is_a_failure_too(store: Store) -> None:
    history, compactor = talking(store, scripted(otherwise=ModelUnreachable("nobody there")))
    for number in range(10):
        history.add_messages(exchange(number, words=4))
    compactor.compact_if_needed()
    assert compactor.last_result is not None
    assert (compactor.last_result.status, compactor.last_result.error) == ("failed", "nobody there")


def test_a_compactor_before_its_first_summary_has_none(store: Store) -> None:
    _, compactor = talking(store, scripted())
    assert (compactor.get_summary(), compactor.last_result) == (None, None)
