"""Conversations to look at, made with the store's own verbs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from memcli.records import Conversation, MessageState, NewMessage, NewSummary, Role, SummaryKind
from memcli.store import Store

BEGAN = datetime(2026, 1, 31, 14, 5, tzinfo=UTC)
EVIL = "[/b] \x1b[31mred\x1b[0m \x1b]52;c;aGk=\x07clip \u202egnp.exe \x07 end"
"""What a model might say to a terminal."""
EVIL_SHOWN = "[/b] red clip gnp.exe \ufffd end"


def message(role: Role, text: str, *, state: MessageState = "whole", at: int = 0, **payload: object) -> NewMessage:
    """Make a message said `at` minutes after the talk began, of one token a word."""
    return NewMessage(
        kind=role, role=role, text=text, payload=json.dumps({"type": role, **payload}), tokens=len(text.split()),
        state=state, created_at=BEGAN + timedelta(minutes=at),
    )  # fmt: skip


def a_talk(store: Store, name: str | None = "work") -> Conversation:
    """Store a talk of two turns: a question with a tool call and its answer, and a failed one."""
    talk = store.conversations.create(name=name, model="qwen3:4b", created_at=BEGAN)
    call = {"id": "c1", "name": "weather", "args": {"city": "京都", "days": 2}}
    first = store.turns.start(talk.id)
    said = [
        message("human", "what is the weather in Kyoto"),
        message("ai", "", at=1, tool_calls=[call]),
        message("tool", "rain", at=2, tool_call_id="c1"),
        message("ai", "It rains.", at=3),
    ]
    store.messages.append(talk.id, said, turn_id=first.id)
    store.turns.close(talk.id, first.id, "done")
    second = store.turns.start(talk.id)
    store.messages.append(talk.id, [message("human", "and tomorrow?", at=60)], turn_id=second.id)
    store.turns.close(talk.id, second.id, "failed")
    return store.conversations.get(talk.id)


def a_summary(
    first: int, last: int, *, text: str = "The user asked about Kyoto.", parent: int | None = None,
    kind: SummaryKind = "running", fallback: bool = False, values: tuple[str, ...] = ("Kyoto",),
) -> NewSummary:  # fmt: skip
    """Make a summary of a span."""
    return NewSummary(
        kind=kind, parent_id=parent, first_message_id=first, last_message_id=last, text=text, values=values,
        fidelity=0.93, tokens=120, model="qwen3:4b", prompt_version="1", input_tokens=2310, output_tokens=412,
        input_hash=f"{first}-{last}", fallback=fallback,
    )  # fmt: skip


def a_failed_compaction(store: Store, conversation_id: str, error: str) -> int:
    """Record a compaction whose answer was not acceptable."""
    call = store.calls.begin(
        conversation_id, turn_id=None, purpose="compaction", model="qwen3:4b", limit_tokens=8192, parts=(),
        estimated_tokens=2000,
    )  # fmt: skip
    store.calls.finish(conversation_id, call, status="rejected", input_tokens=2000, output_tokens=3, error=error)
    return call
