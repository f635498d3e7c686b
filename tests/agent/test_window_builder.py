"""ContextWindowBuilder against the real trim_messages, over stored and foreign histories; each departure by itself."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately

from memcli.agent.base import BaseMemoryCompactor
from memcli.agent.history import PersistentChatHistory
from memcli.agent.window_builder import (
    MISSING_DEPARTURE,
    ORDER_DEPARTURE,
    ORPHAN_DEPARTURE,
    ContextWindowBuilder,
)
from memcli.errors import UsageError
from memcli.memory.pairs import arrange
from memcli.memory.window import CLIP_DEPARTURE
from memcli.memory.wire import UNKNOWN_RESULT
from memcli.store import Store
from tests.histories import exchange, histories, opened, orderly_turns

fast = settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
budgets = st.integers(0, 160)
sizes = st.lists(st.integers(1, 3), max_size=12)
"""How a history arrives: that many messages at a time."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("store")) as store:
        yield store


def trimmed(history: BaseChatMessageHistory, max_tokens: int) -> list[BaseMessage]:
    return trim_messages(
        history.messages,
        max_tokens=max_tokens,
        strategy="last",
        token_counter="approximate",
        start_on=HumanMessage,
        include_system=True,
        allow_partial=False,
    )


def persistent(store: Store, said: Sequence[BaseMessage], batches: Sequence[int] = ()) -> PersistentChatHistory:
    with store.transaction():
        history = PersistentChatHistory(store, store.conversations.create().id)
        at = 0
        for size in batches:
            history.add_messages(said[at : at + size])
            at += size
        history.add_messages(said[at:])
    return history


def foreign(said: Sequence[BaseMessage]) -> InMemoryChatMessageHistory:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain has deprecated the class, not the interface
        return InMemoryChatMessageHistory(messages=list(said))


def is_valid_to_send(said: Sequence[BaseMessage]) -> bool:
    from memcli.agent.history import entry_of

    kinds = {place.kind for place in arrange([entry_of(message) for message in said])}
    return not kinds & {"missing", "stray"}


def assert_built_as_the_source_does(history: BaseChatMessageHistory, max_tokens: int) -> None:
    """Check the builder with its departures off, which is the source, and on, which names what is different."""
    wanted = trimmed(history, max_tokens)
    source = ContextWindowBuilder(history, keeps_units=False, clips_newest=False)
    assert (source.build(max_tokens), source.departures) == (wanted, ())
    builder = ContextWindowBuilder(history)
    built = builder.build(max_tokens)
    assert built == wanted or builder.departures
    assert is_valid_to_send(built)


@fast
@given(said=st.one_of(histories, histories, orderly_turns()), batches=sizes, max_tokens=budgets)
def test_a_stored_history_is_trimmed_as_the_source_does_unless_a_departure_is_named(
    store: Store, said: list[BaseMessage], batches: list[int], max_tokens: int
) -> None:
    assert_built_as_the_source_does(persistent(store, said, batches), max_tokens)


@fast
@given(said=st.one_of(histories, histories, orderly_turns()), max_tokens=budgets)
def test_a_foreign_history_is_trimmed_as_the_source_does_unless_a_departure_is_named(
    said: list[BaseMessage], max_tokens: int
) -> None:
    assert_built_as_the_source_does(foreign(said), max_tokens)


@settings(max_examples=300, deadline=None)
@given(said=orderly_turns(), max_tokens=budgets)
def test_an_agents_own_turns_are_within_the_budget_whatever_it_is(
    store: Store, said: list[BaseMessage], max_tokens: int
) -> None:
    built = ContextWindowBuilder(persistent(store, said)).build(max_tokens)
    lead = count_tokens_approximately(built[:1]) if built and isinstance(built[0], SystemMessage) else 0
    assert count_tokens_approximately(built) <= max(max_tokens, lead)


def test_results_that_were_stored_apart_from_their_call_stand_behind_it(store: Store) -> None:
    ask = AIMessage("", tool_calls=[ToolCall(name="look", args={}, id=id) for id in ("a", "b")])
    said = [
        HumanMessage("one"),
        ask,
        HumanMessage("two"),
        ToolMessage("B", tool_call_id="b"),
        ToolMessage("A", tool_call_id="a"),
    ]
    history = persistent(store, said, [1, 1, 1, 1, 1])
    assert history.messages == [said[0], said[1], said[4], said[3], said[2]]
    assert ContextWindowBuilder(history).build(1000) == history.messages
    assert ContextWindowBuilder(history).build(8) == [said[2]]


def test_fault_1_a_unit_is_never_cut_at_any_budget(store: Store) -> None:
    ask = AIMessage("look", tool_calls=[ToolCall(name="look", args={}, id=id) for id in ("a", "b")])
    said = [HumanMessage("hi"), ask, ToolMessage("A", tool_call_id="a"), ToolMessage("B", tool_call_id="b")]
    histories_of_it = (persistent(store, said), foreign(said))
    for max_tokens in range(count_tokens_approximately(said) + 1):
        for history in histories_of_it:
            assert is_valid_to_send(ContextWindowBuilder(history).build(max_tokens))


