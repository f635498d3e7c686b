"""Files become conversations: every shape, every encoding, and every bad place named."""

from __future__ import annotations

import codecs
import io
import itertools
import json
import tracemalloc

import pytest

from memcli.errors import UsageError
from memcli.transcripts.imported import BadLine, ImportedConversation, ReadItem, Skipped
from memcli.transcripts.lossless_json import Json
from memcli.transcripts.openai_reader import MAX_BAD_LINES, read_openai

HI = {"role": "user", "content": "hi"}
YO = {"role": "assistant", "content": "yo"}
A = json.dumps({"id": "a", "messages": [HI, YO]})
B = json.dumps({"id": "b", "messages": [HI]})


def read(data: bytes | str) -> list[ReadItem]:
    return list(read_openai(io.BytesIO(data.encode() if isinstance(data, str) else data), name="f"))


def shape(items: list[ReadItem]) -> list[tuple[int, str, list[str]] | BadLine]:
    return [
        item if isinstance(item, BadLine) else (item.line, item.key, [message.text for message in item.messages])
        for item in items
    ]


A1, B2 = (1, "a", ["hi", "yo"]), (2, "b", ["hi"])


@pytest.mark.parametrize("data", ["", "\n", " \n\t\n", "\ufeff", "[]", "[]\n"])
def test_an_empty_file_holds_nothing(data: str) -> None:
    assert read(data) == []


@pytest.mark.parametrize("data", [f"{A}\n{B}\n", f"{A}\r\n{B}", f"[{A},\n{B}]"])
def test_lines_and_arrays_hold_the_same_conversations(data: str) -> None:
    assert shape(read(data)) == [A1, B2]


def test_blank_lines_count_as_lines() -> None:
    assert shape(read(f"\n\n{A}\n\n{B}\n")) == [(3, "a", ["hi", "yo"]), (5, "b", ["hi"])]


@pytest.mark.parametrize("indent", [None, 0, 1, 4, "\t"])
def test_one_conversation_a_file_however_it_is_indented(indent: int | str | None) -> None:
    assert shape(read(json.dumps(json.loads(A), indent=indent))) == [A1]


def test_an_indented_array_names_the_line_each_conversation_begins_on() -> None:
    assert shape(read(json.dumps([json.loads(A), json.loads(B)], indent=1))) == [
        (2, "a", ["hi", "yo"]),
        (15, "b", ["hi"]),
    ]


def test_several_indented_conversations_after_one_another() -> None:
    text = "\n".join(json.dumps(json.loads(line), indent=1) for line in (A, B))
    assert [item[1:] for item in shape(read(text)) if not isinstance(item, BadLine)] == [A1[1:], B2[1:]]


@pytest.mark.parametrize(
    "data",
    [
        json.dumps([HI, YO]),
        json.dumps([HI, YO], indent=2),
        json.dumps(HI) + "\n" + json.dumps(YO) + "\n",
        json.dumps([[HI, YO]]),
        json.dumps({"conversation": [HI, YO]}),
        json.dumps({"conversations": [{"messages": [HI, YO]}]}),
        json.dumps({"method": "POST", "body": {"messages": [HI, YO]}}),
    ],
)
def test_every_way_of_writing_one_conversation_gives_the_same_key(data: str) -> None:
    items = read(data)
    assert len(items) == 1
    expected = read(json.dumps({"messages": [HI, YO]}))[0]
    assert isinstance(items[0], ImportedConversation)
    assert isinstance(expected, ImportedConversation)
    assert (items[0].key, items[0].messages) == (expected.key, expected.messages)


def test_arrays_of_messages_one_a_line_are_conversations() -> None:
    items = shape(read(f"{json.dumps([HI, YO])}\n{json.dumps([HI])}\n"))
    assert [(item[0], item[2]) for item in items if isinstance(item, tuple)] == [(1, ["hi", "yo"]), (2, ["hi"])]


def test_a_malformed_line_is_named_and_the_good_ones_are_in() -> None:
    assert shape(read(f'{A}\n{{"messages": [\n{B}\n[1]\n"x"\n')) == [
        A1,
        BadLine(2, "not valid JSON: Expecting value at character 15"),
        (3, "b", ["hi"]),
        BadLine(4, "none of its entries is a message (an object with a role)"),
        BadLine(5, "no list of messages in it"),
    ]


@pytest.mark.parametrize("first", ['{"messages": [', '{"messages": [{"role": "us', "{", "nonsense", '{"messages": []]'])
def test_a_malformed_first_line_costs_one_line(first: str) -> None:
    items = shape(read(f"{first}\n{B}\n{B}\n"))
    assert isinstance(items[0], BadLine)
    assert (items[0].line, items[1:]) == (1, [B2, (3, "b", ["hi"])])


def test_a_malformed_element_of_an_array_costs_one_element() -> None:
    assert shape(read(f'[{A},\n{{"messages": [}},\n{B}\n]'.replace("[}", "[1,]}"))) == [
        A1,
        BadLine(2, "not valid JSON: Expecting value at character 17"),
        (3, "b", ["hi"]),
    ]


