"""One request to the model: made, recorded with what it saw and how it ended, and judged.

It refuses to know what a context is made of and what becomes of the answer (`agent`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from langchain_core.tools import BaseTool

from memcli.agent.bodies import record_of
from memcli.agent.events import Alarmed, CallFinished, CallStarted, Notice
from memcli.agent.limits import Model, with_output_limit
from memcli.agent.outgoing import to_langchain
from memcli.agent.sent import listening
from memcli.agent.stream import Answer, Emit, Streams, stream_answer
from memcli.memory.alarm import alarm_of, shortage
from memcli.memory.context import Context
from memcli.memory.estimate import prompt_estimate
from memcli.memory.wire import wire
from memcli.store import Store


@dataclass(frozen=True, slots=True)
class ChatCall:
    """A request that is about to be made in a conversation's turn."""

    store: Store
    model: Model
    context: Context
    turn_id: int

    def make(self, tools: Sequence[BaseTool], emit: Emit) -> Answer:
        """Make it and record it. What went wrong with its prompt is emitted; Ctrl-C is never raised from here."""
        call_id = self.store.calls.begin(
            self.context.conversation_id, turn_id=self.turn_id, purpose="chat", model=self.model.label,
            limit_tokens=self.context.limit_tokens, parts=[part.reference() for part in self.context.parts],
            estimated_tokens=prompt_estimate(self.context),
        )  # fmt: skip
        emit(CallStarted(call_id, self.context))
        started = time.monotonic()
        answer = self._answer(call_id, tools, emit)
        self._finish(call_id, answer, started, emit)
        if answer.error is not None:
            return answer
        try:
            self._judge(call_id, answer, emit)
        except KeyboardInterrupt:
            has_more_to_do = answer.message is not None and bool(answer.message.tool_calls)
            return replace(answer, was_interrupted=answer.was_interrupted or has_more_to_do)
        return answer

    def _answer(self, call_id: int, tools: Sequence[BaseTool], emit: Emit) -> Answer:
        messages = wire(self.context)
        with listening(
            lambda body, form: self.store.calls.note_request(
                self.context.conversation_id, call_id, record_of(body, form, messages)
            )
        ):
            return stream_answer(
                self._with_tools(tools), to_langchain(messages), emit, label=self.model.label,
                limit_tokens=self.context.limit_tokens, must_say_done=self.model.must_say_done,
            )  # fmt: skip

    def _with_tools(self, tools: Sequence[BaseTool]) -> Streams:
        room = min(self.context.answer_tokens, self.model.most_output_tokens or self.context.answer_tokens)
        chat = with_output_limit(self.model.chat, room)
        return cast(Streams, chat.bind_tools(list(tools)) if tools else chat)

    def _finish(self, call_id: int, answer: Answer, started: float, emit: Emit) -> None:
        usage = answer.message.usage_metadata if answer.message else None
        counts = (usage["input_tokens"], usage["output_tokens"]) if usage else (None, None)
        self.store.calls.finish(
            self.context.conversation_id, call_id,
            status="interrupted" if answer.was_interrupted else "failed" if answer.error else "done",
            input_tokens=counts[0], output_tokens=counts[1],
            duration_ms=int((time.monotonic() - started) * 1000), error=answer.error.message if answer.error else None,
        )  # fmt: skip
        emit(CallFinished(call_id, counts[0], counts[1], answer.finish_reason))

    def _judge(self, call_id: int, answer: Answer, emit: Emit) -> None:
        """Tell what the server did to the prompt, or will do to a longer one."""
        conversation_id = self.context.conversation_id
        if self.model.allotment is not None and not answer.was_interrupted:
            allotted = self.model.allotment.now()
            if allotted is not None:
                self.store.calls.note_allotted(conversation_id, call_id, allotted)
        alarm = alarm_of(self.store, conversation_id, call_id, self.context)
        if alarm is not None:
            emit(Alarmed(alarm.text, alarm.error))
        elif (notice := shortage(self.store, conversation_id, call_id)) is not None:
            emit(Notice(notice))