def test_departure_a_foreign_history_with_results_out_of_order_is_put_in_order() -> None:
    ask = AIMessage("", tool_calls=[ToolCall(name="look", args={}, id="a")])
    said = [HumanMessage("one"), ask, HumanMessage("two"), ToolMessage("A", tool_call_id="a")]
    builder = ContextWindowBuilder(foreign(said))
    assert builder.build(1000) == [said[0], said[1], said[3], said[2]]
    assert builder.departures == (ORDER_DEPARTURE,)


def test_departure_a_result_without_its_call_is_left_out_of_the_view_and_kept_in_the_history(store: Store) -> None:
    said = [HumanMessage("one"), ToolMessage("A", tool_call_id="a"), AIMessage("two")]
    history = persistent(store, said)
    builder = ContextWindowBuilder(history)
    assert builder.build(1000) == [said[0], said[2]]
    assert builder.departures == (ORPHAN_DEPARTURE,)
    assert history.messages == said


def test_fault_2_departure_a_call_that_a_crash_left_unanswered_gets_a_result_that_says_so(store: Store) -> None:
    ask = AIMessage("", tool_calls=[ToolCall(name="look", args={}, id="a")])
    history = persistent(store, [HumanMessage("one"), ask])
    builder = ContextWindowBuilder(history)
    absent = ToolMessage(UNKNOWN_RESULT, tool_call_id="a", name="look", status="error")
    assert builder.build(1000) == [HumanMessage("one"), ask, absent]
    assert builder.departures == (MISSING_DEPARTURE,)
    assert history.messages == [HumanMessage("one"), ask]


def test_fault_5_departure_a_newest_turn_over_the_budget_is_kept_and_its_tool_result_clipped(store: Store) -> None:
    ask = AIMessage("", tool_calls=[ToolCall(name="look", args={}, id="a")])
    large = ToolMessage("x" * 8000, tool_call_id="a")
    said = [*exchange(1), HumanMessage("two"), ask, large, AIMessage("found")]
    history = persistent(store, said)
    builder = ContextWindowBuilder(history)
    built = builder.build(300)
    assert trimmed(history, 300) == []
    assert [message.type for message in built] == ["human", "ai", "tool", "ai"]
    assert (built[0], built[1], built[3]) == (said[2], ask, said[5])
    assert "tokens of #5 left out" in str(built[2].content)
    assert count_tokens_approximately(built) <= 300
    assert builder.departures == (CLIP_DEPARTURE,)
    assert history.messages == said


def test_departures_are_of_the_last_build_only(store: Store) -> None:
    history = persistent(store, [HumanMessage("x" * 400)])
    builder = ContextWindowBuilder(history)
    seen = []
    for max_tokens in (60, 1000):
        builder.build(max_tokens)
        seen.append(builder.departures)
    assert seen == [(CLIP_DEPARTURE,), ()]


class Remembers(BaseMemoryCompactor):
    def __init__(self, summary: str | None) -> None:
        self.summary = summary

    def get_summary(self) -> str | None:
        return self.summary

    def compact_if_needed(self) -> None:
        raise AssertionError("building must not compact")


def test_the_summary_stands_first_and_outside_the_budget(store: Store) -> None:
    said = exchange(1)
    history = persistent(store, said)
    budget = count_tokens_approximately(said)
    built = ContextWindowBuilder(chat_history=history, memory_compactor=Remembers("s" * 4000)).build(budget)
    assert built == [SystemMessage(f"Summary of earlier conversation:\n{'s' * 4000}"), *said]


def test_a_compactor_without_a_summary_adds_nothing(store: Store) -> None:
    history = persistent(store, exchange(1))
    assert ContextWindowBuilder(history, Remembers(None)).build(1000) == exchange(1)


def test_an_empty_history_builds_an_empty_window(store: Store) -> None:
    assert ContextWindowBuilder(persistent(store, [])).build(3000) == []


def test_a_negative_budget_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="max_tokens = -1 is negative"):
        ContextWindowBuilder(persistent(store, [])).build(-1)


def test_a_window_reads_as_many_rows_of_a_long_history_as_of_a_short_one(store: Store) -> None:
    reads = []
    for turns in (10, 300):
        history = persistent(store, [message for number in range(turns) for message in exchange(number + 100)])
        before = store.rows_read
        assert len(ContextWindowBuilder(history).build(500)) == 8
        reads.append(store.rows_read - before)
    assert reads[0] == reads[1] <= 8 + 4


def test_a_history_class_of_somebodys_own_is_asked_for_its_messages(store: Store) -> None:
    class Shouts(PersistentChatHistory):
        @property
        def messages(self) -> list[BaseMessage]:  # type: ignore[override]
            return [HumanMessage("LOUD")]

    history = Shouts(store, store.conversations.create().id)
    history.add_messages(exchange(1))
    assert ContextWindowBuilder(history).build(1000) == [HumanMessage("LOUD")]


def test_fault_22_rows_that_cannot_be_read_are_in_neither_history_nor_window(store: Store, tmp_path: Path) -> None:
    from dataclasses import replace

    from memcli.agent.codec import encode

    history = persistent(store, exchange(1))
    odd = replace(encode(HumanMessage("from a newer version")), kind="hologram")
    store.messages.append(history.conversation_id, [odd])
    history.add_messages(exchange(2))
    assert history.messages == [*exchange(1), *exchange(2)]
    assert ContextWindowBuilder(history).build(1000) == history.messages
