"""A server that cuts, refuses or falls silent, over real HTTP: each is caught on its first call and told apart."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memcli.agent.agent import Agent, Model
from memcli.agent.ollama import connect
from memcli.memory.alarm import Alarm, alarm_of
from memcli.memory.context import Policy
from memcli.memory.summarizer import ExtractiveSummarizer
from memcli.memory.travel import of_call
from memcli.store import Store
from tests.cli.conversations import add_chat
from tests.ollama_replies import MODES, breaks
from tests.ollama_server import FakeOllama, Overflow, Served

POLICY = Policy(max_tokens=6000, limit_tokens=8192, compact_every=1000)


@pytest.fixture
def server() -> Iterator[FakeOllama]:
    """Serve a model whose context is smaller than it says."""
    with FakeOllama() as fake:
        yield fake


def alarm_on_first_call(store: Store, server: FakeOllama, *, turns: int, text: str = "and the last?") -> Alarm | None:
    """Hold a conversation's next turn and judge its one call."""
    talk = add_chat(store, "long", turns)
    chat = connect("tiny", host=server.url, limit_tokens=8192, timeout_s=0.5)
    model = Model(chat, "tiny", 8192, can_call_tools=False, must_say_done=True)
    Agent(store, talk.id, model, policy=POLICY, summarizer=ExtractiveSummarizer()).run_turn(text, lambda event: None)
    return alarm_of(store, talk.id, 1, of_call(store, talk, 1, policy=POLICY).context)


@pytest.mark.parametrize(
    ("allotted", "overflow", "turns", "text", "expected"),
    [
        (32_768, "truncate", 60, "and the last?", None),
        (2048, "truncate", 60, "and the last?", "truncated"),
        (512, "truncate", 60, "and the last?", "truncated"),
        (256, "truncate", 60, "which of them " * 200, "cut_turn"),
        (2048, "refuse", 60, "and the last?", "refused"),
        (2048, "truncate", 3, "and the last?", None),
    ],
)
def test_what_the_server_did_to_the_prompt_is_told_on_the_first_call(
    store: Store, server: FakeOllama, allotted: int, overflow: Overflow, turns: int, text: str, expected: str | None
) -> None:
    server.models = (Served(context_length=allotted),)
    server.overflow = overflow

    alarm = alarm_on_first_call(store, server, turns=turns, text=text)

    assert (alarm.kind if alarm else None) == expected


@pytest.mark.parametrize("ending", ["hang", "cut"])
def test_a_server_that_stops_answering_is_told_from_one_that_cuts(
    store: Store, server: FakeOllama, ending: str
) -> None:
    server.otherwise = breaks(ending="hang") if ending == "hang" else breaks("Hel", ending="cut")

    alarm = alarm_on_first_call(store, server, turns=60)

    assert (alarm.kind if alarm else None) == "silent"


def test_a_whole_answer_raises_no_alarm(store: Store, server: FakeOllama) -> None:
    server.otherwise = MODES["text"]

    assert alarm_on_first_call(store, server, turns=60) is None
