"""What a provider accepts, made from a Context by one pure function. Storage stays: a poisoned conversation heals.

- one leading system message: prompt, summary, values and plan joined; later system messages are folded into it
- every call is followed by its results in call order, matched by id, wherever they were stored; a result that is truly
  absent becomes an error result that says its side effects are unknown; one without its call becomes plain text
- calls whose arguments never arrived whole are left off, empty messages are dropped, blocks a text model cannot read
  become a marker
- lone surrogates, which nobody can encode, are replaced visibly
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from memcli.memory.context import Context, Part
from memcli.memory.pairs import Entry, Placed, arrange
from memcli.memory.reasoning import answer_text
from memcli.memory.recalls import escaped
from memcli.records import MemoryModel, StoredMessage, ToolCall

WireRole = Literal["system", "user", "assistant", "tool"]
_SPOKEN: Mapping[MemoryModel, frozenset[str]] = {
    "window": frozenset(),
    "turns": frozenset(("compaction", "turn_summary", "values", "plan")),
}
"""The parts each memory model tells as messages of the harness; the others stand in the system message."""
UNKNOWN_RESULT = "No result was stored: the tool was interrupted. Whether it had side effects is unknown."


@dataclass(frozen=True, slots=True)
class WireMessage:
    """One message as a provider gets it."""

    role: WireRole
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    is_error: bool = False
    message_id: int | None = None
    """The stored message it shows; None for one that is made up."""


def wire(context: Context) -> list[WireMessage]:
    """Turn a context into messages a provider accepts, in order."""
    system: list[str] = []
    rest: list[WireMessage] = []
    spoken = _SPOKEN[context.memory]
    for part in context.parts:
        if part.source in spoken:
            rest.append(WireMessage("user", part.text))
        elif part.source in ("system", "summary", "values", "plan") and part.text:
            system.append(part.text)
        elif part.message is not None:
            shown = _message(part.message, part)
            if shown.role == "system":
                system.append(shown.content)
            else:
                rest.append(shown)
    paired = [
        message for message in _paired(rest) if message.content.strip() or message.tool_calls or message.role == "tool"
    ]
    lead = "\n\n".join(text for text in system if text.strip())
    return [_sendable(message) for message in [*([WireMessage("system", lead)] if lead else []), *paired]]


def content_text(content: object) -> str:
    """Read a message's content as text; a block that holds none becomes a marker naming its type."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    return "\n".join(text for block in content if (text := _block_text(block)))


def sendable(text: str) -> str:
    """Replace what no provider can encode, lone surrogates, visibly."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _sendable(message: WireMessage) -> WireMessage:
    calls = tuple(
        replace(call, name=sendable(call.name), args={sendable(key): _encodable(arg) for key, arg in call.args.items()})
        for call in message.tool_calls
    )
    return replace(message, content=sendable(message.content), tool_calls=calls)


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, Mapping):
        return {sendable(str(key)): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value


def _block_text(block: object) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, Mapping):
        return ""
    kind = block.get("type")
    if kind in ("text", "input_text", "output_text") or ("text" in block and kind is None):
        return str(block.get("text") or "")
    if kind in (
        "reasoning",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "tool_call",
        "function_call",
        "invalid_tool_call",
    ):
        return ""
    return "[image]" if kind in ("image", "image_url", "input_image") else f"[{kind or 'block'} left out]"


def _message(message: StoredMessage, part: Part) -> WireMessage:
    data = message.data
    name = data.get("name")
    shown = WireMessage(
        "user",
        part.shown_text if part.shown_text is not None else content_text(data.get("content")),
        name=name if isinstance(name, str) else None,
        message_id=message.id,
    )
    if message.role == "human":
        return shown
    if message.role == "system":
        return replace(shown, role="system")
    if message.role == "ai":
        calls = tuple(_identified(call, message.id, index) for index, call in enumerate(message.tool_calls))
        return replace(shown, role="assistant", content=answer_text(shown.content), tool_calls=calls)
    if message.role == "tool":
        return replace(shown, role="tool", tool_call_id=message.tool_call_id, is_error=data.get("status") == "error")
    label = cast(str, data.get("role") or data.get("name") or message.kind)
    return replace(shown, content=escaped(f"[{label}] {shown.content}") if shown.content.strip() else "")


def _identified(call: ToolCall, message_id: int, index: int) -> ToolCall:
    return call if call.id else replace(call, id=f"call_{message_id}_{index}")


def _paired(messages: Sequence[WireMessage]) -> list[WireMessage]:
    """Put every call's result behind it, and make up what is missing."""
    entries = [Entry(tuple(call.id for call in item.tool_calls), item.tool_call_id) for item in messages]
    return [_placed(messages, place) for place in arrange(entries)]


def _placed(messages: Sequence[WireMessage], place: Placed) -> WireMessage:
    message = messages[place.index]
    if place.kind == "missing":
        call = message.tool_calls[place.call]
        return WireMessage("tool", UNKNOWN_RESULT, (), call.id, call.name, is_error=True)
    if place.kind == "stray":
        text = f"[result of {message.name or 'a tool'}, whose call is not in this context] {message.content}"
        return WireMessage("user", escaped(text), message_id=message.message_id)
    return message
