"""Small stores for the command tests, made with the store's own verbs, and one way to run a command line in-process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from memcli.memory.tokens import count_message_tokens
from memcli.records import Conversation, NewMessage, Role
from memcli.store import Store

Json = dict[str, object]
_OPENAI_ROLES = {"human": "user", "ai": "assistant"}


def said(role: Role, text: str, **more: object) -> NewMessage:
    """Make a message as the agent loop stores it."""
    payload = {"content": text, **more}
    call_id = cast("str | None", more.get("tool_call_id"))
    calls = cast("list[Json]", more.get("tool_calls") or [])
    tokens = count_message_tokens(
        role=_OPENAI_ROLES.get(role, role), content=text, tool_calls=calls, tool_call_id=call_id
    )
    return NewMessage(role, role, text, json.dumps(payload), tokens)


def add_turn(store: Store, conversation: Conversation, *messages: NewMessage, status: str = "done") -> None:
    """Store one turn."""
    turn = store.turns.start(conversation.id)
    store.messages.append(conversation.id, list(messages), turn_id=turn.id)
    if status != "open":
        store.turns.close(conversation.id, turn.id, status)  # type: ignore[arg-type]


def add_chat(store: Store, name: str, turns: int, *, settings: Json | None = None) -> Conversation:
    """Store a conversation of so many turns, each a question and an answer of 60 tokens together."""
    conversation = store.conversations.create(name=name, settings=settings)
    for number in range(1, turns + 1):
        question = f"Question {number:03}: how many parcels left depot {number:03} on 2026-03-{number % 28 + 1:02}?"
        answer = (
            f"Depot {number:03} sent {number * 7} parcels with order PX-{number:04}, and nothing was returned to it."
        )
        add_turn(store, conversation, said("human", question), said("ai", answer))
    return store.conversations.get(conversation.id)


def read_document(text: str) -> Json:
    """Parse what --json printed."""
    return cast(Json, json.loads(text))


def command(db: Path, *args: str) -> Sequence[str]:
    """Complete a command line with the store."""
    return [*args, "--db", str(db)]
