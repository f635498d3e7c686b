"""Model A's window: what it takes, what it clips, and that every context of real conversations can be sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from memcli.memory.context import Policy, Request
from memcli.memory.heads import head_at
from memcli.memory.spans import Spans
from memcli.memory.window import CLIP_DEPARTURE, Window, context, select
from memcli.memory.wire import wire
from memcli.records import StoredMessage
from memcli.store import Store
from memcli.transcripts.importing import import_file
from tests.histories import asking, exchange, opened, stored
from tests.locomo import data_file
from tests.memory.sendable import assert_sendable
from tests.memory.test_clip import row
from tests.memory.test_context import assert_adds_up, summarised_up_to

AIRLINE = data_file("airline-agent.jsonl")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("store")) as store:
        yield store


def log(said: list[BaseMessage]) -> list[StoredMessage]:
    return [row(message, id) for id, message in enumerate(said, 1)]


def chosen(said: list[BaseMessage], max_tokens: int, policy: Policy | None = None) -> Window:
    return select(reversed(log(said)), max_tokens, policy or Policy())


def ids(window: Window) -> list[int]:
    return [item.message.id for item in window.shown]


def test_the_window_begins_on_the_oldest_human_message_that_fits() -> None:
    said = [*exchange(1), *exchange(2), *exchange(3)]
    sizes = [item.tokens for item in log(said)]
    assert ids(chosen(said, sum(sizes))) == [1, 2, 3, 4, 5, 6]
    assert ids(chosen(said, sum(sizes) - 1)) == [3, 4, 5, 6]
    assert ids(chosen(said, sum(sizes[3:]))) == [5, 6]
    assert chosen(said, sum(sizes[3:])).tokens == sum(sizes[4:])


def test_a_history_without_a_human_message_has_no_window() -> None:
    assert chosen([AIMessage("x"), AIMessage("y")], 1000) == Window(())


def test_fault_5_a_newest_turn_over_the_budget_is_kept_with_its_results_clipped() -> None:
    said = [*exchange(1), HumanMessage("go"), asking("a"), ToolMessage("x" * 8000, tool_call_id="a"), AIMessage("ok")]
    window = chosen(said, 300)
    assert (ids(window), window.departures) == ([3, 4, 5, 6], (CLIP_DEPARTURE,))
    assert [item.clipped_text is not None for item in window.shown] == [False, False, True, False]
    assert window.tokens <= 300


def test_where_clipping_is_not_enough_the_oldest_units_of_the_turn_are_left_out() -> None:
    rounds = [
        message
        for number in range(30)
        for message in (asking(f"c{number}", text="w" * 80), ToolMessage("x" * 4000, tool_call_id=f"c{number}"))
    ]
    window = chosen([HumanMessage("go"), *rounds, AIMessage("ok")], 400)
    assert ids(window)[0] == 1
    assert ids(window)[1:] == list(range(ids(window)[1], 63))
    assert window.tokens <= 400


def test_a_human_message_over_the_budget_is_clipped_last_of_all() -> None:
    window = chosen([HumanMessage("x" * 8000), AIMessage("y" * 8000)], 300)
    assert [(item.message.role, item.clipped_text is not None) for item in window.shown] == [("human", True)]
    assert window.tokens <= 300


def test_with_clipping_off_a_newest_turn_over_the_budget_leaves_nothing() -> None:
    said: list[BaseMessage] = [*exchange(1), HumanMessage("x" * 8000)]
    assert chosen(said, 300, Policy(clips_newest=False)) == Window(())


def test_a_budget_too_small_for_anything_leaves_nothing() -> None:
    assert chosen([HumanMessage("x" * 8000)], 10) == Window(())


def test_quarantined_rows_are_passed_over_and_named() -> None:
    rows = log([*exchange(1), *exchange(2)])
    rows[2] = rows[2].as_unreadable()
    window = select(reversed(rows), 1000, Policy())
    assert (ids(window), window.unreadable) == ([1, 2, 4], (3,))


def test_a_unit_stored_apart_is_in_the_window_whole_or_not_at_all(store: Store) -> None:
    said = [HumanMessage("one"), asking("a"), HumanMessage("two"), ToolMessage("A", tool_call_id="a"), AIMessage("ok")]
    conversation = stored(store, said)
    seen = set()
    for max_tokens in range(1, 60):
        built = context(store, conversation, Policy(max_tokens=max_tokens), Request())
        seen.add((2 in built.ledger.verbatim, 4 in built.ledger.verbatim))
    assert seen == {(False, False), (True, True)}


def test_the_summary_in_force_is_the_newest_that_covers_nothing_later(store: Store) -> None:
    conversation = stored(store, [message for number in range(4) for message in exchange(number)])
    summarised_up_to(store, conversation, 4)
    head = head_at(store, conversation.id, "running", 8)
    assert head is not None
    assert (head.last_message_id, head_at(store, conversation.id, "running", 3)) == (4, None)
    assert context(store, conversation, Policy(), Request(up_to=3)).ledger.summarised == Spans()


def test_a_context_reads_the_windows_rows_and_a_few_more_however_long_the_conversation_is(store: Store) -> None:
    reads = []
    for turns in (10, 300):
        conversation = stored(store, [message for number in range(turns) for message in exchange(number + 100)])
        before = store.rows_read
        built = context(store, conversation, Policy(max_tokens=500), Request())
        reads.append(store.rows_read - before)
        assert built.ledger.verbatim.count == 8
    assert reads[0] == reads[1] <= 8 + 4


def test_building_a_context_writes_nothing(store: Store) -> None:
    conversation = stored(store, [SystemMessage("be brief"), *exchange(1)])
    context(store, conversation, Policy(), Request())
    assert store.conversations.get(conversation.id) == conversation


@pytest.mark.skipif(AIRLINE is None, reason="shared/data beside the checkout has no airline-agent.jsonl")
@pytest.mark.parametrize("max_tokens", [300, 1000, 3000])
def test_every_turn_end_of_real_conversations_can_be_sent_within_its_budget_and_adds_up(
    store: Store, max_tokens: int
) -> None:
    assert AIRLINE is not None
    import_file(store, AIRLINE, memory="window")
    conversations = [item for item in store.conversations.list() if item.source is not None]
    assert len(conversations) == 60
    policy = Policy(max_tokens=max_tokens)
    for conversation in conversations:
        for span in store.turns.spans(conversation.id):
            built = context(store, conversation, policy, Request(up_to=span.last_message_id))
            assert_adds_up(built, span.last_message_id, set())
            assert_sendable(wire(built))
