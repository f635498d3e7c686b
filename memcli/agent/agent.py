"""The agent: one turn from the user's message to the final answer, everything stored as it happens.

Commit the user's message before calling; commit an answer with its calls before running them; commit each result as it
lands; close the turn; then see to the memory. Killed at any point it loses at most the tokens still streaming. It refuses
to know the terminal: it emits events.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool

from memcli.agent.codec import encode
from memcli.agent.events import CallFinished, CallStarted, Folded, Notice, ToolFinished, ToolStarted
from memcli.agent.limits import tools_tokens, with_output_limit
from memcli.agent.stream import Answer, Emit, Streams, stream_answer
from memcli.errors import MemcliError, ModelUnreachable, NotFound, StoreLocked
from memcli.memory import running, window
from memcli.memory.context import Context, Policy, Request
from memcli.memory.fold import FoldResult
from memcli.memory.summarizer import Summarizer
from memcli.memory.tokens import estimate_tokens
from memcli.memory.wire import WireMessage, wire
from memcli.records import Conversation, StoredMessage, Turn
from memcli.store import Store

INTERRUPTED_RESULT = "Interrupted by the user. Whether it had side effects is unknown."
NOT_RUN_RESULT = "Not run: the user interrupted the turn before."
ROUNDS_NOTICE = "the model asked for tools {rounds} times in a row; it was asked to answer without them"


@dataclass(frozen=True, slots=True)
class Model:
    """The model an agent talks to, and what it can carry."""

    chat: BaseChatModel
    label: str
    limit_tokens: int
    can_call_tools: bool
    must_say_done: bool = False
    """Its streams end with a last word of their own; one that does not was cut."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended."""

    turn_id: int
    status: Literal["done", "failed", "interrupted"]
    answer: str
    """The final answer's text, or the part that arrived; "" when none did."""
    error: MemcliError | None = None


