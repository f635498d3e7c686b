"""LangChain messages to rows and back, without losing anything: content, calls, usage, metadata, artifacts, ids.

A row's `kind` names the message class, its `payload` holds every field that is not the class's default. It refuses to
know the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
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
    text = content_text(message.content)
    return NewMessage(
        kind=kind_of(message),
        role=role_of(message),
        text=answer_text(text) if isinstance(message, AIMessage) else text,
        payload=payload.dumps(_fields(message)),
        tokens=tokens_of(message),
        uid=uid or message.id,
        state=state,
        created_at=message.created_at if isinstance(message, _TYPED) else None,
    )


def decode(stored: StoredMessage) -> BaseMessage | None:
    """Turn a row back into the message it was; None for one that cannot be read, or of an unknown kind."""
    cls = KINDS.get(stored.kind)
    if cls is None or stored.state == "unreadable":
        return None
    try:
        fields = cast("dict[str, object]", payload.loads(stored.payload))
        return _as_stored(cls(**fields), fields)  # type: ignore[call-overload]
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
    return next(_NAMES[cls] for cls in (*type(message).__mro__, HumanMessage) if cls in _NAMES)


def role_of(message: BaseMessage) -> Role:
    """Name the part a message plays in a policy."""
    for cls, role in _ROLES.items():
        if isinstance(message, cls):
            return role
    return "other"


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
    if isinstance(message, ChatMessage):
        return message.role
    if isinstance(message, SystemMessage):
        return str(message.additional_kwargs.get("__openai_role__", "system"))
    for cls, role in _OPENAI_ROLES.items():
        if isinstance(message, cls):
            return role
    return message.type


def _fields(message: BaseMessage) -> Mapping[str, object]:
    """Collect the fields that differ from their class's default; `content` always, and extra ones too."""
    fields: dict[str, object] = {"content": message.content}
    for name, default in _defaults(type(message)).items():
        value = getattr(message, name)
        # By type first: anybody's objects may stand here, and some answer == with an array.
        if type(value) is not type(default) or value != default:
            fields[name] = value
    fields.update(message.model_extra or {})
    return fields


def _as_stored(message: BaseMessage, fields: Mapping[str, object]) -> BaseMessage:
    """Undo what a class's validators derive anew: a chunk's calls from call chunks, or from `additional_kwargs`."""
    if not isinstance(message, AIMessage) or (type(message) is AIMessage and _DERIVE_NOTHING.issuperset(fields)):
        return message
    for name, default in _defaults(type(message)).items():
        wanted = fields.get(name, default)
        if wanted is not _REQUIRED and getattr(message, name) != wanted:
            setattr(message, name, copy(wanted) if wanted is default else wanted)
    return message


@cache
def _defaults(cls: type[BaseMessage]) -> Mapping[str, object]:
    """Map a class's fields to their defaults; a required one has a default that nothing equals."""
    return {
        name: _REQUIRED if field.is_required() else field.get_default(call_default_factory=True)
        for name, field in cls.model_fields.items()
        if name not in ("content", "type")
    }


_REQUIRED = object()
_DERIVE_NOTHING = frozenset(("content", "id", "name", "response_metadata", "usage_metadata"))
"""Fields of an AI message that no validator makes others of."""
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
