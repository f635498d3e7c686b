"""One streamed answer of a model, kept whatever happens to it: a partial answer is an answer that says so.

It refuses to know the store and the turn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol, cast

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, BaseMessageChunk, InvalidToolCall, ToolCall

from memcli.agent.events import Event, ReasoningDelta, TextDelta
from memcli.agent.failures import translated
from memcli.errors import MemcliError, ModelError

Emit = Callable[[Event], None]

_OPEN, _CLOSE = "<think>", "</think>"


class Streams(Protocol):
    """What a chat model, with or without tools bound, offers here."""

    def stream(self, input: Sequence[BaseMessage]) -> object:
        """Yield the answer's chunks."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, and why it ended."""

    message: AIMessage | None
    """None when not one token arrived."""
    is_whole: bool
    error: MemcliError | None = None
    was_interrupted: bool = False

    @property
    def finish_reason(self) -> str:
        """Name why it ended, as the provider says."""
        metadata = self.message.response_metadata if self.message else {}
        return str(
            metadata.get("done_reason") or metadata.get("finish_reason") or metadata.get("stop_reason") or "stop"
        )


def stream_answer(
    model: Streams, messages: Sequence[BaseMessage], emit: Emit, *, label: str, limit_tokens: int, must_say_done: bool
) -> Answer:
    """Stream an answer and emit it piece by piece. A failure or Ctrl-C ends it and keeps what had arrived.

    `must_say_done` is for servers that end a stream with a last word of their own: without it the stream was cut.
    """
    merged: BaseMessageChunk | None = None
    splitter = ReasoningSplitter(emit)
    error: MemcliError | None = None
    was_interrupted = False
    try:
        with translated(label, limit_tokens), closing(model.stream(messages)) as chunks:  # type: ignore[type-var]
            for chunk in cast("Sequence[BaseMessageChunk]", chunks):
                merged = chunk if merged is None else merged + chunk
                splitter.feed(chunk)
        splitter.end()
    except KeyboardInterrupt:
        was_interrupted = True
    except MemcliError as err:
        error = err
    if merged is not None and error is None and not was_interrupted and must_say_done and not is_finished(merged):
        error = ModelError(f"{label} broke off in the middle of its answer", "run it again with /retry")
    is_whole = merged is not None and error is None and not was_interrupted
    return Answer(_message(merged, is_whole=is_whole), is_whole, error, was_interrupted)


class ReasoningSplitter:
    """Tell a stream's answer from its reasoning: fields of their own, and a leading `<think>` block in the text."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._held = ""
        self._place = "start"

    def feed(self, chunk: BaseMessageChunk) -> None:
        """Emit what one chunk adds."""
        reasoning = chunk.additional_kwargs.get("reasoning_content")
        if isinstance(reasoning, str) and reasoning:
            self._emit(ReasoningDelta(reasoning))
        for kind, text in _pieces(chunk.content):
            if kind == "reasoning":
                self._emit(ReasoningDelta(text))
            elif text:
                self._text(text)

    def end(self) -> None:
        """Emit what was held back in case it was the beginning of a tag."""
        held, self._held = self._held, ""
        if held:
            self._emit(ReasoningDelta(held) if self._place == "thinking" else TextDelta(held))

    def _text(self, text: str) -> None:
        if self._place == "answer":
            self._emit(TextDelta(text))
            return
        self._held += text
        if self._place == "start":
            begun = self._held.lstrip()
            if begun.startswith(_OPEN):
                self._place, self._held = "thinking", begun[len(_OPEN) :]
            elif not _OPEN.startswith(begun):
                self._place = "answer"
                self.end()
        if self._place == "thinking":
            self._thinking()

    def _thinking(self) -> None:
        before, tag, after = self._held.partition(_CLOSE)
        if tag:
            self._place, self._held = "answer", ""
            if before:
                self._emit(ReasoningDelta(before))
            if after.lstrip():
                self._emit(TextDelta(after.lstrip()))
            return
        sure = len(self._held) - len(_CLOSE) + 1
        if sure > 0:
            self._emit(ReasoningDelta(self._held[:sure]))
            self._held = self._held[sure:]


def _pieces(content: object) -> list[tuple[str, str]]:
    if isinstance(content, str):
        return [("text", content)]
    pieces: list[tuple[str, str]] = []
    for block in content if isinstance(content, list) else []:
        if isinstance(block, str):
            pieces.append(("text", block))
        elif isinstance(block, dict) and block.get("type") in ("reasoning", "thinking"):
            pieces.append(("reasoning", str(block.get("reasoning") or block.get("thinking") or "")))
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            pieces.append(("text", block["text"]))
    return pieces


def is_finished(message: BaseMessage) -> bool:
    """Tell whether an Ollama model's message came to its end, for whatever reason.

    False means the stream was cut: a server that ends the body properly without its last line raises nothing, and
    neither does langchain-ollama. Of no use for other providers' messages.
    """
    return bool(message.response_metadata.get("done") or message.response_metadata.get("done_reason"))


def _message(merged: BaseMessageChunk | None, *, is_whole: bool) -> AIMessage | None:
    if not isinstance(merged, AIMessageChunk):
        return None
    calls, invalid = _strict_calls(merged, is_whole=is_whole)
    if not (merged.content or calls or invalid or merged.additional_kwargs):
        return (
            None
            if not is_whole
            else AIMessage(
                content="",
                response_metadata=merged.response_metadata,
                usage_metadata=merged.usage_metadata,
                id=merged.id,
            )
        )
    return AIMessage(
        content=merged.content,
        additional_kwargs=merged.additional_kwargs,
        response_metadata=merged.response_metadata,
        usage_metadata=merged.usage_metadata,
        tool_calls=calls,
        invalid_tool_calls=invalid,
        name=merged.name,
        id=merged.id,
    )


def _strict_calls(merged: AIMessageChunk, *, is_whole: bool) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    """Read the calls' arguments strictly: cut-off JSON must not become a valid, shorter call. Empty means {}."""
    calls: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for chunk in merged.tool_call_chunks:
        raw = chunk["args"] or ""
        args = _object(raw)
        if args is None or not is_whole or not chunk["name"]:
            error = "its arguments are not a JSON object" if is_whole else "the answer was cut off"
            invalid.append(
                InvalidToolCall(name=chunk["name"], args=raw, id=chunk["id"], error=error, type="invalid_tool_call")
            )
        else:
            calls.append(ToolCall(name=chunk["name"], args=args, id=chunk["id"], type="tool_call"))
    return calls, invalid


def _object(raw: str) -> dict[str, object] | None:
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
