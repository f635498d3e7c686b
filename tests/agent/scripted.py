"""A chat model that says what a test tells it to, and remembers what it was asked.

It refuses to know anything of memcli.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, BaseMessageChunk, ToolCall, ToolCallChunk
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

Step: TypeAlias = AIMessageChunk | str | BaseException | Callable[[], None]
"""One thing a stream does: yield a chunk or a text, raise, or do something in between."""
Reply: TypeAlias = AIMessage | str | BaseException | Sequence[Step] | Callable[[list[BaseMessage]], AIMessage | str]


@dataclass
class Script:
    """What a scripted model says next, and what it was asked so far."""

    replies: deque[Reply] = field(default_factory=deque)
    otherwise: Reply | None = None
    """Said when the replies are used up; None fails the test."""
    requests: list[list[BaseMessage]] = field(default_factory=list)
    tools: list[list[str]] = field(default_factory=list)
    """The names of the tools bound to each request."""

    def next_steps(self, messages: list[BaseMessage], tools: list[str]) -> list[Step]:
        self.requests.append(messages)
        self.tools.append(tools)
        reply = self.replies.popleft() if self.replies else self.otherwise
        assert reply is not None, "the script is used up"
        if callable(reply):
            reply = reply(messages)
        if isinstance(reply, (AIMessage, str)):
            return [_chunk(reply)]
        return [reply] if isinstance(reply, BaseException) else list(reply)


class ScriptedChat(BaseChatModel):
    """Stream the script's replies; the same words come back from `invoke`."""

    script: Script
    model: str = "scripted"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[object], *, tool_choice: str | None = None, **kwargs: object
    ) -> Runnable[LanguageModelInput, AIMessage]:
        names = [tool.name for tool in tools if isinstance(tool, BaseTool)]
        return cast("Runnable[LanguageModelInput, AIMessage]", self.bind(tool_names=names))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> Iterator[ChatGenerationChunk]:
        for step in self.script.next_steps(list(messages), cast("list[str]", kwargs.get("tool_names") or [])):
            if isinstance(step, BaseException):
                raise step
            if isinstance(step, (AIMessageChunk, str)):
                yield ChatGenerationChunk(
                    message=step if isinstance(step, AIMessageChunk) else AIMessageChunk(content=step)
                )
            else:
                step()

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> ChatResult:
        merged: BaseMessageChunk = AIMessageChunk(content="")
        for chunk in self._stream(messages, stop, None, **kwargs):
            merged = merged + chunk.message
        assert isinstance(merged, AIMessageChunk)
        answer = AIMessage(
            content=merged.content,
            additional_kwargs=merged.additional_kwargs,
            response_metadata=merged.response_metadata,
            tool_calls=merged.tool_calls,
            invalid_tool_calls=merged.invalid_tool_calls,
            usage_metadata=merged.usage_metadata,
        )
        return ChatResult(generations=[ChatGeneration(message=answer)])


def scripted(*replies: Reply, otherwise: Reply | None = None) -> ScriptedChat:
    """Make a model that says these, one a call."""
    return ScriptedChat(script=Script(deque(replies), otherwise))


def says(text: str, *, input_tokens: int | None = None, output_tokens: int = 5, done_reason: str = "stop") -> AIMessage:
    """Answer with a text and, where given, with counts."""
    usage = None
    if input_tokens is not None:
        total = input_tokens + output_tokens
        usage = UsageMetadata(input_tokens=input_tokens, output_tokens=output_tokens, total_tokens=total)
    return AIMessage(text, usage_metadata=usage, response_metadata={"done_reason": done_reason})


def asks(*calls: tuple[str, dict[str, object]], text: str = "", first_id: int = 1) -> AIMessage:
    """Ask for tools, each a name and its arguments; ids are call1, call2, …"""
    made = [ToolCall(name=name, args=args, id=f"call{first_id + place}") for place, (name, args) in enumerate(calls)]
    return AIMessage(text, tool_calls=made)


def asks_raw(name: str, args: str, *, id: str = "call1", index: int = 0) -> AIMessageChunk:
    """Ask for a tool with arguments as they came off a stream."""
    call = ToolCallChunk(name=name, args=args, id=id, index=index)
    return AIMessageChunk(content="", tool_call_chunks=[call])


def _chunk(reply: AIMessage | str) -> AIMessageChunk:
    if isinstance(reply, str):
        return AIMessageChunk(content=reply)
    return AIMessageChunk(
        content=reply.content,
        tool_calls=reply.tool_calls,
        usage_metadata=reply.usage_metadata,
        response_metadata=reply.response_metadata,
        additional_kwargs=reply.additional_kwargs,
        chunk_position="last",
    )
