"""Chats in OpenAI's format from a file: one conversation a line, one a file, or arrays of either, streamed.

A conversation is an object with a list of messages, or the bare list; messages that stand alone, one a line, are one
conversation too. It refuses to know the store, and what happens to what it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import BinaryIO

from memcli.errors import UsageError
from memcli.records import NewMessage
from memcli.transcripts.encoding import as_utf8
from memcli.transcripts.framing import Frame, frames
from memcli.transcripts.imported import BadLine, ImportedConversation, ReadItem, Skipped, content_key, with_uids
from memcli.transcripts.lossless_json import Json, parse
from memcli.transcripts.openai_content import clean
from memcli.transcripts.openai_message import read_message
from memcli.transcripts.timestamps import find_moment

EXPECTED = 'one conversation a line, {"messages": [{"role": "user", "content": "…"}, …]}, or a JSON array of them'
MAX_BAD_LINES = 1_000
"""A file that begins with as many values that are no chat is taken for another format."""
_LISTS = ("messages", "conversation", "conversations")
_WRAPPERS = ("body", "request")
"""Where the Batch API and request logs put the conversation's object."""
_IDS = ("id", "conversation_id", "custom_id", "thread_id", "session_id")
_NAMES = ("title", "name")


def read_openai(stream: BinaryIO, *, name: str) -> Iterator[ReadItem]:
    """Read a file's conversations one by one, in file order, and name the lines that hold none.

    Nothing for an empty file. Holds one conversation at a time. Raises UsageError when the file is no chat at all: not
    one conversation in it, or none among its first MAX_BAD_LINES values.
    """
    first_bad: BadLine | None = None
    bad, found = 0, False
    for item in _items(stream):
        if isinstance(item, BadLine):
            bad, first_bad = bad + 1, first_bad or item
        else:
            found = True
        yield item
        if not found and bad >= MAX_BAD_LINES:
            break
    if first_bad and not found:
        raise UsageError(
            f"{name} holds no chat in OpenAI format (line {first_bad.line}: {first_bad.reason})", f"expected {EXPECTED}"
        )


def _items(stream: BinaryIO) -> Iterator[ReadItem]:
    """Read values, gathering messages that stand alone, in one array or one a line, into one conversation."""
    loose: list[Json] = []
    begin, array = 0, None
    for frame in frames(as_utf8(stream), _is_record):
        value = _value(frame)
        if isinstance(value, BadLine):
            yield value
            continue
        belongs = bool(loose) and frame.array == array and (_is_message(value) or value is None)
        if loose and not belongs:
            yield from _conversations(loose, begin)
            loose = []
        if belongs:
            loose.append(value)
        elif _is_message(value):
            loose, begin, array = [value], frame.line, frame.array
        else:
            yield from _conversations(value, frame.line)
    if loose:
        yield from _conversations(loose, begin)


def _value(frame: Frame) -> Json | BadLine:
    if frame.problem:
        return BadLine(frame.line, frame.problem)
    try:
        return parse(frame.data.decode("utf-8").strip("\ufeff \t\r\n"))
    except UnicodeDecodeError as err:
        return BadLine(frame.line, f"not UTF-8: byte 0x{frame.data[err.start]:02x} at position {err.start + 1}")
    except ValueError as err:
        return BadLine(frame.line, str(err))


def _is_record(data: bytes) -> bool:
    value = _value(Frame(1, data))
    return not isinstance(value, BadLine) and (_is_message(value) or _open(value) is not None)


def _is_message(value: Json) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and _open(value) is None


def _open(value: Json) -> tuple[dict[str, Json], list[Json]] | None:
    """Take a conversation apart into its other fields and its entries; None when it has no list of them."""
    if isinstance(value, list):
        return {}, value
    if not isinstance(value, dict):
        return None
    for name in _LISTS:
        entries = value.get(name)
        if isinstance(entries, list):
            return {key: field for key, field in value.items() if key != name}, entries
    for name in _WRAPPERS:
        inner = value.get(name)
        opened = _open(inner) if isinstance(inner, dict) else None
        if opened:
            return {key: field for key, field in value.items() if key != name} | opened[0], opened[1]
    return None


def _conversations(value: Json, line: int) -> Iterator[ReadItem]:
    opened = _open(value)
    if opened is None:
        yield BadLine(line, "no list of messages in it")
        return
    fields, entries = opened
    if any(isinstance(entry, dict | list) and _open(entry) is not None for entry in entries):
        for entry in entries:
            yield from _conversations(entry, line)
    elif entries and not any(_is_message(entry) for entry in entries):
        yield BadLine(line, "none of its entries is a message (an object with a role)")
    else:
        yield _conversation(fields, entries, line)


def _conversation(fields: dict[str, Json], entries: list[Json], line: int) -> ImportedConversation:
    found = find_moment(fields)
    created_at = found[1] if found else None
    messages, skipped = _read_entries(entries, line, created_at)
    system_prompt = _first_text(fields, ("system_prompt",))
    known = {*_IDS, *_NAMES, "model", "system_prompt", *([found[0]] if found else [])}
    return ImportedConversation(
        line=line,
        key=_identity(fields) or content_key(messages),
        name=_first_text(fields, _NAMES),
        model=_first_text(fields, ("model",)),
        system_prompt=system_prompt,
        messages=messages,
        skipped=skipped,
        created_at=created_at,
        extra={key: field for key, field in fields.items() if key not in known},
    )


def _read_entries(
    entries: list[Json], line: int, created_at: datetime | None
) -> tuple[tuple[NewMessage, ...], tuple[Skipped, ...]]:
    messages: list[NewMessage] = []
    skipped: list[Skipped] = []
    for number, entry in enumerate(entries, 1):
        try:
            message = read_message(entry)
        except ValueError as err:
            skipped.append(Skipped(line, number, str(err)))
        else:
            messages.append(message if message.created_at else replace(message, created_at=created_at))
    return tuple(with_uids(messages)), tuple(skipped)


def _identity(fields: dict[str, Json]) -> str | None:
    for name in _IDS:
        value = fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, str) and value:
            return clean(value)
    return None


def _first_text(fields: dict[str, Json], names: tuple[str, ...]) -> str | None:
    texts = (fields.get(name) for name in names)
    return next((clean(text) for text in texts if isinstance(text, str) and text.strip()), None)
