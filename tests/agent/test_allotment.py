"""Asking an Ollama server what it really allots: as seldom as it can be, and never to the harm of a call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memcli.agent.agent import Agent, Model
from memcli.agent.allotment import Allotment
from memcli.agent.events import Alarmed, Event, Notice
from memcli.agent.ollama import connect
from memcli.agent.tools import builtin_tools
from memcli.memory.alarm import alarm_of
from memcli.memory.context import Policy
from memcli.memory.summarizer import ExtractiveSummarizer
from memcli.memory.travel import of_call
from memcli.store import Store
from tests.agent.scripted import Reply, asks, says, scripted
from tests.cli.conversations import add_chat, add_turn, said
from tests.memory.held_out import HELD_OUT
from tests.memory.talks import turn_of
from tests.ollama_served import Processes
from tests.ollama_server import FakeOllama

POLICY = Policy(max_tokens=6000, limit_tokens=8192, compact_every=1000)


@pytest.fixture
def server() -> Iterator[FakeOllama]:
    """Serve a model that cuts silently what does not fit."""
    with FakeOllama(overflow="truncate") as fake:
        yield fake


def an_agent(store: Store, server: FakeOllama, conversation_id: str) -> Agent:
    chat = connect("tiny", host=server.url, limit_tokens=8192, timeout_s=5)
    allotment = Allotment(server.url, "tiny", 8192, timeout_s=0.3)
    model = Model(chat, "tiny", 8192, can_call_tools=False, must_say_done=True, allotment=allotment)
    return Agent(store, conversation_id, model, policy=POLICY, summarizer=ExtractiveSummarizer())


def told(agent: Agent, text: str = "and the last?") -> list[Notice]:
    events: list[Event] = []
    assert agent.run_turn(text, events.append).status == "done"
    return [event for event in events if isinstance(event, Notice)]


def a_talk(store: Store, kind: str) -> str:
    if kind == "english":
        return add_chat(store, "long", 60).id
    talk = store.conversations.create(name=kind)
    turns = [turn_of(number) for number in range(1, 40)]
    if kind == "chinese":
        turns = [[said("human", text), said("ai", text)] for text, *_ in HELD_OUT["chinese"] * 4]
    for turn in turns:
        add_turn(store, talk, *turn)
    return talk.id


def asked(server: FakeOllama) -> int:
    return sum(request.path == "/api/ps" for request in server.requests)


def whole_prompt(path: Path, server: FakeOllama, kind: str) -> int:
    """Count what the same conversation's first call takes when nothing of it is cut, without leaving a trace."""
    with Store(path) as elsewhere:
        id = a_talk(elsewhere, kind)
        told(an_agent(elsewhere, server, id))
        return elsewhere.calls.get(id, 1).input_tokens or 0


@pytest.mark.parametrize("kind", ["english", "tool calls", "chinese"])
@pytest.mark.parametrize("share", [0.95, 0.9, 0.85, 0.8, 0.75, 0.7])
def test_every_cut_is_caught_on_the_very_first_call_and_by_its_record_later(
    store: Store, server: FakeOllama, tmp_path: Path, kind: str, share: float
) -> None:
    id = a_talk(store, kind)
    server.allots = int(share * whole_prompt(tmp_path / "elsewhere.db", server, kind))

    (alarm,) = told(an_agent(store, server, id))

    recorded = alarm_of(store, id, 1, of_call(store, store.conversations.get(id), 1, policy=POLICY).context)
    assert isinstance(alarm, Alarmed)
    assert recorded is not None
    assert (recorded.kind, recorded.text, recorded.allotted) == ("truncated", alarm.text, server.allots)


def test_a_server_that_allots_all_is_asked_once_and_raises_nothing(store: Store, server: FakeOllama) -> None:
    agent = an_agent(store, server, add_chat(store, "long", 60).id)

    assert [told(agent) for _ in range(3)] == [[], [], []]
    assert asked(server) == 1
    assert [store.calls.get(agent.conversation_id, id).allotted for id in (1, 2, 3)] == [8192, 8192, 8192]


def test_a_server_that_allots_less_is_told_of_before_it_cuts_and_asked_until_it_is_raised(
    store: Store, server: FakeOllama
) -> None:
    server.allots = 4096
    agent = an_agent(store, server, add_chat(store, "short", 3).id)

    (notice,) = told(agent)
    again = told(agent)
    server.allots = None
    raised = [told(agent), told(agent)]

    assert notice == Notice(
        "the server of tiny allots 4,096 of the 8,192 tokens asked for, and will cut longer prompts;"
        " set `limit_tokens` to 4096, or raise the server's own context length"
    )
    assert (again, raised, asked(server)) == ([], [[], []], 3)


@pytest.mark.parametrize("processes", ["old", "missing", "garbage", "hangs"])
def test_a_server_that_does_not_say_changes_nothing_and_is_asked_once(
    store: Store, server: FakeOllama, processes: Processes
) -> None:
    server.processes = processes
    agent = an_agent(store, server, add_chat(store, "long", 60).id)

    assert [told(agent), told(agent)] == [[], []]
    assert asked(server) == 1
    assert store.calls.get(agent.conversation_id, 2).allotted is None


def test_a_server_that_says_more_than_is_true_is_caught_by_its_count(store: Store, server: FakeOllama) -> None:
    server.processes, server.allots = "boasts", 1500

    (alarm,) = told(an_agent(store, server, add_chat(store, "long", 60).id))

    assert isinstance(alarm, Alarmed)
    assert alarm.text.endswith("its server cut the oldest off silently")


def test_a_server_that_is_gone_and_a_model_that_is_not_loaded_allot_nothing_known(server: FakeOllama) -> None:
    assert Allotment(server.url, "tiny", 8192).now() is None
    assert Allotment("http://127.0.0.1:9", "tiny", 8192).now() is None


@pytest.mark.parametrize(("name", "allotted"), [("tiny", 512), ("Tiny:latest", 512), ("tiny:other", None)])
def test_a_model_is_found_by_its_name_with_or_without_its_tag(
    server: FakeOllama, name: str, allotted: int | None
) -> None:
    server.loaded["tiny:latest"] = 512

    assert Allotment(server.url, name, 8192).now() == allotted


class Interrupted:
    """A question that somebody ends with Ctrl-C."""

    def now(self) -> int | None:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("reply", "status", "stored"),
    [(says("Yes."), "done", ["human", "ai"]), (asks(("now", {})), "interrupted", ["human", "ai"])],
)
def test_ctrl_c_while_the_server_is_asked_keeps_the_answer_and_begins_nothing_new(
    store: Store, reply: Reply, status: str, stored: list[str]
) -> None:
    talk = store.conversations.create()
    model = Model(scripted(reply), "scripted", 8192, can_call_tools=True, allotment=Interrupted())
    tools = builtin_tools(store, talk.id)
    agent = Agent(store, talk.id, model, policy=POLICY, summarizer=ExtractiveSummarizer(), tools=tools)

    result = agent.run_turn("Hello?", lambda event: None)

    assert (result.status, [message.role for message in store.messages.oldest_first(talk.id)]) == (status, stored)
    assert store.calls.get(talk.id, 1).status == "done"
