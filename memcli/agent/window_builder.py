"""ContextWindowBuilder: Model A's context as LangChain messages, over any chat history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, SystemMessage

from memcli.agent.base import BaseMemoryCompactor
from memcli.agent.codec import decode, encode
from memcli.agent.history import PersistentChatHistory, interleaved
from memcli.errors import UsageError
from memcli.memory.clip import Shown
from memcli.memory.context import Policy
from memcli.memory.prompts import render_summary
from memcli.memory.window import select
from memcli.records import StoredMessage


class ContextWindowBuilder:
    """Build what an agent sees: the compactor's summary, if it has one, then the newest messages within the budget.

    For any history the window equals `trim_messages(strategy="last", token_counter="approximate", start_on="human",
    include_system=True, allow_partial=False)`, except where `departures` says otherwise. A history of ours is read from
    the newest message back, never whole. Source: ContextWindowBuilder of the Enthusiast design.
    """

    def __init__(
        self,
        chat_history: BaseChatMessageHistory,
        memory_compactor: BaseMemoryCompactor | None = None,
        *,
        keeps_units: bool = True,
        clips_newest: bool = True,
    ) -> None:
        self._chat_history = chat_history
        self._memory_compactor = memory_compactor
        self._policy = Policy(keeps_units=keeps_units, clips_newest=clips_newest)
        self.departures: tuple[str, ...] = ()
        """Where the last build departed from the source, in words; () when it did not."""

    def build(self, max_tokens: int) -> list[BaseMessage]:
        """Return the summary message, if any, and the window, oldest first. The summary is outside the budget.

        Raises UsageError for a negative budget.
        """
        if max_tokens < 0:
            raise UsageError(f"max_tokens = {max_tokens} is negative", "a window's budget is 0 or more tokens")
        lead, newest_first, originals = self._source()
        budget = max(0, max_tokens - lead.tokens) if lead else max_tokens
        window = select(newest_first, budget, self._policy)
        self.departures = window.departures
        shown = [*([Shown.whole(lead)] if lead else []), *window.shown]
        history = interleaved([message for item in shown if (message := _as_message(item, originals)) is not None])
        return [*self._summary(), *history]

    def _summary(self) -> list[BaseMessage]:
        summary = self._memory_compactor.get_summary() if self._memory_compactor else None
        return [SystemMessage(content=render_summary(summary))] if summary is not None else []

    def _source(self) -> tuple[StoredMessage | None, Iterator[StoredMessage], list[BaseMessage]]:
        history = self._chat_history
        if type(history).messages is PersistentChatHistory.messages:
            assert isinstance(history, PersistentChatHistory)
            messages, id = history.store.messages, history.conversation_id
            lead = messages.leading_system(id)
            return lead, messages.newest_first(id, down_to=2 if lead else 1), []
        originals = list(history.messages)
        rows = [_as_row(message, index + 1) for index, message in enumerate(originals)]
        lead = rows[0] if rows and rows[0].role == "system" else None
        return lead, reversed(rows[1:] if lead else rows), originals


def _as_message(item: Shown, originals: list[BaseMessage]) -> BaseMessage | None:
    message = originals[item.message.id - 1] if originals else decode(item.message)
    if message is None or item.clipped_text is None:
        return message
    return message.model_copy(update={"content": item.clipped_text})


def _as_row(message: BaseMessage, id: int) -> StoredMessage:
    new = replace(encode(message), uid=str(id))
    return StoredMessage(
        id, "", None, str(id), new.kind, new.role, new.text, new.payload, new.tokens, datetime.fromtimestamp(0, UTC), "whole"
    )
