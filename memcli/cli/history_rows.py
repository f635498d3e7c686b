"""Conversations and messages as `--json` describes them, and what a conversation is called by.

It refuses to know which of them are wanted, and how they are printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memcli.cli.cleaning import clean_line
from memcli.records import Conversation, StoredMessage
from memcli.store import Store

TITLE_CHARACTERS = 80
"""Characters of a first message that stand for a name."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the answer is written as: text unless one of these."""

    as_json: bool
    as_lines: bool


def conversation_row(conversation: Conversation) -> Mapping[str, object]:
    """Describe a conversation as cli.md promises."""
    return {
        "id": conversation.id,
        "name": conversation.name,
        "model": conversation.model,
        "memory": conversation.memory,
        "turns": conversation.turns,
        "messages": conversation.last_message_id,
        "tokens": conversation.tokens,
        "parent_id": conversation.parent_id,
        "forked_at": conversation.forked_at,
        "source": conversation.source,
        "created_at": conversation.created_at,
        "updated_at": conversation.updated_at,
    }


def listed_row(store: Store, conversation: Conversation) -> Mapping[str, object]:
    """Describe a conversation in a list, with what it is called by."""
    return {**conversation_row(conversation), "title": title_of(store, conversation)}


def title_of(store: Store, conversation: Conversation) -> str | None:
    """Give its name, else the beginning of the user's first message on one line; None when there is neither."""
    if conversation.name:
        return conversation.name
    words = clean_line(store.messages.opening(conversation.id, characters=2 * TITLE_CHARACTERS))
    return (words if len(words) <= TITLE_CHARACTERS else f"{words[: TITLE_CHARACTERS - 1]}…") or None


def message_row(message: StoredMessage) -> Mapping[str, object]:
    """Describe a message as cli.md promises."""
    return {
        "id": message.id,
        "turn": message.turn_id,
        "kind": message.kind,
        "role": message.role,
        "text": message.text,
        "tool_calls": [{"id": call.id, "name": call.name, "args": call.args} for call in message.tool_calls],
        "tool_call_id": message.tool_call_id,
        "tokens": message.tokens,
        "state": message.state,
        "created_at": message.created_at,
    }
