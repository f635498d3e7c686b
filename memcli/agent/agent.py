"""The agent: one turn from the user's message to the final answer, everything stored as it happens.

Commit the user's message before calling; commit an answer with its calls before running them; commit each result as it
lands; close the turn; then see to the memory. Killed at any point it loses at most the tokens still streaming. It
refuses to know the terminal: it emits events.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import BaseTool

from memcli.agent.chat_call import ChatCall
from memcli.agent.codec import encode
from memcli.agent.events import Folded, Notice, ToolFinished, ToolStarted
from memcli.agent.events import TurnResult as TurnResult
from memcli.agent.limits import Model as Model
from memcli.agent.limits import tools_tokens
from memcli.agent.rewind import reopen_turn, rewind_turn
from memcli.agent.snapshot import ConversationGraph
from memcli.agent.stream import Answer, Emit
from memcli.agent.tools import error_result, run_tool
from memcli.agent.typed import AgentMessage, UserMessage
from memcli.errors import MemcliError, ModelError, ModelUnreachable, NotFound, StoreLocked
from memcli.memory.context import Context, Policy, Request
from memcli.memory.fold import FoldResult
from memcli.memory.model import memory_of
from memcli.memory.summarizer import Summarizer
from memcli.records import Conversation, StoredMessage, Turn
from memcli.store import Store

INTERRUPTED_RESULT = "Interrupted by the user. Whether it had side effects is unknown."
NOT_RUN_RESULT = "Not run: the user interrupted the turn before."
ROUNDS_NOTICE = "the model asked for tools {rounds} times in a row; it was asked to answer without them"


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

    @property
    def graph(self) -> ConversationGraph:
        """Give Model B's door to the state: `graph.get_state({"configurable": {"thread_id": conversation_id}})`."""
        return ConversationGraph(self._store)

    def run_turn(self, text: str | HumanMessage, emit: Emit, *, uid: str | None = None) -> TurnResult:
        """Answer one message. Ctrl-C ends the turn and keeps what there is; it is never raised from here.

        A turn that failed before anything came of it is excluded from the memory, its rows are kept. The same `uid`
        again is the same message: its turn is run again, or its answer returned if it has one. Raises StoreLocked,
        StoreUnwritable and what else makes storing impossible.
        """
        new = encode(self._said(text), uid=uid)
        try:
            with self._store.transaction(durable=True):
                turn = self._store.turns.start(self.conversation_id)
                stored = self._store.messages.append(self.conversation_id, [new], turn_id=turn.id)[0]
                if stored.turn_id != turn.id:
                    raise _AlreadyStoredError(stored)
        except _AlreadyStoredError as err:
            return self._repeat(err.message, emit)
        return self._run(turn, emit)

    def retry(self, emit: Emit) -> TurnResult:
        """Run the last turn again with the same message row; what the earlier attempt left is excluded.

        Raises NotFound when there is no turn to run again.
        """
        turn = self._store.turns.last(self.conversation_id, counted=True)
        if turn is None:
            raise NotFound("there is no turn to run again", "say something first")
        return self._run_again(turn, emit)

    def undo(self, *, keep_user_message: bool = False) -> Turn:
        """Take the last turn back: its rows stay, marked, and stand outside the memory, with all that came of them.

        With `keep_user_message` the turn stays with that message alone, and `retry` runs it. Raises NotFound.
        """
        return rewind_turn(self._store, self.conversation_id, keep_user_message=keep_user_message)

    def compact(self, *, instructions: str | None = None, if_needed: bool = False) -> FoldResult:
        """Fold what is not covered yet."""
        conversation = self.conversation
        return memory_of(conversation.memory).settle(
            self._store, conversation, self.policy, self._summarizer, self.request(),
            if_needed=if_needed, instructions=instructions,
        )  # fmt: skip

    def compact_chat_history(self) -> FoldResult:
        """Fold everything that is completed into one compaction; an ongoing turn is left alone.

        The result's status is `nothing` when there is nothing to fold. Source: the OpenDataSci design.
        """
        return self.compact()

    def context(self, turn_id: int | None = None) -> Context:
        """Build what the model would see on the next call."""
        conversation = self.conversation
        return memory_of(conversation.memory).context(self._store, conversation, self.policy, self.request(turn_id))

    def _repeat(self, message: StoredMessage, emit: Emit) -> TurnResult:
        """Answer a message that is stored already."""
        turn = self._store.turns.get(self.conversation_id, message.turn_id or 0)
        if turn.status != "done":
            return self._run_again(turn, emit)
        said = self._store.messages.of_turn(self.conversation_id, turn.id)
        answers = [item.text for item in said if item.role == "ai"]
        return TurnResult(turn.id, "done", answers[-1] if answers else "")

    def _run_again(self, turn: Turn, emit: Emit) -> TurnResult:
        reopen_turn(self._store, turn)
        return self._run(turn, emit)

    def _run(self, turn: Turn, emit: Emit) -> TurnResult:
        try:
            result = self._rounds(turn, emit)
        except MemcliError as err:
            result = self._broken_off(turn, err, "")
        except KeyboardInterrupt:
            result = TurnResult(turn.id, "interrupted", "")
        with self._store.transaction(durable=True):
            self._store.turns.close(self.conversation_id, turn.id, result.status)
        with suppress(StoreLocked, KeyboardInterrupt):
            self._store.search.index(self.conversation_id)
        if result.status == "done":
            self._settle(emit)
        return result

    def _rounds(self, turn: Turn, emit: Emit) -> TurnResult:
        for number in range(1, self._max_rounds + 1):
            tools = list(self._tools.values()) if number < self._max_rounds or self._max_rounds == 1 else []
            if self._tools and not tools:
                emit(Notice(ROUNDS_NOTICE.format(rounds=self._max_rounds - 1)))
            answer = self._call(turn, tools, emit)
            message, error = answer.message, answer.error or self._unreadable_calls(answer)
            if message is not None:
                self._append(turn, message, is_whole=answer.is_whole and not message.invalid_tool_calls)
            text = encode(message).text if message is not None else ""
            if error is not None:
                return self._broken_off(turn, error, text)
            if answer.was_interrupted:
                return TurnResult(turn.id, "interrupted", text)
            if message is None or not message.tool_calls:
                return TurnResult(turn.id, "done", text)
            if not self._run_tools(turn, message, emit):
                return TurnResult(turn.id, "interrupted", text)
        return TurnResult(turn.id, "done", "")

    def _broken_off(self, turn: Turn, error: MemcliError, text: str) -> TurnResult:
        """End a turn that failed. What tools did, and a partial answer, must not leave the memory with it."""
        ran_tools = any(item.role == "tool" for item in self._store.messages.of_turn(self.conversation_id, turn.id))
        return TurnResult(turn.id, "interrupted" if text or ran_tools else "failed", text, error)

    def _unreadable_calls(self, answer: Answer) -> ModelError | None:
        message = answer.message
        if message is None or message.tool_calls or not message.invalid_tool_calls:
            return None
        names = ", ".join(call["name"] or "a tool" for call in message.invalid_tool_calls)
        return ModelError(f"{self._model.label} asked for {names} with arguments that cannot be read", "run it again")

    def _call(self, turn: Turn, tools: Sequence[BaseTool], emit: Emit) -> Answer:
        """Make one request."""
        self._prepare(turn, emit)
        return ChatCall(self._store, self._model, self.context(turn.id), turn.id).make(tools, emit)

    def _prepare(self, turn: Turn, emit: Emit) -> None:
        """Let the memory see to a turn that outgrows its bounds; without it the context clips what is too long."""
        conversation = self.conversation
        memory = memory_of(conversation.memory)
        with suppress(ModelUnreachable):
            result = memory.prepare(self._store, conversation, self.policy, self._summarizer, turn.id)
            if result.status != "nothing":
                emit(Folded(result))

    def _run_tools(self, turn: Turn, message: AIMessage, emit: Emit) -> bool:
        """Run the calls in order, each result stored as it lands. Returns False when the user interrupted."""
        was_interrupted = False
        for call in message.tool_calls:
            emit(ToolStarted(call["name"], call["args"]))
            if was_interrupted:
                result = error_result(call["id"] or "", call["name"], NOT_RUN_RESULT)
            else:
                try:
                    result = run_tool(self._tools, call["id"] or "", call["name"], call["args"])
                except KeyboardInterrupt:
                    was_interrupted = True
                    result = error_result(call["id"] or "", call["name"], INTERRUPTED_RESULT)
            stored = self._append(turn, result, is_whole=True)
            emit(ToolFinished(call["name"], stored.text, result.status == "error"))
        return not was_interrupted

    def _said(self, text: str | HumanMessage) -> HumanMessage:
        """Make the user's message, of the class the conversation's memory model names."""
        if isinstance(text, HumanMessage):
            return text
        return UserMessage(text) if self.conversation.memory == "turns" else HumanMessage(text)

    def _append(self, turn: Turn, message: BaseMessage, *, is_whole: bool) -> StoredMessage:
        if isinstance(message, AIMessage) and self.conversation.memory == "turns":
            message = AgentMessage.from_langchain(message)
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


class _AlreadyStoredError(Exception):
    def __init__(self, message: StoredMessage) -> None:
        super().__init__(message.uid)
        self.message = message
