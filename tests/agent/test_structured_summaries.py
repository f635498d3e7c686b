"""A turn's summary asked for by schema, over any kind of chat model, and in plain words where that fails."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolCall

from memcli.agent.ollama import connect
from memcli.agent.summarizer import ModelSummarizer
from memcli.errors import ModelError, ModelUnreachable
from memcli.memory.context import Policy
from memcli.memory.turn_prompts import TURN_SCHEMA, TurnFields, read_turn, turn_prompt
from memcli.store import Store
from tests.agent.scripted import ScriptedChat, asks, says, scripted
from tests.memory.turning import begin, of_turns, settle
from tests.ollama_replies import fails, text
from tests.ollama_server import FakeOllama, Served

FIELDS = {"user": "Book it.", "actions": "looked", "response": "Booked."}
LINES = "REQUEST: Book it.\nACTIONS: looked\nRESPONSE: Booked."
WANTED = TurnFields("Book it.", "looked", "Booked.")
PROMPT = turn_prompt((), body_tokens=100)


class PlainChat(ScriptedChat):
    """A model that has no structured output at all."""

    def with_structured_output(self, schema: object, *, include_raw: bool = False, **kwargs: object) -> object:  # type: ignore[override]
        raise NotImplementedError


def plainly(messages: list[BaseMessage]) -> AIMessage:
    """Answer in lines when asked for lines, else with a chat."""
    return AIMessage(LINES if "three lines" in str(messages[0].content) else "Sure, happy to help.")


def test_a_model_that_calls_tools_answers_by_one_and_it_counts_as_no_request_for_a_tool() -> None:
    answer = AIMessage("", tool_calls=[ToolCall(name="turn_summary", args=FIELDS, id="a")])
    completion = ModelSummarizer(scripted(answer)).complete(PROMPT)
    assert (read_turn(completion.text), completion.asked_for_tools) == (WANTED, False)


def test_a_model_that_answers_with_json_or_lines_of_its_own_is_taken_at_its_word() -> None:
    for said in (json.dumps(FIELDS), LINES):
        chat = scripted(says(said, input_tokens=40))
        completion = ModelSummarizer(chat).complete(PROMPT)
        assert (read_turn(completion.text), completion.input_tokens, len(chat.script.requests)) == (WANTED, 40, 1)


def test_an_answer_that_cannot_be_read_is_asked_for_again_in_plain_words_and_both_are_counted() -> None:
    chat = scripted(says("Sure!", input_tokens=40, output_tokens=2), says(LINES, input_tokens=50, output_tokens=9))
    completion = ModelSummarizer(chat).complete(PROMPT)
    assert read_turn(completion.text) == WANTED
    assert (completion.input_tokens, completion.output_tokens) == (90, 11)
    assert ["three lines" in str(request[0].content) for request in chat.script.requests] == [False, True]


def test_a_model_without_structured_output_is_asked_in_plain_words() -> None:
    chat = PlainChat(script=scripted(plainly, plainly).script)
    summarizer = ModelSummarizer(chat)
    for _ in range(2):
        assert read_turn(summarizer.complete(PROMPT).text) == WANTED
    assert len(chat.script.requests) == 2


def test_a_server_that_refuses_a_schema_is_not_given_one_again() -> None:
    chat = scripted(RuntimeError("400 tools are not supported"), plainly, plainly)
    summarizer = ModelSummarizer(chat)
    for _ in range(2):
        assert read_turn(summarizer.complete(PROMPT).text) == WANTED
    assert len(chat.script.requests) == 3


def test_a_model_that_cannot_be_reached_is_not_asked_twice() -> None:
    chat = scripted(ModelUnreachable("gone"))
    with pytest.raises(ModelUnreachable):
        ModelSummarizer(chat).complete(PROMPT)
    assert len(chat.script.requests) == 1


def test_a_request_for_a_tool_of_its_own_is_told() -> None:
    completion = ModelSummarizer(scripted(asks(("look", {})), asks(("look", {})))).complete(PROMPT)
    assert completion.asked_for_tools


@pytest.fixture
def server() -> Iterator[FakeOllama]:
    with FakeOllama(models=(Served(),)) as fake:
        yield fake


def over_http(server: FakeOllama) -> ModelSummarizer:
    chat = connect("tiny", host=server.url, limit_tokens=8192, timeout_s=20)
    return ModelSummarizer(chat, label="tiny", window_tokens=8192)


def test_ollama_is_given_the_schema_as_its_format(server: FakeOllama) -> None:
    server.script.append(text(json.dumps(FIELDS)))
    completion = over_http(server).complete(PROMPT)
    (request,) = server.chats
    assert request["format"] == TURN_SCHEMA
    assert not request.get("tools")
    assert read_turn(completion.text) == WANTED
    assert completion.asked_for_tools is False


def test_ollama_that_refuses_the_schema_is_asked_without(server: FakeOllama) -> None:
    server.script.extend([fails(400, "invalid format"), text(LINES)])
    assert read_turn(over_http(server).complete(PROMPT).text) == WANTED
    assert [bool(request.get("format")) for request in server.chats] == [True, False]


def test_a_server_that_fails_altogether_fails_the_summary(server: FakeOllama) -> None:
    server.otherwise = fails(500, "out of memory")
    with pytest.raises(ModelError):
        over_http(server).complete(PROMPT)


def test_a_conversation_settles_over_http_with_a_schema(store: Store, server: FakeOllama) -> None:
    server.otherwise = text(json.dumps(FIELDS))
    talk = begin(store, turns=3)
    result = settle(store, talk, over_http(server), Policy())
    assert (result.status, len(server.chats)) == ("compacted", 3)
    assert [summary.details["user"] for summary in of_turns(store, talk)] == ["Book it."] * 3
    assert not any(summary.fallback for summary in of_turns(store, talk))
