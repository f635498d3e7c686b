"""Conversations written in OpenAI's chat format: one a line, messages streamed.

It refuses to know where the messages come from, and which of them belong in the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from memcli.records import Conversation, StoredMessage
from memcli.transcripts.lossless_json import Json, encode
from memcli.transcripts.openai_message import write_message

SOURCE_PREFIX = "openai:"
"""What the `source` of a conversation imported from this format begins with; its key follows."""


def write_openai(conversation: Conversation, messages: Iterable[StoredMessage], out: TextIO) -> None:
    """Write one line: the conversation's fields, then its messages in the order given. Holds one message at a time.

    Reading the line gives the same messages. A conversation that was imported keeps the id it had, so that importing
    the line where it came from adds nothing.
    """
    header = encode(_header(conversation))
    out.write(f'{header[:-1]}, "messages": [')
    for position, message in enumerate(messages):
        out.write(f"{', ' if position else ''}{encode(write_message(message))}")
    out.write("]}\n")


def _header(conversation: Conversation) -> dict[str, Json]:
    source = conversation.source or ""
    imported = source.startswith(SOURCE_PREFIX)
    fields: dict[str, Json] = {"id": source.removeprefix(SOURCE_PREFIX) if imported else conversation.id}
    optional = {"title": conversation.name, "model": conversation.model, "system_prompt": conversation.system_prompt}
    fields |= {name: value for name, value in optional.items() if value is not None}
    return fields | {"created_at": conversation.created_at.isoformat()}
