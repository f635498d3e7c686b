"""Any conversation in the three roles every chat template knows: system, user, assistant.

Tool calls, tool results and what is not text become readable text. It refuses to repair or reorder: that is the wire
function's work.
"""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, ToolMessage

from memcli.agent.bodies import PlainMessage, PlainRole, call_in_words, joined, result_in_words


def plain_messages(messages: Iterable[BaseMessage]) -> tuple[PlainMessage, ...]:
    """Put messages in plain form, in their order.

    Neighbours of one role are joined by an empty line, because many templates insist that roles alternate; messages
    that say nothing are left out. () when all say nothing.
    """
    return tuple(joined(PlainMessage(_role(message), _content(message)) for message in messages))


_ROLES: dict[str, PlainRole] = {
    "system": "system",
    "SystemMessageChunk": "system",
    "developer": "system",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "assistant": "assistant",
}
_SILENT_BLOCKS = ("tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "reasoning", "thinking")
"""Blocks that repeat the message's tool calls, or that must not be shown to a model as an answer."""


def _role(message: BaseMessage) -> PlainRole:
    kind = message.role if isinstance(message, ChatMessage) else message.type
    return _ROLES.get(kind, "user")


def _content(message: BaseMessage) -> str:
    text = _text(message)
    if isinstance(message, ToolMessage):
        return result_in_words(message.name, text)
    if isinstance(message, AIMessage):
        calls = [call_in_words(call["name"], call["args"]) for call in message.tool_calls]
        return "\n".join(filter(None, [text, *calls]))
    return text


def _text(message: BaseMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return "".join(_block(block) for block in message.content)


def _block(block: str | dict[str, object]) -> str:
    if isinstance(block, str):
        return block
    kind = str(block.get("type") or "block")
    if kind == "text":
        return str(block.get("text") or "")
    return "" if kind in _SILENT_BLOCKS else f"[{kind} left out]"
