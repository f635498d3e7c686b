"""Any conversation in the three roles every chat template knows: system, user, assistant.

Tool calls, tool results and what is not text become readable text. It refuses to repair or reorder: that is the wire
function's work.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, ToolMessage

from memcli.agent.llama import WireMessage, WireRole


def plain_messages(messages: Iterable[BaseMessage]) -> tuple[WireMessage, ...]:
    """Put messages in plain form, in their order.

    Neighbours of one role are joined by an empty line, because many templates insist that roles alternate; messages
    that say nothing are left out. () when all say nothing.
    """
    plain: list[WireMessage] = []
    for message in messages:
        role, content = _role(message), _content(message)
        if not content:
            continue
        if plain and plain[-1].role == role:
            content = f"{plain.pop().content}\n\n{content}"
        plain.append(WireMessage(role, content))
    return tuple(plain)


_ROLES: dict[str, WireRole] = {
    "system": "system",
    "SystemMessageChunk": "system",
    "developer": "system",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "assistant": "assistant",
}
_SILENT_BLOCKS = ("tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "reasoning", "thinking")
"""Blocks that repeat the message's tool calls, or that must not be shown to a model as an answer."""


def _role(message: BaseMessage) -> WireRole:
    kind = message.role if isinstance(message, ChatMessage) else message.type
    return _ROLES.get(kind, "user")


def _content(message: BaseMessage) -> str:
    text = _text(message)
    if isinstance(message, ToolMessage):
        return f"[result of {message.name or 'a tool'}] {text}"
    if isinstance(message, AIMessage):
        calls = [
            f"[called {call['name']} with {json.dumps(call['args'], ensure_ascii=False, default=str)}]"
            for call in message.tool_calls
        ]
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
