"""What an import reads from a file: whole conversations and the places that could not be read.

It refuses to know any file format, and how a conversation is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import TypeAlias

from memcli.records import NewMessage
from memcli.transcripts.lossless_json import Json, canonical, parse

HASH_PREFIX = "sha256:"
"""What the key of a conversation without an id begins with."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """One message entry that could not become a message."""

    line: int
    """The line its conversation begins on, from 1."""
    entry: int
    """Which entry of the conversation, from 1."""
    reason: str


@dataclass(frozen=True, slots=True)
class BadLine:
    """One value of the file that is no conversation."""

    line: int
    """From 1."""
    reason: str


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """One conversation of a file. Its entries are its messages and the skipped ones, nothing else."""

    line: int
    """The line it begins on, from 1."""
    key: str
    """The same for the same conversation in any file: its id there, or else a hash of its messages."""
    name: str | None
    model: str | None
    system_prompt: str | None
    messages: tuple[NewMessage, ...]
    """In file order, each with a uid that stands for it and all before it."""
    skipped: tuple[Skipped, ...]
    created_at: datetime | None
    extra: Mapping[str, Json]
    """What else the file says about it."""


ReadItem: TypeAlias = ImportedConversation | BadLine


def with_uids(messages: Iterable[NewMessage]) -> Iterator[NewMessage]:
    """Give each message the uid `position:hash`, where the hash covers its content and every message before it.

    So two conversations share a uid exactly where they share everything up to it: a longer export of the same
    conversation adds only its tail, and a different continuation is seen at its first different message.
    """
    digest = ""
    for position, message in enumerate(messages):
        content = canonical([digest, message.kind, parse(message.payload)])
        digest = sha256(content.encode("ascii")).hexdigest()
        yield replace(message, uid=f"{position}:{digest[:24]}")


def content_key(messages: Sequence[NewMessage]) -> str:
    """Make a key for a conversation without an id; equal for equal messages that have their uids."""
    return f"{HASH_PREFIX}{messages[-1].uid if messages else 'empty'}"


def split_turns(messages: Iterable[NewMessage]) -> list[list[NewMessage]]:
    """Group messages in turns: a turn begins at a human message. [] for none.

    What stands before the first human message (a system message, a greeting) is a turn of its own.
    """
    turns: list[list[NewMessage]] = []
    for message in messages:
        if message.role == "human" or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def payload_object(payload: str) -> dict[str, Json]:
    """Parse a payload. Raises ValueError if it is no JSON object."""
    value = parse(payload)
    if not isinstance(value, dict):
        raise ValueError("the payload is no JSON object")
    return value
