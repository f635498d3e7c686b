"""LangChain messages to rows and back, without losing anything: content, calls, usage, metadata, artifacts, ids.

A row's `kind` names the message class, its `payload` holds every field that is not the class's default. It refuses to
know the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

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
    ToolCall,
    ToolMessage,
    ToolMessageChunk,
)

from memcli.agent.fields import changed_fields, message_of
from memcli.agent.typed import (
    AgentMessage,
    AgentToAgentMessage,
    CompactionMessage,
    PlanMessage,
    SummaryMessage,
    UserMessage,
)
from memcli.memory import payload
from memcli.memory.reasoning import answer_text
from memcli.memory.tokens import count_message_tokens
from memcli.memory.wire import content_text
from memcli.records import MessageState, NewMessage, Role, StoredMessage

KINDS: dict[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "ai": AIMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
    "function": FunctionMessage,
    "chat": ChatMessage,
    "remove": RemoveMessage,
    "HumanMessageChunk": HumanMessageChunk,
    "AIMessageChunk": AIMessageChunk,
    "SystemMessageChunk": SystemMessageChunk,
    "ToolMessageChunk": ToolMessageChunk,
    "FunctionMessageChunk": FunctionMessageChunk,
    "ChatMessageChunk": ChatMessageChunk,
    "user": UserMessage,
    "compaction": CompactionMessage,
    "summary": SummaryMessage,
    "plan": PlanMessage,
    "agent_to_agent": AgentToAgentMessage,
    "agent": AgentMessage,
}
"""Every message class that comes back as itself, by its `kind`."""
_NAMES = {cls: kind for kind, cls in KINDS.items()}
_TYPED = (UserMessage, CompactionMessage, SummaryMessage, PlanMessage, AgentToAgentMessage, AgentMessage)
"""The classes with a time of their own."""


def encode(message: BaseMessage, *, uid: str | None = None, state: MessageState = "whole") -> NewMessage:
    """Turn a message into a row. `uid` None takes the message's own id, if it has one.

    A class of somebody's own is stored as the nearest class above it that is known here.
    """
    known = _known(type(message))
    text = content_text(message.content)
    return NewMessage(
        known.kind,
        known.role,
        answer_text(text) if known.role == "ai" else text,
        payload.dumps(changed_fields(message)),
        tokens_of(message),
        uid or message.id,
        state,
        message.created_at if known.has_time else None,  # type: ignore[attr-defined]
    )


def decode(stored: StoredMessage) -> BaseMessage | None:
    """Turn a row back into the message it was; None for one that cannot be read, or of an unknown kind."""
    cls = KINDS.get(stored.kind)
    if cls is None or stored.state == "unreadable":
        return None
    try:
        fields = cast("dict[str, object]", payload.loads(stored.payload))
        return message_of(cls, fields)
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError):  # from validators of messages
        return None


def decoded(rows: Iterable[StoredMessage], messages: dict[int, BaseMessage]) -> Iterator[StoredMessage]:
    """Pass rows on as they are taken and put their messages into `messages` by id; leave out what cannot be read."""
    for row in rows:
        message = decode(row)
        if message is not None:
            messages[row.id] = message
            yield row


def kind_of(message: BaseMessage) -> str:
    """Name the nearest known class of a message."""
    return _known(type(message)).kind


def role_of(message: BaseMessage) -> Role:
    """Name the part a message plays in a policy."""
    return _known(type(message)).role


def tokens_of(message: BaseMessage) -> int:
    """Count a message in budget tokens: what count_tokens_approximately says of it alone."""
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    try:
        return _count(message, calls)
    except ValueError:  # CPython will not print an integer of over 4,300 digits, and LangChain's own count raises
        return _count(message, ())


def _count(message: BaseMessage, calls: Sequence[ToolCall]) -> int:
    return count_message_tokens(
        role=openai_role(message),
        content=message.content,
        name=message.name,
        tool_calls=cast("Sequence[Mapping[str, object]]", calls),
        tool_call_id=message.tool_call_id if isinstance(message, ToolMessage) else None,
    )


def openai_role(message: BaseMessage) -> str:
    """Name a message's role as OpenAI's API does; the counter adds its length."""
    role = _known(type(message)).openai_role
    if role is not None:
        return role
    if isinstance(message, ChatMessage):
        return message.role
    if isinstance(message, SystemMessage):
        return str(message.additional_kwargs.get("__openai_role__", "system"))
    return message.type


@dataclass(frozen=True, slots=True)
class _Known:
    """What a message's class alone decides. Asked once a class: asking a message costs a search each time."""

    kind: str
    role: Role
    openai_role: str | None
    """None where the message decides."""
    has_time: bool
    """Whether it is one of the typed classes, with a `created_at`."""


@cache
def _known(cls: type[BaseMessage]) -> _Known:
    return _Known(
        kind=next(_NAMES[base] for base in (*cls.__mro__, HumanMessage) if base in _NAMES),
        role=next((role for base, role in _ROLES.items() if issubclass(cls, base)), "other"),
        openai_role=next((role for base, role in _OPENAI_ROLES.items() if issubclass(cls, base)), None),
        has_time=issubclass(cls, _TYPED),
    )


_ROLES: dict[type[BaseMessage], Role] = {
    HumanMessage: "human",
    AIMessage: "ai",
    ToolMessage: "tool",
    SystemMessage: "system",
}
_OPENAI_ROLES: dict[type[BaseMessage], str] = {
    HumanMessage: "user",
    AIMessage: "assistant",
    ToolMessage: "tool",
    FunctionMessage: "function",
}
