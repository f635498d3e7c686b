"""The ledger: each stored message is exactly one of verbatim, clipped, summarised, forgotten or excluded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from memcli.config import Settings
from memcli.errors import ContextOverflow
from memcli.memory.context import Context, Ledger, Part, Policy, Request, spans_of, system_tokens
from memcli.memory.spans import Spans
from memcli.memory.tokens import text_tokens
from memcli.memory.window import context
from memcli.memory.wire import wire
from memcli.records import Conversation, NewSummary, PartRef
from memcli.store import Store
from tests.histories import asking, exchange, histories, opened, orderly_turns, stored
from tests.memory.sendable import assert_sendable


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("store")) as store:
        yield store


def summarised_up_to(store: Store, conversation: Conversation, last_id: int, text: str = "They talked.") -> None:
    summary = NewSummary(
        kind="running", parent_id=None, first_message_id=1, last_message_id=last_id, text=text, values=("HAT069",),
        fidelity=None, tokens=text_tokens(text), model="test", prompt_version="t", input_tokens=0, output_tokens=0,
        input_hash=f"{conversation.id}{last_id}",
    )  # fmt: skip
    store.summaries.commit(conversation.id, summary, expected_head=None)


def assert_adds_up(built: Context, last_id: int, excluded: set[int]) -> None:
    ledger = built.ledger
    places = [ledger.verbatim, ledger.clipped, ledger.summarised, ledger.forgotten, ledger.excluded]
    held = [id for spans in places for first, last in spans for id in range(first, last + 1)]
    assert sorted(held) == list(range(1, last_id + 1))
    assert ledger.total + ledger.excluded.count == last_id
    assert {id for first, last in ledger.excluded for id in range(first, last + 1)} == excluded
    shown = spans_of(built.parts, "verbatim") | spans_of(built.parts, "clipped")
    assert ledger.verbatim | ledger.clipped == shown
    assert built.tokens == sum(part.tokens for part in built.parts) <= built.limit_tokens
    assert built.prompt_tokens == built.tokens - built.policy.output_reserve
    assert built.window_tokens <= built.policy.max_tokens


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    said=st.one_of(histories, orderly_turns()),
    max_tokens=st.integers(1, 120),
    limit_tokens=st.integers(20, 400),
    covered=st.integers(0, 12),
    failed=st.integers(0, 4),
    up_to=st.none() | st.integers(0, 12),
)
def test_every_message_is_in_exactly_one_place_and_the_parts_fit_whatever_the_history(
    store: Store,
    said: list[BaseMessage],
    max_tokens: int,
    limit_tokens: int,
    covered: int,
    failed: int,
    up_to: int | None,
) -> None:
    with store.transaction():
        conversation = stored(store, said)
        if 0 < failed <= conversation.turns:
            store.turns.close(conversation.id, failed, "failed")
        if 0 < covered <= len(said):
            summarised_up_to(store, conversation, covered)
    last_id = len(said) if up_to is None else min(up_to, len(said))
    excluded = set(store.messages.excluded_ids(conversation.id, up_to=last_id))
    policy = Policy(max_tokens=max_tokens, limit_tokens=limit_tokens, output_reserve=8)
    try:
        built = context(store, conversation, policy, Request(up_to=up_to))
    except ContextOverflow:
        return
    assert_adds_up(built, last_id, excluded)
    assert_sendable(wire(built))


def test_a_message_is_in_the_first_place_that_applies() -> None:
    ledger = Ledger.of(
        9,
        verbatim=Spans.of([(8, 12)]),
        clipped=Spans.of([(6, 8)]),
        covered=Spans.of([(1, 6)]),
        excluded=Spans.of([(3, 3), (11, 11)]),
    )
    assert ledger == Ledger(
        verbatim=Spans.of([(8, 9)]),
        clipped=Spans.of([(6, 7)]),
        summarised=Spans.of([(1, 2), (4, 5)]),
        forgotten=Spans(),
        excluded=Spans.of([(3, 3)]),
    )
    assert ledger.total == 8


def test_the_ledger_of_a_conversation_that_outgrew_its_window(store: Store) -> None:
    conversation = stored(store, [message for number in range(10) for message in exchange(number)])
    summarised_up_to(store, conversation, 6)
    store.turns.close(conversation.id, 5, "failed")
    built = context(store, conversation, Policy(max_tokens=300), Request())
    assert built.ledger == Ledger(
        verbatim=Spans.of([(15, 20)]),
        summarised=Spans.of([(1, 6)]),
        forgotten=Spans.of([(7, 8), (11, 14)]),
        excluded=Spans.of([(9, 10)]),
    )
    assert built.covered_up_to == 6


def test_fault_7_the_limit_holds_system_tools_summary_window_and_reserve(store: Store) -> None:
    conversation = stored(store, [message for number in range(40) for message in exchange(number)])
    store.conversations.set_system_prompt(conversation.id, "Be brief. " * 40)
    summarised_up_to(store, conversation, 4, "They talked. " * 100)
    conversation = store.conversations.get(conversation.id)
    policy = Policy(max_tokens=100_000, limit_tokens=2500, output_reserve=500)
    built = context(store, conversation, policy, Request(tools_tokens=400, tools_text="recall, now"))
    sizes = {part.source: part.tokens for part in built.parts if part.source != "message"}
    assert sizes == {
        "system": system_tokens("Be brief. " * 40),
        "tools": 400,
        "summary": system_tokens("Summary of earlier conversation:\n" + "They talked. " * 100),
        "values": sizes["values"],
        "reserve": 500,
    }
    assert built.window_tokens + sum(sizes.values()) == built.tokens <= 2500
    assert built.tokens > 2500 - 2 * 80


def test_fault_7_what_is_always_sent_and_does_not_fit_is_refused(store: Store) -> None:
    conversation = stored(store, exchange(1))
    with pytest.raises(ContextOverflow) as refused:
        context(store, conversation, Policy(limit_tokens=1000, output_reserve=900), Request(tools_tokens=400))
    assert (refused.value.needed_tokens, refused.value.available_tokens) == (300, 0)


def test_fault_5_a_new_message_that_does_not_fit_is_refused_with_needed_and_available(store: Store) -> None:
    conversation = store.conversations.create()
    turn = store.turns.start(conversation.id)
    from memcli.agent.codec import encode

    store.messages.append(conversation.id, [encode(HumanMessage("x" * 40_000))], turn_id=turn.id)
    conversation = store.conversations.get(conversation.id)
    with pytest.raises(ContextOverflow) as refused:
        context(store, conversation, Policy(limit_tokens=2000, output_reserve=500), Request(turn_id=turn.id))
    assert str(refused.value) == "the message needs 10,004 tokens and 1,500 are available"


def test_the_ongoing_turn_is_in_full_and_the_window_gives_way(store: Store) -> None:
    from memcli.agent.codec import encode

    conversation = stored(store, [message for number in range(6) for message in exchange(number)])
    turn = store.turns.start(conversation.id)
    new = [HumanMessage("n" * 1200), asking("a"), ToolMessage("r" * 800, tool_call_id="a")]
    store.messages.append(conversation.id, [encode(message) for message in new], turn_id=turn.id)
    conversation = store.conversations.get(conversation.id)
    policy = Policy(limit_tokens=800, output_reserve=100)
    built = context(store, conversation, policy, Request(turn_id=turn.id))
    assert built.ledger.verbatim == Spans.of([(11, 15)])
    assert [part.source for part in built.parts] == ["message", "message", "new", "message", "message", "reserve"]


def test_fault_5_a_tool_result_of_the_ongoing_turn_is_clipped_in_the_view_and_whole_in_the_store(store: Store) -> None:
    from memcli.agent.codec import encode

    conversation = store.conversations.create()
    turn = store.turns.start(conversation.id)
    new = [HumanMessage("go"), asking("a"), ToolMessage("r" * 2_000_000, tool_call_id="a")]
    store.messages.append(conversation.id, [encode(message) for message in new], turn_id=turn.id)
    conversation = store.conversations.get(conversation.id)
    built = context(store, conversation, Policy(limit_tokens=2000), Request(turn_id=turn.id))
    assert (built.ledger.verbatim, built.ledger.clipped) == (Spans.of([(1, 2)]), Spans.of([(3, 3)]))
    assert built.tokens <= 2000
    assert len(store.messages.get(conversation.id, 3).text) == 2_000_000


def test_a_leading_system_message_is_a_part_of_its_own_and_verbatim(store: Store) -> None:
    conversation = stored(store, [SystemMessage("be brief"), HumanMessage("hi"), AIMessage("hello")])
    built = context(store, conversation, Policy(), Request())
    assert [(part.source, part.first_message_id) for part in built.parts] == [
        ("system", 1),
        ("message", 2),
        ("message", 3),
        ("reserve", None),
    ]
    assert built.ledger == Ledger(verbatim=Spans.of([(1, 3)]))


def test_a_part_is_recorded_by_reference() -> None:
    part = Part("summary", 9, "why", "text", 1, 4, "summarised", summary_id=2)
    assert part.reference() == PartRef("summary", 1, 4, 9, "summarised", "why", 2)


def test_a_policy_comes_from_the_settings_and_the_models_limit() -> None:
    policy = Policy.of(Settings(max_tokens=111, output_reserve=22, compact_every=3), limit_tokens=4444)
    assert (policy.max_tokens, policy.output_reserve, policy.compact_every, policy.limit_tokens) == (111, 22, 3, 4444)


def test_defaults_are_the_source_designs() -> None:
    assert (Policy().max_tokens, Policy().compact_every, Policy().max_summaries) == (3000, 10, 10)