def test_a_file_cut_off_inside_an_array_keeps_what_is_whole() -> None:
    assert shape(read(f"[{A},\n{B[:20]}")) == [A1, BadLine(2, "the file ends inside it")]
    assert shape(read(f"[{A},\n{B}")) == [A1, B2, BadLine(2, "the file ends inside an array")]


def test_null_entries_are_skipped_by_name() -> None:
    (item,) = read(json.dumps({"id": "a", "messages": [None, HI, "x", YO]}))
    assert isinstance(item, ImportedConversation)
    assert item.skipped == (Skipped(1, 1, "it is null"), Skipped(1, 3, "it is not an object"))
    assert [message.text for message in item.messages] == ["hi", "yo"]


def test_a_null_inside_an_array_of_messages_is_skipped_by_name() -> None:
    (item,) = read(json.dumps([HI, None, YO]))
    assert isinstance(item, ImportedConversation)
    assert (item.skipped, len(item.messages)) == ((Skipped(1, 2, "it is null"),), 2)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_are_understood(encoding: str) -> None:
    line = json.dumps({"id": "a", "messages": [{"role": "user", "content": "é漢🙂"}]}, ensure_ascii=False)
    assert shape(read(f"{line}\n{line}\n".encode(encoding))) == [(1, "a", ["é漢🙂"]), (2, "a", ["é漢🙂"])]


def test_utf_16_that_is_cut_off_costs_one_line() -> None:
    data = codecs.BOM_UTF16_LE + f"{A}\n".encode("utf-16-le") + b"\x00\xd8" + "\n".encode("utf-16-le") + b"{"
    assert shape(read(data)) == [A1, BadLine(2, "not UTF-8: byte 0xed at position 1")]


def test_bytes_that_are_not_utf_8_cost_one_line() -> None:
    latin = b'{"messages": [{"role": "user", "content": "caf\xe9"}]}'
    assert shape(read(b"\n".join([A.encode(), latin, B.encode()]))) == [
        A1,
        BadLine(2, "not UTF-8: byte 0xe9 at position 47"),
        (3, "b", ["hi"]),
    ]


@pytest.mark.parametrize("depth", [300, 100_000])
def test_deep_nesting_costs_one_line(depth: int) -> None:
    deep = '{"messages": [{"role": "user", "content": ' + "[" * depth + "]" * depth + "}]}"
    assert shape(read(f"{deep}\n{B}")) == [BadLine(1, "nested deeper than 200 levels"), B2]
    assert shape(read(f"[{deep},\n{B}]")) == [BadLine(1, "nested deeper than 200 levels"), B2]


@pytest.mark.parametrize(
    "data", ["hello\n", '{"a": 1}', "\x7fELF\0\0", '[1, 2, "x"]', "\x1f\x8b", '"text"', "7", '{"messages": "x"}']
)
def test_a_file_that_is_no_chat_says_what_was_expected(data: str) -> None:
    with pytest.raises(UsageError, match=r"^f holds no chat in OpenAI format \(line 1: ") as raised:
        read(data)
    assert raised.value.hint == (
        'expected one conversation a line, {"messages": [{"role": "user", "content": "…"}, …]}, or a JSON array of them'
    )


def test_a_long_file_that_is_no_chat_is_given_up_early() -> None:
    items = read_openai(io.BytesIO(b"x\n" * 100 * MAX_BAD_LINES), name="f")
    assert len(list(itertools.islice(items, MAX_BAD_LINES))) == MAX_BAD_LINES
    with pytest.raises(UsageError, match="holds no chat"):
        next(items)


def test_conversation_fields_are_found_under_their_usual_names() -> None:
    fields: dict[str, Json] = {"conversation_id": 7, "title": "T", "model": "gpt", "created": 0, "reward": 1.5}
    (item,) = read(json.dumps(fields | {"messages": [HI]}))
    assert isinstance(item, ImportedConversation)
    assert (item.key, item.name, item.model, dict(item.extra)) == ("7", "T", "gpt", {"reward": 1.5})
    assert item.created_at is not None
    assert (item.created_at.timestamp(), item.messages[0].created_at) == (0.0, item.created_at)


def test_a_longer_conversation_shares_the_uids_of_its_beginning_and_a_different_one_only_up_to_there() -> None:
    other = {"role": "assistant", "content": "no"}
    uids = []
    for messages in ([HI, YO], [HI, YO, HI], [HI, other, HI]):
        (item,) = read(json.dumps({"messages": messages}))
        assert isinstance(item, ImportedConversation)
        uids.append([message.uid for message in item.messages])
    first, longer, different = uids
    assert longer[:2] == first
    assert different[0] == first[0]
    assert not set(different[1:]) & set(longer)


@pytest.mark.parametrize("separator", ["\n", ",\n"])
def test_memory_does_not_grow_with_the_file(separator: str) -> None:
    text = json.dumps({"messages": [{"role": "user", "content": '\\"[{' * 2_000}]})
    size = 2_000
    data = io.BytesIO((("[" if "," in separator else "") + separator.join([text] * size)).encode())
    tracemalloc.start()
    try:
        count = sum(isinstance(item, ImportedConversation) for item in read_openai(data, name="f"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == size
    assert peak < 2_000_000 < size * len(text)
