"""What is written reads back as what it was."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from memcli.records import Conversation, MessageState, NewMessage, Role, StoredMessage
from memcli.transcripts.imported import ImportedConversation, payload_object
from memcli.transcripts.lossless_json import Json, canonical, encode
from memcli.transcripts.openai_message import read_message
from memcli.transcripts.openai_reader import read_openai
from memcli.transcripts.openai_writer import write_openai

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


def conversation(source: str | None = None) -> Conversation:
    return Conversation(
        id="c0ffee", name="N", model="m", system_prompt="be brief", memory="window", settings={}, parent_id=None,
        forked_at=None, source=source, created_at=MOMENT, updated_at=MOMENT, last_message_id=0, turns=0, tokens=0,
    )  # fmt: skip


def stored(message: NewMessage, id: int) -> StoredMessage:
    return StoredMessage(
        id, "c0ffee", None, message.uid or f"u{id}", message.kind, message.role, message.text, message.payload,
        message.tokens, message.created_at or MOMENT, message.state,
    )  # fmt: skip


def export(messages: Iterable[StoredMessage], source: str | None = None) -> str:
    out = io.StringIO()
    write_openai(conversation(source), messages, out)
    return out.getvalue()


def import_one(line: str) -> ImportedConversation:
    (item,) = read_openai(io.BytesIO(line.encode("utf-8")), name="f")
    assert isinstance(item, ImportedConversation)
    return item


def told(message: NewMessage | StoredMessage) -> tuple[object, ...]:
    """Everything of a message that an export must keep."""
    return (
        message.kind,
        message.role,
        message.text,
        canonical(payload_object(message.payload)),
        message.state,
        message.created_at,
    )


texts = st.text(st.characters(codec=None), max_size=8)
values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
roles = st.sampled_from(["user", "assistant", "tool", "system", "developer", "function", "critic", "ai", "human"])
functions = st.fixed_dictionaries(
    {}, optional={"name": texts, "arguments": texts | values | st.dictionaries(texts, values, max_size=2).map(encode)}
)
calls = st.fixed_dictionaries({}, optional={"id": texts | values, "type": texts, "function": functions})
part_types = st.sampled_from(["text", "image_url", "refusal"]) | texts
parts: st.SearchStrategy[Json] = st.fixed_dictionaries({"type": part_types}, optional={"text": texts}).map(
    lambda part: cast("Json", part)
)
fields: dict[str, st.SearchStrategy[Json]] = {
    "content": texts | values | st.lists(parts | values, max_size=3),
    "tool_calls": st.lists(calls | values, max_size=3) | values,
    "tool_call_id": texts | values,
    "name": texts | values,
    "id": texts | values,
    "status": st.sampled_from(["success", "error"]) | values,
    "reasoning_content": texts,
    "function_call": functions,
    "created_at": st.sampled_from([1700000000, "2024-05-15T15:00:00Z", "soon"]),
    "additional_kwargs": values,
    "memcli": values,
}
entries: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries({"role": roles}, optional=fields)


@given(entry=entries)
def test_an_imported_message_survives_export(entry: dict[str, Json]) -> None:
    message = stored(read_message(entry), 1)
    assert told(import_one(export([message])).messages[0]) == told(message)


@given(
    kind=st.sampled_from(["human", "ai", "AIMessageChunk", "user", "compaction", "tool", "chat", "function"]),
    role=st.sampled_from(["human", "ai", "tool", "system", "other"]),
    payload=st.dictionaries(
        st.sampled_from(
            ["content", "tool_calls", "usage_metadata", "artifact", "id", "name", "additional_kwargs", "role"]
        ),
        values,
    ),
    state=st.sampled_from(["whole", "partial", "failed", "rewound"]),
)
def test_any_stored_message_survives_export(
    kind: str, role: Role, payload: dict[str, Json], state: MessageState
) -> None:
    message = StoredMessage(1, "c0ffee", 1, "u1", kind, role, "seen", encode(payload), 5, MOMENT, state)
    assert told(import_one(export([message])).messages[0]) == told(message)


def test_the_words_of_the_format_are_used_where_it_has_them() -> None:
    call: dict[str, Json] = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    entries: list[dict[str, Json]] = [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}], "name": "Ann"},
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"},
        {"role": "tool", "content": "4", "name": "f", "tool_call_id": "c1"},
    ]
    line = export(stored(read_message(entry), id) for id, entry in enumerate(entries, 1))
    assert json.loads(line) == {
        "id": "c0ffee",
        "title": "N",
        "model": "m",
        "system_prompt": "be brief",
        "created_at": MOMENT.isoformat(),
        "messages": [entry | {"created_at": MOMENT.isoformat()} for entry in entries],
    }


def test_conversation_fields_survive_export() -> None:
    item = import_one(export([]))
    assert (item.key, item.name, item.model, item.system_prompt, item.created_at, item.messages, dict(item.extra)) == (
        "c0ffee", "N", "m", "be brief", MOMENT, (), {},
    )  # fmt: skip


def test_an_imported_conversation_keeps_its_key() -> None:
    assert import_one(export([], source="openai:sha256:0:abc")).key == "sha256:0:abc"


def test_an_unreadable_message_is_written_as_its_text() -> None:
    message = StoredMessage(1, "c0ffee", 1, "u", "ai", "ai", "seen", "{", 5, MOMENT, "whole").as_unreadable()
    assert json.loads(export([message]))["messages"] == [
        {"role": "unreadable", "content": "seen", "created_at": MOMENT.isoformat()}
    ]


def test_an_export_is_one_line_of_ascii() -> None:
    line = export([stored(read_message({"role": "user", "content": "é\n\u2028\ud800"}), 1)])
    assert (line.isascii(), line.count("\n"), line[-1]) == (True, 1, "\n")
