"""The turn: everything is stored as it happens, whatever ends it. With a scripted model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from memcli.agent.agent import INTERRUPTED_RESULT, NOT_RUN_RESULT, Agent, Model, TurnResult
from memcli.agent.events import Event, Folded, ReasoningDelta, TextDelta, ToolFinished
from memcli.errors import ContextOverflow, ModelError, ModelUnreachable, NotFound
from memcli.memory.context import Policy
from memcli.memory.spans import Spans
from memcli.memory.wire import UNKNOWN_RESULT
from memcli.store import Store
from tests.agent.scripted import asks, asks_raw, says, scripted
from tests.agent.watching import Watched, look, unheard, watched
from tests.histories import exchange, opened
from tests.memory.summarizers import ScriptedSummarizer


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("store")) as store:
        yield store


def test_a_turn_is_stored_streamed_and_closed(store: Store) -> None:
    it = watched(store, says("Hello, Ann.", input_tokens=9, output_tokens=4))
    assert it.turn("I am Ann") == TurnResult(1, "done", "Hello, Ann.")
    assert it.told == [("human", "I am Ann", "whole"), ("ai", "Hello, Ann.", "whole")]
    assert (it.status(1), store.check()) == ("done", [])
    assert [event for event in it.events if isinstance(event, TextDelta)] == [TextDelta("Hello, Ann.")]
    call = store.calls.get(it.agent.conversation_id, 1)
    assert (call.status, call.input_tokens, call.output_tokens, call.purpose) == ("done", 9, 4, "chat")
    assert [(part.source, part.first_message_id) for part in call.parts if part.first_message_id] == [("new", 1)]


def test_the_next_turn_sees_the_last_one(store: Store) -> None:
    it = watched(store, "Hello, Ann.", "You are Ann.")
    it.turn("I am Ann")
    it.turn("Who am I?")
    assert it.chat.script.requests[1] == [HumanMessage("I am Ann"), AIMessage("Hello, Ann."), HumanMessage("Who am I?")]


def test_parallel_calls_are_run_in_order_and_each_result_is_stored_as_it_lands(store: Store) -> None:
    seen: list[list[tuple[str, str, str]]] = []

    @tool
    def peek(at: str) -> str:
        """Look at the store."""
        seen.append(it.told)
        return f"saw {at}"

    it = Watched(
        store, scripted(asks(("peek", {"at": "a"}), ("peek", {"at": "b"}), text="Both."), "Done."), tools=[peek]
    )
    assert it.turn("go") == TurnResult(1, "done", "Done.")
    asked = [("human", "go", "whole"), ("ai", "Both.", "whole")]
    assert seen == [asked, [*asked, ("tool", "saw a", "whole")]]
    assert [message.content for message in it.history] == ["go", "Both.", "saw a", "saw b", "Done."]
    assert [message.content for message in it.chat.script.requests[1]] == ["go", "Both.", "saw a", "saw b"]


def test_a_tool_that_raises_becomes_an_error_result_the_model_sees(store: Store) -> None:
    it = watched(store, asks(("fail", {})), "Sorry.")
    assert it.turn("go").status == "done"
    result = it.chat.script.requests[1][-1]
    assert isinstance(result, ToolMessage)
    assert (result.content, result.status) == ("RuntimeError: no such row", "error")
    assert [event for event in it.events if isinstance(event, ToolFinished)] == [
        ToolFinished("fail", "RuntimeError: no such row", True)
    ]


def test_an_unknown_tool_becomes_an_error_result_that_lists_the_known(store: Store) -> None:
    it = watched(store, asks(("lok", {})), "Sorry.")
    it.turn("go")
    assert it.chat.script.requests[1][-1].content == "There is no tool 'lok'. Available: fail, look."


def test_a_model_that_cannot_call_tools_gets_none_and_chats(store: Store) -> None:
    chat = scripted("Hello.")
    model = Model(chat, "toy", 8192, can_call_tools=False)
    conversation = store.conversations.create()
    agent = Agent(store, conversation.id, model, policy=Policy(), summarizer=ScriptedSummarizer(), tools=[look])
    assert agent.run_turn("hi", unheard).answer == "Hello."
    assert chat.script.tools == [[]]


def test_after_the_most_rounds_the_model_is_asked_to_answer_without_tools(store: Store) -> None:
    rounds = [asks(("look", {"at": str(number)}), first_id=number) for number in range(1, 3)]
    it = Watched(store, scripted(*rounds, "Enough."), max_rounds=3)
    assert it.turn("go") == TurnResult(1, "done", "Enough.")
    assert it.chat.script.tools == [["look", "fail"], ["look", "fail"], []]
    assert it.notices == ["the model asked for tools 2 times in a row; it was asked to answer without them"]


def test_a_model_that_never_stops_asking_ends_at_the_limit(store: Store) -> None:
    it = Watched(store, scripted(otherwise=asks(("look", {"at": "x"}))), max_rounds=3)
    assert it.turn("go").status == "done"
    assert len(it.chat.script.requests) == 3
    assert store.check() == []


def test_fault_4_a_call_with_broken_arguments_is_kept_partial_never_run_and_off_the_wire(store: Store) -> None:
    it = watched(store, [asks_raw("look", '{"at":')], "Hello.")
    result = it.turn("go")
    assert (result.status, it.status(1)) == ("failed", "failed")
    assert isinstance(result.error, ModelError)
    assert result.error.message == "scripted asked for look with arguments that cannot be read"
    assert '{\\"at\\":' in it.rows[1].payload
    assert it.retry().answer == "Hello."
    assert it.chat.script.requests[1] == [HumanMessage("go")]


def test_fault_4_beside_text_a_broken_call_leaves_the_text(store: Store) -> None:
    it = watched(store, ["Let me look. ", asks_raw("look", "[")], "Hello.")
    assert it.turn("go").status == "interrupted"
    assert it.told[1] == ("ai", "Let me look. ", "partial")
    it.turn("and?")
    assert it.chat.script.requests[1] == [HumanMessage("go"), AIMessage("Let me look. "), HumanMessage("and?")]


def test_fault_28_thinking_is_kept_beside_the_answer_and_not_sent_back(store: Store) -> None:
    it = watched(store, "<think>she is Ann</think>Hello, Ann.", "Bye.")
    assert it.turn("hi").answer == "Hello, Ann."
    assert it.events[1:3] == [ReasoningDelta("she is Ann"), TextDelta("Hello, Ann.")]
    assert "she is Ann" in it.rows[1].payload
    it.turn("bye")
    assert it.chat.script.requests[1][1] == AIMessage("Hello, Ann.")


def test_ctrl_c_before_the_first_token_leaves_the_message_and_nothing_else(store: Store) -> None:
    it = watched(store, KeyboardInterrupt(), "Hello.")
    assert it.turn("hi") == TurnResult(1, "interrupted", "")
    assert (it.told, it.status(1)) == ([("human", "hi", "whole")], "interrupted")
    assert store.calls.get(it.agent.conversation_id, 1).status == "interrupted"


def test_ctrl_c_in_mid_stream_keeps_the_partial_answer_marked(store: Store) -> None:
    it = watched(store, ["Hello, ", KeyboardInterrupt()], "Hello, Ann.")
    assert it.turn("hi") == TurnResult(1, "interrupted", "Hello, ")
    assert it.told == [("human", "hi", "whole"), ("ai", "Hello, ", "partial")]
    it.turn("go on")
    assert it.chat.script.requests[1] == [HumanMessage("hi"), AIMessage("Hello, "), HumanMessage("go on")]


def test_fault_2_ctrl_c_in_the_second_of_three_tools_leaves_three_results_that_tell_what_happened(store: Store) -> None:
    @tool
    def step(number: int) -> str:
        """Do one step."""
        if number == 2:
            raise KeyboardInterrupt
        return f"did {number}"

    ask = asks(("step", {"number": 1}), ("step", {"number": 2}), ("step", {"number": 3}))
    it = Watched(store, scripted(ask, "Done."), tools=[step])
    assert it.turn("go").status == "interrupted"
    results = ["did 1", INTERRUPTED_RESULT, NOT_RUN_RESULT]
    assert it.told[2:] == [("tool", result, "whole") for result in results]
    it.turn("so?")
    assert [message.content for message in it.chat.script.requests[1]] == ["go", "", *results, "so?"]
    assert store.check() == []


def test_fault_3_after_a_crash_only_the_absent_result_is_made_up_and_only_in_the_view(store: Store) -> None:
    it = watched(store, asks(("look", {"at": "a"}), ("look", {"at": "b"}), ("look", {"at": "c"})), "Done.")

    def dies(event: Event) -> None:
        if isinstance(event, ToolFinished) and event.text == "saw b":
            raise SystemExit

    with pytest.raises(SystemExit):
        it.agent.run_turn("go", dies)
    before = it.rows
    it.turn("so?")
    sent = [message.content for message in it.chat.script.requests[1]]
    assert sent == ["go", "", "saw a", "saw b", UNKNOWN_RESULT, "so?"]
    assert it.rows[: len(before)] == before
    assert it.status(1) == "interrupted"


def test_a_model_that_fails_without_a_word_fails_the_turn_and_its_rows_are_kept(store: Store) -> None:
    it = watched(store, RuntimeError("CUDA out of memory"), "Hello.")
    result = it.turn("hi")
    assert (result.status, result.answer) == ("failed", "")
    assert it.told == [("human", "hi", "failed")]
    it.turn("again")
    assert it.chat.script.requests[1] == [HumanMessage("again")]
    assert it.agent.context().ledger.excluded == Spans.of([(1, 1)])


def test_what_tools_did_stays_in_the_memory_when_the_model_fails_afterwards(store: Store) -> None:
    it = watched(store, asks(("look", {"at": "the booking"})), RuntimeError("gone"), "It is booked.")
    assert it.turn("book it").status == "interrupted"
    it.turn("did it work?")
    assert [message.content for message in it.chat.script.requests[2]] == [
        "book it",
        "",
        "saw the booking",
        "did it work?",
    ]


def test_retry_reuses_the_users_row_and_excludes_what_the_first_attempt_left(store: Store) -> None:
    it = watched(store, ["Hel", RuntimeError("gone")], "Hello, Ann.")
    it.turn("I am Ann")
    assert it.retry() == TurnResult(1, "done", "Hello, Ann.")
    assert it.told == [
        ("human", "I am Ann", "whole"),
        ("ai", "Hel", "failed"),
        ("ai", "Hello, Ann.", "whole"),
    ]
    assert it.chat.script.requests[1] == [HumanMessage("I am Ann")]
    assert (it.status(1), store.check()) == ("done", [])


def test_retry_with_nothing_said_is_refused(store: Store) -> None:
    with pytest.raises(NotFound, match="there is no turn to run again"):
        watched(store).retry()


def test_fault_18_the_same_uid_again_is_the_same_message_and_gets_the_same_answer(store: Store) -> None:
    it = watched(store, "Hello, Ann.")
    first = it.turn("I am Ann", uid="delivery-1")
    assert it.turn("I am Ann", uid="delivery-1") == first
    assert (len(it.rows), len(it.chat.script.requests)) == (2, 1)
    assert it.agent.conversation.turns == 1


def test_fault_18_the_same_uid_after_a_failure_runs_its_turn_again(store: Store) -> None:
    it = watched(store, RuntimeError("gone"), "Hello, Ann.")
    assert it.turn("I am Ann", uid="delivery-1").status == "failed"
    assert it.turn("I am Ann", uid="delivery-1") == TurnResult(1, "done", "Hello, Ann.")
    assert it.told == [("human", "I am Ann", "whole"), ("ai", "Hello, Ann.", "whole")]


def test_undo_marks_the_last_turn_and_moves_the_head_back(store: Store) -> None:
    it = watched(store, otherwise="Yes.")
    for number in range(10):
        it.turn(f"fact {number}: the number is {number * 1111}")
    assert store.summaries.head(it.agent.conversation_id, "running") is not None
    it.agent.undo()
    assert store.summaries.head(it.agent.conversation_id, "running") is None
    assert [row.state for row in it.rows[-3:]] == ["whole", "rewound", "rewound"]
    assert len(store.summaries.list(it.agent.conversation_id)) == 1
    assert store.check() == []


def test_undo_with_nothing_said_is_refused(store: Store) -> None:
    with pytest.raises(NotFound, match="there is no turn to undo"):
        watched(store).agent.undo()


def test_the_tenth_turn_folds_and_says_so(store: Store) -> None:
    it = watched(store, otherwise="Yes, of course.")
    for number in range(10):
        it.turn(f"question {number} about the weather")
    (folded,) = [event for event in it.events if isinstance(event, Folded)]
    assert (folded.result.status, folded.result.last_message_id) == ("compacted", 20)
    assert len(it.summarizer.prompts) == 1


@pytest.mark.parametrize("failure", [ModelUnreachable("nobody there"), ValueError("bad"), KeyboardInterrupt()])
def test_fault_9_a_compaction_that_fails_never_touches_the_turn_before_it(store: Store, failure: BaseException) -> None:
    it = Watched(store, scripted(otherwise="Yes, of course."), summarizer=ScriptedSummarizer(otherwise=failure))
    for number in range(10):
        assert it.turn(f"question {number} about the weather").status == "done"
    assert [row.state for row in it.rows] == ["whole"] * 20
    assert len(it.chat.script.requests) == 10
    assert store.summaries.list(it.agent.conversation_id) == []
    assert store.check() == []


def test_fault_5_an_oversize_message_is_refused_with_needed_and_available_and_kept(store: Store) -> None:
    it = Watched(store, scripted("Hello."), policy=Policy(limit_tokens=2000, output_reserve=500), tools=[])
    result = it.turn("x" * 80_000)
    assert isinstance(result.error, ContextOverflow)
    assert (result.status, result.error.needed_tokens, result.error.available_tokens) == ("failed", 20_004, 1500)
    assert it.chat.script.requests == []
    assert len(it.rows[0].text) == 80_000
    assert it.turn("hi").answer == "Hello."


def test_fault_5_a_tool_result_of_two_megabytes_is_clipped_for_the_model_and_whole_in_the_store(store: Store) -> None:
    @tool
    def dump() -> str:
        """Dump the table."""
        return "row " * 500_000

    it = Watched(store, scripted(asks(("dump", {})), "Large."), tools=[dump])
    assert it.turn("dump it").answer == "Large."
    sent = str(it.chat.script.requests[1][-1].content)
    assert "tokens of #3 left out" in sent
    assert len(sent) < 8192 * 4
    assert len(it.rows[2].text) == 2_000_000


def test_fault_21_a_prompt_the_server_cut_silently_raises_an_alarm(store: Store) -> None:
    it = watched(store, says("Yes.", input_tokens=100), says("Yes.", input_tokens=1900))
    it.turn("a plain sentence of words " * 300)
    (alarm,) = it.notices
    assert alarm.startswith("scripted read 100 of about 1,648 prompt tokens: its server cut what was asked now")
    it.turn("and?")
    assert it.notices == [alarm]


def test_fault_16_and_17_odd_text_goes_through_a_turn(store: Store) -> None:
    it = watched(store, "{y} {{z}}")
    it.turn("a\0b\ud800 {x} {{")
    assert it.history[0] == HumanMessage("a\0b\ud800 {x} {{")
    assert it.chat.script.requests[0] == [HumanMessage("a\0b? {x} {{")]


def test_fault_20_an_empty_message_of_the_user_does_not_brick_the_conversation(store: Store) -> None:
    it = watched(store, "Yes?", "Hello.")
    it.turn("   ")
    assert it.turn("hi").answer == "Hello."
    assert it.chat.script.requests[1] == [AIMessage("Yes?"), HumanMessage("hi")]


def test_the_system_prompt_leads_every_request(store: Store) -> None:
    it = watched(store, "Hello.")
    store.conversations.set_system_prompt(it.agent.conversation_id, "Be {brief}.")
    it.turn("hi")
    assert it.chat.script.requests[0] == [SystemMessage("Be {brief}."), HumanMessage("hi")]


def test_a_conversation_of_many_turns_never_exceeds_its_limit(store: Store) -> None:
    policy = Policy(max_tokens=400, limit_tokens=900, output_reserve=100)
    it = Watched(store, scripted(otherwise="word " * 60), policy=policy, tools=[])
    for number in range(25):
        assert it.turn(str(exchange(number)[0].content)).status == "done"
    recorded = store.calls.newest_first(it.agent.conversation_id, purpose="chat")
    assert len(recorded) == 25
    assert all(sum(part.tokens for part in call.parts) <= call.limit_tokens for call in recorded)
    assert it.agent.context().ledger.forgotten == Spans()
