"""The plain data every floor shares: frozen records, in the words of the design.

It refuses to know SQL, LangChain and the terminal. Times are aware datetimes in UTC; tokens are budget units
(characters / 4, + 3 a message) unless a name says otherwise; ids of messages, turns, summaries and calls count from
1 within one conversation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, cast

Role = Literal["human", "ai", "tool", "system", "other"]
MessageState = Literal["whole", "partial", "failed", "rewound", "unreadable"]
TurnStatus = Literal["open", "done", "failed", "interrupted", "rewound"]
TurnPlace = Literal["opens", "within", "closes"]
"""Where a message stands in its turn."""
MemoryModel = Literal["window", "turns"]
SummaryKind = Literal["running", "turn", "compaction", "recap"]
SummaryState = Literal["made", "proposed", "discarded"]
CallStatus = Literal["running", "done", "failed", "rejected", "interrupted"]
CallPurpose = Literal["chat", "compaction"]

EXCLUDED_STATES: tuple[MessageState, ...] = ("failed", "rewound", "unreadable")
"""Messages in these states keep their rows and stand outside every context and total."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation and the policy it is kept under."""

    id: str
    name: str | None
    model: str | None
    system_prompt: str | None
    memory: MemoryModel
    settings: Mapping[str, object]
    """Settings this conversation overrides, by their names in config.py."""
    parent_id: str | None
    forked_at: int | None
    """The parent's last message id that was copied, for a fork."""
    source: str | None
    """Where it was imported from: `format:key`, unique; None for a conversation begun here."""
    created_at: datetime
    updated_at: datetime
    last_message_id: int
    """0 when empty. Ids have no gaps, so this is also the number of stored messages."""
    turns: int
    tokens: int
    """The sum of its messages' budget tokens."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A user message through the final answer."""

    id: int
    conversation_id: str
    started_at: datetime
    ended_at: datetime | None
    status: TurnStatus


@dataclass(frozen=True, slots=True)
class TurnSpan:
    """A turn and the messages it consists of."""

    turn: Turn
    first_message_id: int
    last_message_id: int


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call a model asked for. `args` is what it sent, already parsed."""

    id: str
    name: str
    args: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message about to be stored; the store hands out its id."""

    kind: str
    """The message class: `human`, `ai`, `tool`, `system`, `AIMessageChunk`, `user`, …"""
    role: Role
    text: str
    """What a person reads and search finds; no reasoning, no markup."""
    payload: str
    """The lossless message as strict JSON."""
    tokens: int
    uid: str | None = None
    """Unique in the conversation; None lets the store make one. The same uid twice is one row."""
    state: MessageState = "whole"
    created_at: datetime | None = None
    """None means now."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One row of the append-only log."""

    id: int
    conversation_id: str
    turn_id: int | None
    uid: str
    kind: str
    role: Role
    text: str
    payload: str
    tokens: int
    created_at: datetime
    state: MessageState

    @property
    def data(self) -> Mapping[str, object]:
        """Parse the payload. Empty for an unreadable row."""
        if self.state == "unreadable":
            return {}
        return cast("Mapping[str, object]", json.loads(self.payload))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Name the calls an AI message asks for, in the order it asked. () for every other message.

        What a damaged payload holds in their place is left out; the payload itself keeps it.
        """
        if self.role != "ai" or '"tool_calls"' not in self.payload:
            return ()
        calls = self.data.get("tool_calls")
        return tuple(_tool_call(call) for call in calls if isinstance(call, dict)) if isinstance(calls, list) else ()

    @property
    def tool_call_id(self) -> str | None:
        """Name the call a tool message answers; None for every other message."""
        if self.role != "tool":
            return None
        return str(self.data.get("tool_call_id") or "")

    @property
    def is_excluded(self) -> bool:
        """Tell whether it stands outside every context: its turn failed, was rewound, or it cannot be read."""
        return self.state in EXCLUDED_STATES

    def as_unreadable(self) -> StoredMessage:
        """Copy it in quarantine: still shown and counted, never sent."""
        return replace(self, state="unreadable", kind="unreadable", role="other", payload="{}")


@dataclass(frozen=True, slots=True)
class NewSummary:
    """A summary that passed validation and is about to be committed."""

    kind: SummaryKind
    parent_id: int | None
    first_message_id: int
    """The first message it stands for, its ancestors' included."""
    last_message_id: int
    text: str
    values: tuple[str, ...]
    """Exact values carried beside the text, the most useful first."""
    fidelity: float | None
    """Share of the folded span's exact values still in text + values, 0 to 1; None when the span had none."""
    tokens: int
    """Budget tokens of the text and the values as they stand in a context."""
    model: str
    """The summarizer's label: a model's name or `extractive`."""
    prompt_version: str
    input_tokens: int
    output_tokens: int
    input_hash: str
    """Equal for equal inputs: the same fold is never paid for twice."""
    fallback: bool = False
    """Made by the extractive summarizer because the model kept failing."""
    instructions: str | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    """Model B's fields: a turn summary's three texts and its times, a compaction's timespan and what it folded."""
    state: SummaryState = "made"


