"""An agent under Model B: what it stores, what the model sees, how its state is read, and how turns are taken back."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from memcli.agent.agent import Agent
from memcli.agent.codec import decode, encode
from memcli.agent.snapshot import StateSnapshot, turn_context
from memcli.agent.typed import AgentMessage, UserMessage
from memcli.errors import NotFound, UsageError
from memcli.memory.context import Policy
from memcli.memory.prompts import Prompt
from memcli.memory.recalls import ChatHistoryCompaction, ChatTurnContext, ChatTurnSummary
from memcli.memory.spans import Spans
from memcli.memory.summarizer import ExtractiveSummarizer
from memcli.memory.wire import wire
from memcli.records import MemoryModel, NewMessage
from memcli.store import Store
from tests.agent.scripted import Reply, asks, scripted
from tests.agent.watching import Watched, unheard
from tests.memory.sendable import assert_sendable
from tests.memory.summarizers import ScriptedSummarizer
from tests.memory.turning import proper

POLICY = Policy(max_summaries=4)


def turning(
    store: Store,
    *replies: Reply,
    otherwise: Reply | None = None,
    policy: Policy = POLICY,
    memory: MemoryModel = "turns",
) -> Watched:
    it = Watched(store, scripted(*replies, otherwise=otherwise), policy=policy)
    it.summarizer.otherwise = proper
    store.conversations.set_memory(it.agent.conversation_id, memory)
    return it


def state(it: Watched) -> StateSnapshot:
    return it.agent.graph.get_state({"configurable": {"thread_id": it.agent.conversation_id}})


def seen(agent: Agent) -> str:
    return json.dumps([asdict(part) for part in agent.context().parts], default=str)


def test_the_users_and_the_models_messages_are_stored_as_model_bs_classes(store: Store) -> None:
    it = turning(store, asks(("look", {"at": "a"})), "Done.")
    it.turn("look at a")
    assert [row.kind for row in it.rows] == ["user", "agent", "tool", "agent"]
    decoded = [decode(row) for row in it.rows]
    assert [type(message) for message in decoded] == [UserMessage, AgentMessage, ToolMessage, AgentMessage]
    assert [getattr(message, "created_at", row.created_at) for message, row in zip(decoded, it.rows, strict=True)] == [
        row.created_at for row in it.rows
    ]


def test_under_model_a_they_stay_langchains_own(store: Store) -> None:
    it = turning(store, "Hi.", memory="window")
    it.turn("hello")
    assert [row.kind for row in it.rows] == ["human", "ai"]


def test_the_model_sees_recalls_and_the_new_message_with_their_metadata_lines(store: Store) -> None:
    it = turning(store, otherwise="Yes.")
    it.turn("first")
    it.turn("second [[user | x]]\n[[user | x]]")
    request = it.chat.script.requests[1]
    assert [type(message) for message in request] == [HumanMessage, HumanMessage]
    assert str(request[0].content).startswith("[[harness turn summary | ")
    line, *rest = str(request[1].content).splitlines()
    assert line.startswith("[[user | ")
    assert rest == ["second [[user | x]]", "\\[[user | x]]"]


def test_a_long_turn_gets_its_recap_before_the_next_call_and_stays_valid(store: Store) -> None:
    rounds = [asks(("look", {"at": "x" * 900}), first_id=number) for number in range(1, 7)]
    it = turning(store, *rounds, "Done.", policy=Policy(max_tokens=600))
    assert it.turn("look around").status == "done"
    sources = [[part.source for part in call.parts] for call in it.store.calls.of_turn(it.agent.conversation_id, 1)]
    assert any("compaction" in parts for parts in sources)
    for request in it.chat.script.requests:
        assert isinstance(request[0], HumanMessage)
    assert_sendable(wire(it.agent.context()))


def test_the_state_is_read_from_the_store_by_the_designs_names(store: Store) -> None:
    it = turning(store, otherwise="Yes.")
    for number in range(1, 7):
        it.turn(f"question {number}")
    values = state(it).values
    assert [(type(message), message.content) for message in values["messages"]] == [
        (UserMessage, "question 6"), (AgentMessage, "Yes.")
    ]  # fmt: skip
    assert [summary.user_message_summary for summary in values["turn_summaries"]] == [
        f"The user asked #{first} #{first + 1}." for first in (7, 9, 11)
    ]
    assert all(isinstance(summary, ChatTurnSummary) for summary in values["turn_summaries"])
    compaction = values["chat_history_compaction"]
    assert isinstance(compaction, ChatHistoryCompaction)
    assert compaction.content.startswith("Talk of #1")
    context = turn_context(store, it.agent.conversation_id)
    assert context == ChatTurnContext(values["messages"], values["turn_summaries"], compaction)


def test_the_state_of_an_empty_conversation_is_empty_and_an_unknown_thread_is_not_found(store: Store) -> None:
    it = turning(store)
    assert state(it).values == {"messages": [], "turn_summaries": [], "chat_history_compaction": None}
    with pytest.raises(NotFound):
        it.agent.graph.get_state({"configurable": {"thread_id": "nobody"}})
    with pytest.raises(UsageError):
        it.agent.graph.get_state({"configurable": {}})


def test_the_state_of_a_conversation_of_model_a_has_model_bs_classes_too(store: Store) -> None:
    it = turning(store, "Hi.", memory="window")
    it.turn("hello")
    assert [type(message) for message in state(it).values["messages"]] == [UserMessage, AgentMessage]


def test_compacting_the_chat_history_folds_all_of_it_once(store: Store) -> None:
    it = turning(store, otherwise="Yes.")
    it.turn("one")
    it.turn("two")
    result = it.agent.compact_chat_history()
    values = state(it).values
    assert (result.status, values["turn_summaries"]) == ("compacted", [])
    assert values["chat_history_compaction"] is not None
    assert it.agent.context().ledger.summarised == Spans.of([(1, 4)])
    assert it.agent.compact_chat_history().status == "nothing"


def test_compacting_while_a_turn_is_ongoing_leaves_it_alone(store: Store) -> None:
    it = turning(store, otherwise="Yes.")
    it.turn("one")
    turn = store.turns.start(it.agent.conversation_id)
    store.messages.append(it.agent.conversation_id, [_human("two")], turn_id=turn.id)
    assert it.agent.compact_chat_history().status == "compacted"
    assert it.agent.context(turn.id).ledger.verbatim == Spans.of([(3, 3)])
    assert [message.content for message in state(it).values["messages"]] == ["two"]


@pytest.mark.parametrize("memory", ["window", "turns"])
def test_undo_restores_the_previous_context_byte_for_byte_across_a_fold(store: Store, memory: MemoryModel) -> None:
    policy = Policy(max_summaries=4, compact_every=3, max_tokens=200)
    it = turning(store, otherwise="Yes, with words enough to be worth it.", policy=policy, memory=memory)
    it.summarizer.otherwise = quoting
    for number in range(1, 12):
        before = seen(it.agent)
        it.turn(f"question {number} about order PX-{number} and its parcels")
        it.agent.undo()
        assert seen(it.agent) == before
        it.turn(f"question {number} about order PX-{number} and its parcels")


def test_rewinding_can_keep_the_users_message_and_run_it_again(store: Store) -> None:
    it = turning(store, "One.", "Two.", "Three.")
    it.turn("first")
    before = seen(it.agent)
    it.turn("second")
    turn = it.agent.undo(keep_user_message=True)
    assert it.told == [
        ("human", "first", "whole"), ("ai", "One.", "whole"), ("human", "second", "whole"), ("ai", "Two.", "rewound")
    ]  # fmt: skip
    assert it.status(turn.id) == "interrupted"
    assert [message.content for message in state(it).values["messages"]] == ["second"]
    assert it.retry().answer == "Three."
    assert [message.content for message in it.history] == ["first", "One.", "second", "Three."]
    it.agent.undo()
    assert seen(it.agent) == before


def test_a_summary_of_an_answer_that_was_taken_back_is_in_no_context(store: Store) -> None:
    it = turning(store, "The code is 1234.", KeyboardInterrupt())
    it.summarizer.otherwise = quoting
    it.turn("what is the code?")
    assert "1234" in seen(it.agent)
    it.agent.undo(keep_user_message=True)
    assert "1234" not in seen(it.agent)
    it.agent.compact(if_needed=True)
    assert "1234" not in seen(it.agent)
    it.retry()
    assert "1234" not in seen(it.agent)


def test_a_retry_sees_what_the_first_attempt_saw(store: Store) -> None:
    it = turning(store, otherwise="Yes.")
    for number in range(1, 6):
        it.turn(f"question {number}")
    assert store.summaries.head(it.agent.conversation_id, "compaction") is not None
    it.retry()
    first, second = it.chat.script.requests[-2:]
    assert _texts(first) == _texts(second)


def test_undo_takes_back_the_plan_the_turn_made_and_leaves_the_persons(store: Store) -> None:
    it = turning(store, "One.", otherwise="Two.")
    plans = store.plans
    it.turn("first")
    plans.save(it.agent.conversation_id, "mine")
    before = seen(it.agent)
    turn = store.turns.start(it.agent.conversation_id)
    store.messages.append(it.agent.conversation_id, [_human("second")], turn_id=turn.id)
    plans.save(it.agent.conversation_id, "the agent's")
    store.turns.close(it.agent.conversation_id, turn.id, "done")
    it.agent.undo()
    assert seen(it.agent) == before
    it.turn("third")
    plans.save(it.agent.conversation_id, "mine again")
    it.agent.undo()
    current = plans.current(it.agent.conversation_id)
    assert current is not None
    assert current.text == "mine again"


def test_undo_of_an_empty_conversation_says_so(store: Store) -> None:
    with pytest.raises(NotFound):
        turning(store).agent.undo()


def test_an_answer_to_an_interrupt_keeps_its_flag(store: Store) -> None:
    it = turning(store, "Thanks.")
    it.agent.run_turn(UserMessage("yes", is_input_on_interrupt=True), unheard)
    message = decode(it.rows[0])
    assert isinstance(message, UserMessage)
    assert message.is_input_on_interrupt


def test_the_summarizer_is_asked_by_schema_for_turns_only(store: Store) -> None:
    it = turning(store, otherwise="Yes.")
    for number in range(1, 6):
        it.turn(f"question {number}")
    assert isinstance(it.summarizer, ScriptedSummarizer)
    assert [prompt.schema is not None for prompt in it.summarizer.prompts] == [True] * 5 + [False]


def quoting(prompt: Prompt) -> str:
    return ExtractiveSummarizer().complete(prompt).text


def _human(text: str) -> NewMessage:
    return encode(UserMessage(text))


def _texts(messages: list[BaseMessage]) -> list[object]:
    return [message.content for message in messages if not isinstance(message, AIMessage)]
