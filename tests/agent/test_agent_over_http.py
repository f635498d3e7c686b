"""The turn with the real ChatOllama against a server of ours: tools, thinking, and every way a server fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from memcli.agent.agent import Agent, Model, TurnResult
from memcli.agent.events import Alarmed, CallFinished, Event, ReasoningDelta, TextDelta
from memcli.agent.ollama import connect
from memcli.errors import ModelError, ModelTimeout, ModelUnreachable, PromptTruncated
from memcli.memory.context import Policy
from memcli.store import Store
from tests.agent.watching import fail, look, unheard
from tests.histories import opened
from tests.memory.summarizers import ScriptedSummarizer
from tests.ollama_replies import MODES, breaks, calls, fails, text, thinks
from tests.ollama_server import FakeOllama, Served


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("store")) as store:
        yield store


SERVED = Served("tiny:latest", 8192, ("completion", "tools", "thinking"))


@pytest.fixture
def server() -> Iterator[FakeOllama]:
    with FakeOllama(models=(SERVED,)) as fake:
        yield fake


@pytest.fixture
def over_http(store: Store, server: FakeOllama) -> Callable[[], Agent]:
    conversation = store.conversations.create()

    def make(timeout_s: float = 20.0) -> Agent:
        chat = connect("tiny", host=server.url, limit_tokens=8192, timeout_s=timeout_s, reasoning=True)
        model = Model(chat, "tiny", 8192, can_call_tools=True, must_say_done=True)
        return Agent(
            store, conversation.id, model, policy=Policy(), summarizer=ScriptedSummarizer(), tools=[look, fail]
        )

    return make


def stored_rows(store: Store, agent: Agent) -> list[tuple[str, str, str]]:
    rows = store.messages.oldest_first(agent.conversation_id, excluded=True)
    return [(row.role, row.text, row.state) for row in rows]


def test_a_turn_over_http_streams_counts_and_is_stored(
    store: Store, server: FakeOllama, over_http: Callable[[], Agent]
) -> None:
    server.script.append(text("Hello", ", Ann."))
    events: list[Event] = []
    agent = over_http()
    assert agent.run_turn("I am Ann", events.append).answer == "Hello, Ann."
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hello", ", Ann."]
    (finished,) = [event for event in events if isinstance(event, CallFinished)]
    assert (finished.input_tokens, finished.output_tokens, finished.finish_reason) == (227, 2, "stop")
    options = server.chats[0]["options"]
    assert isinstance(options, dict)
    assert options["num_ctx"] == 8192
    assert stored_rows(store, agent) == [("human", "I am Ann", "whole"), ("ai", "Hello, Ann.", "whole")]


def test_parallel_calls_over_http_are_run_and_their_results_sent_back(
    store: Store, server: FakeOllama, over_http: Callable[[], Agent]
) -> None:
    server.script.extend([calls(("look", {"at": "a"}), ("look", {"at": "b"}), say="Both."), text("Done.")])
    agent = over_http()
    assert agent.run_turn("go", unheard) == TurnResult(1, "done", "Done.")
    sent = server.chats[1]["messages"]
    assert isinstance(sent, list)
    assert [(message["role"], message["content"]) for message in sent] == [
        ("user", "go"),
        ("assistant", "Both."),
        ("tool", "saw a"),
        ("tool", "saw b"),
    ]


def test_fault_28_thinking_over_http_is_kept_beside(
    store: Store, server: FakeOllama, over_http: Callable[[], Agent]
) -> None:
    server.script.append(thinks("she is Ann", "Hello."))
    events: list[Event] = []
    agent = over_http()
    assert agent.run_turn("hi", events.append).answer == "Hello."
    assert ReasoningDelta("she is Ann") in events
    row = store.messages.get(agent.conversation_id, 2)
    assert (row.text, "she is Ann" in row.payload) == ("Hello.", True)


@pytest.mark.parametrize("mode", ["dies", "fades", "stream-error"])
def test_a_server_that_dies_in_mid_stream_keeps_the_partial_answer(
    store: Store, server: FakeOllama, over_http: Callable[[], Agent], mode: str
) -> None:
    server.script.append(MODES[mode])
    agent = over_http()
    result = agent.run_turn("hi", unheard)
    assert result.status == "interrupted"
    assert isinstance(result.error, ModelError)
    assert result.answer.startswith("Half an")
    assert stored_rows(store, agent)[1] == ("ai", result.answer, "partial")


def test_a_500_fails_the_turn_and_retry_answers_it(
    store: Store, server: FakeOllama, over_http: Callable[[], Agent]
) -> None:
    server.script.extend([fails(500, "llama runner process has terminated"), text("Hello.")])
    agent = over_http()
    result = agent.run_turn("hi", unheard)
    assert result.status == "failed"
    assert result.error is not None
    assert "500" in result.error.message
    assert agent.retry(unheard).answer == "Hello."
    assert stored_rows(store, agent) == [("human", "hi", "whole"), ("ai", "Hello.", "whole")]


def test_a_server_that_never_answers_is_given_up(
    store: Store, server: FakeOllama, over_http: Callable[..., Agent]
) -> None:
    server.script.append(breaks(ending="hang"))
    agent = over_http(0.3)
    result = agent.run_turn("hi", unheard)
    assert (result.status, type(result.error)) == ("failed", ModelTimeout)


def test_a_server_that_falls_silent_in_mid_stream_keeps_the_partial_answer(
    store: Store, server: FakeOllama, over_http: Callable[..., Agent]
) -> None:
    server.script.append(breaks("Half an", ending="hang"))
    agent = over_http(0.3)
    result = agent.run_turn("hi", unheard)
    assert (result.status, type(result.error), result.answer) == ("interrupted", ModelTimeout, "Half an")


def test_fault_4_broken_arguments_over_http_fail_the_turn_and_the_next_one_works(
    store: Store, server: FakeOllama, over_http: Callable[[], Agent]
) -> None:
    server.script.extend([MODES["broken-arguments"], text("Hello.")])
    agent = over_http()
    result = agent.run_turn("hi", unheard)
    assert isinstance(result.error, ModelError)
    assert agent.run_turn("again", unheard).answer == "Hello."
    assert store.check() == []


def test_a_server_that_is_gone_fails_the_turn_as_unreachable(store: Store) -> None:
    chat = connect("tiny", host="http://127.0.0.1:9", limit_tokens=8192, timeout_s=1.0)
    model = Model(chat, "tiny", 8192, can_call_tools=True, must_say_done=True)
    agent = Agent(store, store.conversations.create().id, model, policy=Policy(), summarizer=ScriptedSummarizer())
    assert isinstance(agent.run_turn("hi", unheard).error, ModelUnreachable)


def test_fault_21_a_server_that_cuts_the_prompt_silently_raises_an_alarm_over_http(
    store: Store, server: FakeOllama
) -> None:
    server.overflow = "truncate"
    chat = connect("tiny", host=server.url, limit_tokens=512, timeout_s=20.0)
    model = Model(chat, "tiny", 512, can_call_tools=False, must_say_done=True)
    policy = Policy(limit_tokens=100_000)
    agent = Agent(store, store.conversations.create().id, model, policy=policy, summarizer=ScriptedSummarizer())
    events: list[Event] = []
    agent.run_turn("a plain sentence of words " * 300, events.append)
    (alarm,) = [event for event in events if isinstance(event, Alarmed)]
    assert alarm.text == (
        "tiny read 512 of about 1,570 prompt tokens: its server cut what was asked now, which alone takes 1,570"
    )
    assert isinstance(alarm.error, PromptTruncated)
