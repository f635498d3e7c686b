"""One entry of a `messages` list becomes one record, and nothing of it is lost."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from memcli.memory.tokens import count_message_tokens
from memcli.records import NewMessage
from memcli.transcripts.lossless_json import Json, parse
from memcli.transcripts.openai_message import read_message


def read(entry: dict[str, Json]) -> NewMessage:
    return read_message(entry)


def payload(entry: dict[str, Json]) -> Json:
    return parse(read_message(entry).payload)


def test_a_user_message_is_a_human_message() -> None:
    assert read({"role": "user", "content": "hi", "name": "Ann"}) == NewMessage(
        kind="human",
        role="human",
        text="hi",
        payload='{"content": "hi", "name": "Ann"}',
        tokens=count_message_tokens(role="user", content="hi", name="Ann"),
    )


def test_an_assistant_message_keeps_its_calls_in_langchain_form() -> None:
    call: Json = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"seat": 4}'}}
    made: dict[str, Json] = {"name": "book", "args": {"seat": 4}, "id": "c1", "type": "tool_call"}
    message = read({"role": "assistant", "content": None, "tool_calls": [call]})
    assert parse(message.payload) == {"content": "", "tool_calls": [made]}
    assert (message.kind, message.role, message.state, message.text) == ("ai", "ai", "whole", "")
    assert message.tokens == count_message_tokens(role="assistant", content="", tool_calls=[made])


@pytest.mark.parametrize("arguments", ["", "  ", None, {}])
def test_empty_arguments_mean_no_arguments(arguments: Json) -> None:
    call: Json = {"id": "c1", "function": {"name": "now", "arguments": arguments}}
    assert payload({"role": "assistant", "tool_calls": [call]}) == {
        "content": "",
        "tool_calls": [{"name": "now", "args": {}, "id": "c1", "type": "tool_call"}],
    }


def test_arguments_that_are_already_an_object_stay_one() -> None:
    call: Json = {"id": "c1", "function": {"name": "f", "arguments": {"a": [1]}}}
    assert payload({"role": "assistant", "tool_calls": [call]}) == {
        "content": "",
        "tool_calls": [{"name": "f", "args": {"a": [1]}, "id": "c1", "type": "tool_call"}],
    }


@pytest.mark.parametrize(
    ("arguments", "raw", "error"),
    [
        ('{"a":', '{"a":', "not valid JSON: Expecting value at character 6"),
        ("[1]", "[1]", "the arguments are not an object"),
        ("null", "null", "the arguments are not an object"),
        (7, "7", "the arguments are not an object"),
        ('{"a":' * 300, '{"a":' * 300, "not valid JSON: Expecting value at character 1501"),
        ('{"a":' * 300 + "1" + "}" * 300, '{"a":' * 300 + "1" + "}" * 300, "nested deeper than 200 levels"),
    ],
)
def test_broken_arguments_are_kept_raw_and_the_message_is_partial(arguments: Json, raw: str, error: str) -> None:
    call: Json = {"id": "c1", "function": {"name": "f", "arguments": arguments}}
    message = read({"role": "assistant", "content": "x", "tool_calls": [call]})
    invalid = {"name": "f", "args": raw, "id": "c1", "error": error, "type": "invalid_tool_call"}
    assert (parse(message.payload), message.state) == ({"content": "x", "invalid_tool_calls": [invalid]}, "partial")


def test_calls_that_are_no_calls_are_kept_as_invalid_and_null_ones_are_nothing() -> None:
    read_payload = payload({"role": "assistant", "tool_calls": [None, "x", {"id": 3, "function": {"arguments": "{}"}}]})
    assert isinstance(read_payload, dict)
    assert read_payload["invalid_tool_calls"] == [
        {"name": None, "args": '"x"', "id": None, "error": "the call is not an object", "type": "invalid_tool_call"},
        {
            "name": None,
            "args": '{"id": 3, "function": {"arguments": "{}"}}',
            "id": "3",
            "error": "the call names no function",
            "type": "invalid_tool_call",
        },
    ]


def test_a_tool_result_names_its_call() -> None:
    message = read({"role": "tool", "tool_call_id": "c1", "name": "book", "content": "ok", "status": "error"})
    assert parse(message.payload) == {"content": "ok", "tool_call_id": "c1", "status": "error", "name": "book"}
    assert (message.kind, message.role) == ("tool", "tool")


def test_a_tool_result_that_is_an_object_is_its_json_text() -> None:
    assert payload({"role": "tool", "content": {"ok": True, "n": 2}}) == {
        "content": '{"ok": true, "n": 2}',
        "tool_call_id": "",
    }


def test_a_developer_message_is_a_system_message_that_knows_its_role() -> None:
    message = read({"role": "developer", "content": "be brief"})
    assert parse(message.payload) == {"content": "be brief", "additional_kwargs": {"__openai_role__": "developer"}}
    assert (message.kind, message.role) == ("system", "system")


def test_legacy_function_messages_are_kept() -> None:
    call: dict[str, Json] = {"name": "f", "arguments": "{}"}
    assert payload({"role": "assistant", "content": None, "function_call": call}) == {
        "content": "",
        "additional_kwargs": {"function_call": call},
    }
    result = read({"role": "function", "name": "f", "content": "4"})
    assert (result.kind, result.role, result.payload) == ("function", "other", '{"content": "4", "name": "f"}')


def test_an_unknown_role_is_a_chat_message_with_that_role() -> None:
    message = read({"role": "critic", "content": "no"})
    assert (message.kind, message.role, message.payload) == ("chat", "other", '{"content": "no", "role": "critic"}')


def test_reasoning_is_kept_beside_the_message_and_not_in_its_text() -> None:
    message = read({"role": "assistant", "content": "4", "reasoning_content": "2+2", "reasoning": None})
    assert (message.text, parse(message.payload)) == (
        "4",
        {"content": "4", "additional_kwargs": {"reasoning_content": "2+2"}},
    )


def test_reasoning_tags_before_an_answer_stay_in_the_payload_alone() -> None:
    message = read({"role": "assistant", "content": "<think>2+2</think>4"})
    assert (message.text, parse(message.payload)) == ("4", {"content": "<think>2+2</think>4"})


def test_parts_are_kept_and_their_text_is_what_a_person_reads() -> None:
    parts: list[Json] = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "thinking", "thinking": "hm"},
        {"type": "input_text", "text": "here"},
        {"type": "refusal", "refusal": "no"},
        "bare",
        {"type": "hologram"},
    ]
    message = read({"role": "user", "content": parts})
    assert parse(message.payload) == {"content": parts}
    assert message.text == "look\n[image]\nhere\nno\nbare\n[hologram]"


def test_parts_that_are_no_parts_become_their_json_text_and_null_is_nothing() -> None:
    assert payload({"role": "user", "content": [1, None, ["a"], {"b": 2}]}) == {"content": ["1", '["a"]', '{"b": 2}']}


def test_a_refusal_in_place_of_content_is_readable() -> None:
    assert read({"role": "assistant", "content": None, "refusal": "I cannot"}).text == "I cannot"


@pytest.mark.parametrize(
    "stamp",
    [1715785200, 1715785200.0, 1715785200000, 1715785200000000, "2024-05-15T15:00:00Z", "2024-05-15 15:00:00"],
)
def test_a_time_is_read_in_every_usual_form(stamp: Json) -> None:
    message = read({"role": "user", "content": "x", "timestamp": stamp})
    assert (message.created_at, message.payload) == (datetime(2024, 5, 15, 15, tzinfo=UTC), '{"content": "x"}')


@pytest.mark.parametrize("stamp", ["yesterday", 1e300, True, [1], {"__memcli__": "float", "value": "nan"}])
def test_a_time_that_is_none_is_kept_as_it_is(stamp: Json) -> None:
    message = read({"role": "user", "content": "x", "created": stamp})
    assert (message.created_at, parse(message.payload)) == (
        None,
        {"content": "x", "additional_kwargs": {"created": stamp}},
    )


@pytest.mark.parametrize(
    ("entry", "reason"),
    [(None, "it is null"), ("hi", "it is not an object"), ({}, "it has no role"), ({"role": 3}, "it has no role")],
)
def test_what_is_no_message_says_why(entry: Json, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{reason}$"):
        read_message(entry)


@pytest.mark.parametrize("text", ["\ud800", "nul \0", "{x} {{", "[/b]\x1b[31m", "漢字 👩‍👩‍👧", "\u202e"])
def test_hostile_text_survives_in_strict_ascii(text: str) -> None:
    message = read({"role": "user", "content": text})
    assert message.payload.isascii()
    assert json.loads(message.payload) == {"content": text}


def test_what_strict_json_cannot_hold_is_tagged() -> None:
    digits = "9" * 5000
    raw = '{"a": NaN, "b": -Infinity, "c": 1e999, "d": ' + digits + ', "e": 123456789012345678901234567890}'
    call: Json = {"id": "c", "function": {"name": "f", "arguments": raw}}
    read_payload = payload({"role": "assistant", "tool_calls": [call]})
    assert isinstance(read_payload, dict)
    assert read_payload["tool_calls"] == [
        {
            "name": "f",
            "args": {
                "a": {"__memcli__": "float", "value": "nan"},
                "b": {"__memcli__": "float", "value": "-inf"},
                "c": {"__memcli__": "float", "value": "inf"},
                "d": {"__memcli__": "int", "value": digits},
                "e": 123456789012345678901234567890,
            },
            "id": "c",
            "type": "tool_call",
        }
    ]
