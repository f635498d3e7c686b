"""Every LangChain message class comes back from a real store as it was, and is counted as LangChain counts it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import cast
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from langchain_core.messages.utils import count_tokens_approximately

from memcli.agent.codec import KINDS, decode, encode, kind_of, role_of
from memcli.memory.payload import TAG
from memcli.records import StoredMessage
from memcli.store import Store
from tests.histories import opened

texts = st.one_of(
    st.text(max_size=12), st.sampled_from(["", "\ud800", "a\0b", "{x} {{y}}", "你好", "👨‍👩‍👧", "<think>hm</think>yes"])
)
finite = st.floats(allow_nan=False)
odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    finite,
    texts,
    st.binary(max_size=6),
    st.datetimes(timezones=st.none() | st.just(UTC)),
    st.sets(st.integers(), max_size=3),
    st.tuples(st.integers(), texts),
    st.decimals(allow_nan=False),
    st.uuids(),
)
objects = st.dictionaries(texts, st.one_of(odd, st.lists(odd, max_size=2)), max_size=3)
blocks = st.one_of(
    texts,
    st.builds(lambda text: {"type": "text", "text": text}, texts),
    st.builds(lambda url: {"type": "image_url", "image_url": {"url": url}}, texts),
    st.builds(lambda text: {"type": "reasoning", "reasoning": text}, texts),
    objects,
)
contents = st.one_of(texts, st.lists(blocks, max_size=3))
optional = st.none() | texts
calls = st.lists(
    st.builds(
        lambda name, args, id: {"name": name, "args": args, "id": id, "type": "tool_call"}, texts, objects, optional
    ),
    max_size=2,
)
plain_calls = st.lists(
    st.builds(
        lambda name, id: {"name": name, "args": {"at": [1, name]}, "id": id, "type": "tool_call"}, texts, optional
    ),
    max_size=2,
)
"""A chunk writes its calls as JSON when it is made."""
invalid_calls = st.lists(
    st.builds(
        lambda name, args, id, error: {
            "name": name,
            "args": args,
            "id": id,
            "error": error,
            "type": "invalid_tool_call",
        },
        optional,
        optional,
        optional,
        optional,
    ),
    max_size=2,
)
call_chunks = st.lists(
    st.builds(
        lambda name, args, id, index: {"name": name, "args": args, "id": id, "index": index, "type": "tool_call_chunk"},
        optional,
        optional,
        optional,
        st.none() | st.integers(0, 3),
    ),
    max_size=2,
)
usages = st.none() | st.builds(
    lambda read, wrote: {
        "input_tokens": read,
        "output_tokens": wrote,
        "total_tokens": read + wrote,
        "input_token_details": {"cache_read": read},
    },
    st.integers(0, 9999),
    st.integers(0, 9999),
)
shared = {
    "content": contents,
    "name": optional,
    "id": optional,
    "additional_kwargs": objects,
    "response_metadata": objects,
}
ai = {**shared, "tool_calls": calls, "invalid_tool_calls": invalid_calls, "usage_metadata": usages}
tool = {**shared, "tool_call_id": texts, "artifact": odd, "status": st.sampled_from(["success", "error"])}
messages: st.SearchStrategy[BaseMessage] = st.one_of(
    st.builds(HumanMessage, **shared),
    st.builds(HumanMessageChunk, **shared),
    st.builds(AIMessage, **ai),
    st.builds(AIMessageChunk, **{**shared, "tool_call_chunks": call_chunks, "usage_metadata": usages}),
    st.builds(AIMessageChunk, **{**ai, "tool_calls": plain_calls}),
    st.builds(SystemMessage, **shared),
    st.builds(SystemMessageChunk, **shared),
    st.builds(ToolMessage, **tool),
    st.builds(ToolMessageChunk, **tool),
    st.builds(ChatMessage, **shared, role=texts),
    st.builds(ChatMessageChunk, **shared, role=texts),
    st.builds(FunctionMessage, **{**shared, "name": texts}),
    st.builds(FunctionMessageChunk, **{**shared, "name": texts}),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("store")) as store:
        yield store


@pytest.fixture(scope="module")
def conversation_id(store: Store) -> str:
    return store.conversations.create().id


def round_trip(store: Store, conversation_id: str, message: BaseMessage) -> tuple[StoredMessage, BaseMessage | None]:
    new = replace(encode(message), uid=None)
    id = store.messages.append(conversation_id, [new])[0].id
    stored = store.messages.get(conversation_id, id)
    return stored, decode(stored)


@settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(message=messages)
def test_every_message_comes_back_exactly_and_is_counted_as_langchain_counts_it(
    store: Store, conversation_id: str, message: BaseMessage
) -> None:
    stored, back = round_trip(store, conversation_id, message)
    assert type(back) is type(message)
    assert back == message
    assert stored.tokens == count_tokens_approximately([message])


@pytest.mark.parametrize("kind", sorted(kind for kind, cls in KINDS.items() if "created_at" not in cls.model_fields))
def test_every_class_is_kept_under_its_own_kind(kind: str) -> None:
    names = {"ChatMessage": {"role": "critic"}, "FunctionMessage": {"name": "f"}, "ToolMessage": {"tool_call_id": "a"}}
    cls = KINDS[kind]
    extra = names.get(cls.__name__.removesuffix("Chunk"), {})
    message = RemoveMessage(id="r") if cls is RemoveMessage else cast("type[HumanMessage]", cls)(content="x", **extra)
    assert (kind_of(message), message.type) == (kind, kind)


def test_a_remove_message_comes_back_exactly(store: Store, conversation_id: str) -> None:
    _, back = round_trip(store, conversation_id, RemoveMessage(id="r"))
    assert back == RemoveMessage(id="r")


def test_fault_16_a_tool_message_keeps_whatever_hangs_on_it(store: Store, conversation_id: str) -> None:
    artifact = {
        "raw": b"\x00\xff",
        "at": datetime(2024, 2, 29, tzinfo=UTC),
        "ids": {1, 2},
        "pair": (1, "\ud800"),
        "price": Decimal("9.90"),
        "key": UUID(int=1),
        5: "a key that is no text",
    }
    message = ToolMessage("found \0 \ud800", tool_call_id="a", name="look", artifact=artifact, status="error")
    _, back = round_trip(store, conversation_id, message)
    assert back == message


def test_fault_16_nan_in_arguments_and_artifact_comes_back(store: Store, conversation_id: str) -> None:
    call = {"name": "look", "args": {"at": float("nan")}, "id": "a", "type": "tool_call"}
    _, asked = round_trip(store, conversation_id, AIMessage("", tool_calls=[call]))
    _, found = round_trip(store, conversation_id, ToolMessage("", tool_call_id="a", artifact=[float("nan")]))
    assert isinstance(asked, AIMessage)
    assert isinstance(found, ToolMessage)
    assert repr((asked.tool_calls[0]["args"], found.artifact)) == "({'at': nan}, [nan])"


def test_fault_16_an_integer_too_long_to_print_comes_back(store: Store, conversation_id: str) -> None:
    call = {"name": "look", "args": {"at": 2**20_000}, "id": "a", "type": "tool_call"}
    message = AIMessage("", tool_calls=[call])
    _, back = round_trip(store, conversation_id, message)
    assert isinstance(back, AIMessage)
    assert back.tool_calls[0]["args"] == {"at": 2**20_000}


class Opaque:
    def __repr__(self) -> str:
        return "<Opaque>"

    def __eq__(self, other: object) -> bool:
        raise TypeError("the truth value of this is ambiguous")

    __hash__ = None  # type: ignore[assignment]


def test_fault_16_an_object_is_named_in_place_and_the_message_kept(store: Store, conversation_id: str) -> None:
    message = ToolMessage("found", tool_call_id="a", artifact=Opaque())
    _, back = round_trip(store, conversation_id, message)
    substitution = {TAG: "repr", "value": {"type": f"{__name__}.Opaque", "repr": "<Opaque>"}}
    assert back == ToolMessage("found", tool_call_id="a", artifact=substitution)


def test_fault_16_text_no_column_holds_is_shown_and_the_original_kept(store: Store, conversation_id: str) -> None:
    stored, back = round_trip(store, conversation_id, HumanMessage("a\0b\ud800c"))
    assert stored.text == "a␀b\\ud800c"
    assert back == HumanMessage("a\0b\ud800c")


def test_fault_28_reasoning_is_kept_beside_the_answer_and_is_no_part_of_its_text(
    store: Store, conversation_id: str
) -> None:
    tagged = AIMessage("<think>the user wants 4</think>It is 4.")
    beside = AIMessage("It is 4.", additional_kwargs={"reasoning_content": "the user wants 4"})
    in_blocks = AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "It is 4."}])
    for message in (tagged, beside, in_blocks):
        stored, back = round_trip(store, conversation_id, message)
        assert stored.text == "It is 4."
        assert back == message


def test_a_class_of_somebodys_own_is_kept_as_the_nearest_known_one_with_its_fields(
    store: Store, conversation_id: str
) -> None:
    class Rated(HumanMessage):
        stars: int = 0

    stored, back = round_trip(store, conversation_id, Rated(content="good", stars=5))
    assert (stored.kind, stored.role) == ("human", "human")
    assert back == HumanMessage(content="good", stars=5)


def test_roles_are_the_parts_messages_play() -> None:
    said = [
        HumanMessage("x"),
        AIMessageChunk(content="x"),
        ToolMessage("x", tool_call_id="a"),
        SystemMessage("x"),
        ChatMessage(content="x", role="user"),
    ]
    assert [role_of(message) for message in said] == ["human", "ai", "tool", "system", "other"]


def test_fault_22_a_row_that_is_no_message_is_none_and_never_an_error(store: Store, conversation_id: str) -> None:
    good = encode(HumanMessage("x"))
    bad = [
        replace(good, payload='{"content": 7}'),
        replace(good, payload="{}", kind="tool"),
        replace(good, kind="hologram"),
        replace(good, payload="[1"),
        replace(good, payload='{"content": ' + "[" * 900 + "]" * 900 + "}"),
    ]
    ids = [item.id for item in store.messages.append(conversation_id, [replace(item, uid=None) for item in bad])]
    assert [decode(store.messages.get(conversation_id, id)) for id in ids] == [None] * len(bad)