@dataclass(frozen=True, slots=True)
class Summary(NewSummary):
    """A stored summary."""

    id: int = 0
    conversation_id: str = ""
    created_at: datetime = datetime.min
    in_force: bool = False
    """Whether a head points at it."""


REQUEST = "request"
"""The source of a recorded part that no context has: what a call sent beside its messages."""
ALLOTTED = "allotted"
"""The source of another: its tokens are what the server really allotted to a call, by its own word."""


@dataclass(frozen=True, slots=True)
class PartRef:
    """One part of a recorded call, by reference."""

    source: str
    first_message_id: int | None
    last_message_id: int | None
    tokens: int
    state: str | None
    why: str
    summary_id: int | None = None
    text: str | None = None
    """What it said, for a part that stands for no message and no summary: a system prompt, a plan, the tools' names."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a model and what it really saw."""

    id: int
    conversation_id: str
    turn_id: int | None
    purpose: CallPurpose
    model: str
    limit_tokens: int
    parts: tuple[PartRef, ...]
    estimated_tokens: int
    input_tokens: int | None
    """As the server reported it; None when it did not."""
    output_tokens: int | None
    duration_ms: int | None
    status: CallStatus
    error: str | None
    started_at: datetime

    @property
    def seen(self) -> tuple[PartRef, ...]:
        """Name the parts of the context it saw, in order; () for a call of which nothing was recorded."""
        return tuple(part for part in self.parts if part.source not in (REQUEST, ALLOTTED))

    @property
    def newest_seen(self) -> int | None:
        """Name the newest message it saw, by its id; None for a call that saw none."""
        return max((part.last_message_id or 0 for part in self.seen), default=0) or None

    @property
    def request(self) -> str | None:
        """Give the record of its body, as `agent/bodies` wrote it; None when nobody told it."""
        return next((part.text for part in reversed(self.parts) if part.source == REQUEST), None)

    @property
    def allotted(self) -> int | None:
        """Tell what the server really allotted to it, in the model's tokens; None when nobody said."""
        return next((part.tokens for part in reversed(self.parts) if part.source == ALLOTTED), None)


@dataclass(frozen=True, slots=True)
class Hit:
    """One message a search found."""

    conversation_id: str
    message_id: int
    role: Role
    snippet: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Plan:
    """One version of a conversation's plan."""

    id: int
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Problem:
    """Something `doctor` found."""

    where: str
    what: str
    fix: str | None = None
    """What `doctor --fix` does about it; None when a person must."""
    conversation_id: str | None = None
    detail: Mapping[str, object] = field(default_factory=dict)


def _tool_call(call: Mapping[str, object]) -> ToolCall:
    args = call.get("args")
    return ToolCall(str(call.get("id") or ""), str(call.get("name") or ""), args if isinstance(args, dict) else {})