class Agent:
    """Hold one conversation with one model."""

    def __init__(
        self,
        store: Store,
        conversation_id: str,
        model: Model,
        *,
        policy: Policy,
        summarizer: Summarizer,
        tools: Sequence[BaseTool] = (),
        max_rounds: int = 8,
    ) -> None:
        self._store = store
        self.conversation_id = conversation_id
        self._model = model
        self.policy = policy
        self._summarizer = summarizer
        self._tools = {tool.name: tool for tool in tools} if model.can_call_tools else {}
        self._max_rounds = max_rounds

    @property
    def conversation(self) -> Conversation:
        """Read the conversation as it is now."""
        return self._store.conversations.get(self.conversation_id)

    def request(self, turn_id: int | None = None) -> Request:
        """Say what a context of this agent holds beside the history."""
        tools = list(self._tools.values())
        return Request(turn_id=turn_id, tools_tokens=tools_tokens(tools), tools_text=", ".join(self._tools))

    def run_turn(self, text: str, emit: Emit, *, uid: str | None = None) -> TurnResult:
        """Answer one message. Ctrl-C ends the turn and keeps what there is; it is never raised from here.

        A turn that failed without an answer is excluded from the memory, its rows are kept. Raises StoreLocked,
        StoreUnwritable and what else makes storing impossible.
        """
        with self._store.transaction(durable=True):
            turn = self._store.turns.start(self.conversation_id)
            self._store.messages.append(self.conversation_id, [encode(HumanMessage(text), uid=uid)], turn_id=turn.id)
        return self._run(turn, emit)

    def retry(self, emit: Emit) -> TurnResult:
        """Run the last turn again with the same message row; what the earlier attempt left is excluded.

        Raises NotFound when there is no turn to run again.
        """
        turn = self._store.turns.last(self.conversation_id, counted=True)
        if turn is None:
            raise NotFound("there is no turn to run again", "say something first")
        with self._store.transaction(durable=True):
            self._store.turns.close(self.conversation_id, turn.id, "failed")
            self._store.turns.reopen(self.conversation_id, turn.id)
            self._forget_summaries_of(turn)
        return self._run(turn, emit)

    def undo(self) -> Turn:
        """Take the last turn back: its rows stay, marked, and stand outside the memory. Raises NotFound without one."""
        turn = self._store.turns.last(self.conversation_id, counted=True)
        if turn is None:
            raise NotFound("there is no turn to undo", "the conversation is empty")
        with self._store.transaction(durable=True):
            self._store.turns.close(self.conversation_id, turn.id, "rewound")
            self._forget_summaries_of(turn)
        return turn

    def compact(self, *, instructions: str | None = None, if_needed: bool = False) -> FoldResult:
        """Fold what is not covered yet."""
        return running.settle(
            self._store, self.conversation, self.policy, self._summarizer,
            if_needed=if_needed, instructions=instructions, request=self.request(),
        )  # fmt: skip

    def context(self, turn_id: int | None = None) -> Context:
        """Build what the model would see on the next call."""
        return window.context(self._store, self.conversation, self.policy, self.request(turn_id))

    def _run(self, turn: Turn, emit: Emit) -> TurnResult:
        try:
            result = self._rounds(turn, emit)
        except MemcliError as err:
            result = TurnResult(turn.id, "failed", "", err)
        except KeyboardInterrupt:
            result = TurnResult(turn.id, "interrupted", "")
        with self._store.transaction(durable=True):
            self._store.turns.close(self.conversation_id, turn.id, result.status)
        with suppress(StoreLocked, KeyboardInterrupt):
            self._store.search.index()
        if result.status == "done":
            self._settle(emit)
        return result

    def _rounds(self, turn: Turn, emit: Emit) -> TurnResult:
        for number in range(1, self._max_rounds + 1):
            tools = list(self._tools.values()) if number < self._max_rounds or self._max_rounds == 1 else []
            if self._tools and not tools:
                emit(Notice(ROUNDS_NOTICE.format(rounds=self._max_rounds - 1)))
            answer = self._call(turn, tools, emit)
            message = answer.message
            if message is not None:
                self._append(turn, message, is_whole=answer.is_whole)
            text = encode(message).text if message is not None else ""
            if answer.error is not None:
                return TurnResult(turn.id, "interrupted" if text else "failed", text, answer.error)
            if answer.was_interrupted:
                return TurnResult(turn.id, "interrupted", text)
            if message is None or not message.tool_calls:
                return TurnResult(turn.id, "done", text)
            if not self._run_tools(turn, message, emit):
                return TurnResult(turn.id, "interrupted", text)
        return TurnResult(turn.id, "done", "")

    def _call(self, turn: Turn, tools: Sequence[BaseTool], emit: Emit) -> Answer:
        """Make one request and record what it saw."""
        context = self.context(turn.id)
        messages = to_langchain(wire(context))
        estimated = sum(estimate_tokens(str(message.text)) + 4 for message in messages)
        call_id = self._store.calls.begin(
            self.conversation_id, turn_id=turn.id, purpose="chat", model=self._model.label,
            limit_tokens=context.limit_tokens, parts=[part.reference() for part in context.parts],
            estimated_tokens=estimated,
        )  # fmt: skip
        emit(CallStarted(call_id, context))
        started = time.monotonic()
        answer = stream_answer(
            self._with_tools(tools, context), messages, emit,
            label=self._model.label, limit_tokens=context.limit_tokens, must_say_done=self._model.must_say_done,
        )  # fmt: skip
        self._finish(call_id, answer, started, emit)
        return answer

    def _with_tools(self, tools: Sequence[BaseTool], context: Context) -> Streams:
        room = max(context.policy.output_reserve, context.limit_tokens - context.prompt_tokens)
        chat = with_output_limit(self._model.chat, room)
        return cast(Streams, chat.bind_tools(list(tools)) if tools else chat)

    def _finish(self, call_id: int, answer: Answer, started: float, emit: Emit) -> None:
        usage = cast("Mapping[str, int]", (answer.message.usage_metadata if answer.message else None) or {})
        counts = usage.get("input_tokens"), usage.get("output_tokens")
        self._store.calls.finish(
            self.conversation_id, call_id,
            status="interrupted" if answer.was_interrupted else "failed" if answer.error else "done",
            input_tokens=counts[0], output_tokens=counts[1],
            duration_ms=int((time.monotonic() - started) * 1000), error=answer.error.message if answer.error else None,
        )  # fmt: skip
        emit(CallFinished(call_id, counts[0], counts[1], answer.finish_reason))

    def _run_tools(self, turn: Turn, message: AIMessage, emit: Emit) -> bool:
        """Run the calls in order, each result stored as it lands. Returns False when the user interrupted."""
        was_interrupted = False
        for call in message.tool_calls:
            emit(ToolStarted(call["name"], call["args"]))
            if was_interrupted:
                result = _error_result(call["id"] or "", call["name"], NOT_RUN_RESULT)
            else:
                try:
                    result = self._run_tool(call["id"] or "", call["name"], call["args"])
                except KeyboardInterrupt:
                    was_interrupted = True
                    result = _error_result(call["id"] or "", call["name"], INTERRUPTED_RESULT)
            stored = self._append(turn, result, is_whole=True)
            emit(ToolFinished(call["name"], stored.text, result.status == "error"))
        return not was_interrupted

    def _run_tool(self, call_id: str, name: str, args: Mapping[str, object]) -> ToolMessage:
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(sorted(self._tools)) or "none"
            return _error_result(call_id, name, f"There is no tool {name!r}. Available: {known}.")
        try:
            result = tool.invoke({"type": "tool_call", "id": call_id, "name": name, "args": dict(args)})
        except Exception as err:  # noqa: BLE001 - a tool is anybody's code; the model sees what it raised
            return _error_result(call_id, name, f"{type(err).__name__}: {err}")
        return result if isinstance(result, ToolMessage) else ToolMessage(str(result), tool_call_id=call_id, name=name)

    def _append(self, turn: Turn, message: BaseMessage, *, is_whole: bool) -> StoredMessage:
        new = replace(encode(message), uid=None, state="whole" if is_whole else "partial")
        with self._store.transaction(durable=True):
            return self._store.messages.append(self.conversation_id, [new], turn_id=turn.id)[0]

    def _settle(self, emit: Emit) -> None:
        try:
            result = self.compact(if_needed=True)
        except ModelUnreachable as err:
            result = FoldResult(self.conversation_id, "failed", error=err.message)
        except KeyboardInterrupt:
            emit(Notice("the compaction was interrupted; it is made after the next turn"))
            return
        if result.status != "nothing":
            emit(Folded(result))

    def _forget_summaries_of(self, turn: Turn) -> None:
        """Move the head back before a turn that is taken back: what was derived from it goes with it."""
        first = next((item.id for item in self._store.messages.of_turn(self.conversation_id, turn.id, excluded=True)), None)
        head = self._store.summaries.head(self.conversation_id, "running")
        target = head
        while target is not None and first is not None and target.last_message_id >= first:
            target = self._store.summaries.get(self.conversation_id, target.parent_id) if target.parent_id else None
        if head is not None and target is not head:
            self._store.summaries.move_head(
                self.conversation_id, "running", target.id if target else None, expected_head=head.id
            )


def to_langchain(messages: Sequence[WireMessage]) -> list[BaseMessage]:
    """Turn wire messages into LangChain's, with what no provider can encode replaced visibly."""
    return [_langchain(message) for message in messages]


def _langchain(message: WireMessage) -> BaseMessage:
    content = message.content.encode("utf-8", "replace").decode("utf-8")
    if message.role == "system":
        return SystemMessage(content)
    if message.role == "user":
        return HumanMessage(content, name=message.name)
    if message.role == "tool":
        status = "error" if message.is_error else "success"
        return ToolMessage(content, tool_call_id=message.tool_call_id or "", name=message.name, status=status)
    calls = [{"name": call.name, "args": dict(call.args), "id": call.id, "type": "tool_call"} for call in message.tool_calls]
    return AIMessage(content, tool_calls=calls, name=message.name)


def _error_result(call_id: str, name: str, text: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id, name=name, status="error")
