"""What goes out to a model, as LangChain messages. It refuses to decide what is sent: `memory/wire` does."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from memcli.memory.wire import WireMessage


def to_langchain(messages: Sequence[WireMessage]) -> list[BaseMessage]:
    """Turn wire messages into LangChain's."""
    return [_langchain(message) for message in messages]


def _langchain(message: WireMessage) -> BaseMessage:
    content = message.content
    if message.role == "system":
        return SystemMessage(content)
    if message.role == "user":
        return HumanMessage(content, name=message.name)
    if message.role == "tool":
        status = "error" if message.is_error else "success"
        return ToolMessage(content, tool_call_id=message.tool_call_id or "", name=message.name, status=status)
    calls = [
        {"name": call.name, "args": dict(call.args), "id": call.id, "type": "tool_call"} for call in message.tool_calls
    ]
    return AIMessage(content, tool_calls=calls, name=message.name)
