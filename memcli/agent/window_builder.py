"""ContextWindowBuilder: Model A's context as LangChain messages, over any chat history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

from memcli.agent.base import BaseMemoryCompactor
from memcli.agent.codec import decoded, encode
from memcli.agent.history import PersistentChatHistory, entry_of, replayed
from memcli.config import MAX_HISTORY_TOKENS as MAX_HISTORY_TOKENS
from memcli.errors import UsageError
from memcli.memory.clip import Shown
from memcli.memory.context import Policy
from memcli.memory.pairs import Placed, arrange, is_whole
from memcli.memory.prompts import render_summary
from memcli.memory.window import select
from memcli.memory.wire import UNKNOWN_RESULT
from memcli.records import StoredMessage

ORDER_DEPARTURE = "results were put behind their calls (the source would send them where they stood)"
ORPHAN_DEPARTURE = "a result whose call is not in the window was left out (the source would send it alone)"
MISSING_DEPARTURE = "a call without a result got one that says so (the source would send it unanswered)"


class ContextWindowBuilder:
    """Build what an agent sees: the compactor's summary, if it has one, then the newest messages within the budget.

    For any history the window equals `trim_messages(strategy="last", token_counter="approximate",
    start_on=HumanMessage, include_system=True, allow_partial=False)`, except where `departures` says otherwise. A
    history of ours is read from the newest message back, never whole. Source: ContextWindowBuilder of the Enthusiast
    design. `keeps_units` and `clips_newest` switch the departures; they are Policy's fields of the same names.
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
        view = _view(self._chat_history)
        lead = [Shown.whole(view.lead)] if view.lead else []
        budget = max(0, max_tokens - sum(item.tokens for item in lead))
        window = select(view.newest_first, budget, self._policy)
        history = [view.message(item) for item in (*lead, *window.shown)]
        repairs: tuple[str, ...] = ()
        if self._policy.keeps_units:
            history, repairs = _whole_units(history)
        self.departures = (*window.departures, *repairs)
        return [*self._summary(), *history]

    def _summary(self) -> list[BaseMessage]:
        summary = self._memory_compactor.get_summary() if self._memory_compactor else None
        return [SystemMessage(content=render_summary(summary))] if summary is not None else []


@dataclass(frozen=True, slots=True)
class _View:
    """A history as rows, and the messages they stand for."""

    lead: StoredMessage | None
    """The leading system message, if there is one."""
    newest_first: Iterator[StoredMessage]
    """The rest, read as it is taken."""
    messages: dict[int, BaseMessage]
    """By id; filled as rows are read."""

    def message(self, item: Shown) -> BaseMessage:
        """Give the message a row stands for, clipped as it is shown."""
        message = self.messages[item.message.id]
        return message if item.clipped_text is None else message.model_copy(update={"content": item.clipped_text})


def _view(history: BaseChatMessageHistory) -> _View:
    if isinstance(history, PersistentChatHistory) and not history.is_customised:
        return _stored_view(history)
    return _foreign_view(history.messages)


def _stored_view(history: PersistentChatHistory) -> _View:
    rows, id = history.store.messages, history.conversation_id
    messages: dict[int, BaseMessage] = {}
    first = next(decoded(rows.oldest_first(id), messages), None)
    lead = first if first is not None and first.role == "system" else None
    newest_first = rows.newest_first(id, down_to=lead.id + 1 if lead else 1)
    return _View(lead, replayed(newest_first, messages), messages)


def _foreign_view(messages: Sequence[BaseMessage]) -> _View:
    rows = [_as_row(message, id) for id, message in enumerate(messages, 1)]
    lead = rows[0] if rows and rows[0].role == "system" else None
    return _View(lead, reversed(rows[1:] if lead else rows), dict(enumerate(messages, 1)))


def _as_row(message: BaseMessage, id: int) -> StoredMessage:
    new = replace(encode(message), uid=str(id))
    return StoredMessage(
        id, "", None, str(id), new.kind, new.role, new.text, new.payload, new.tokens,
        datetime.fromtimestamp(0, UTC), "whole",
    )  # fmt: skip


def _whole_units(messages: list[BaseMessage]) -> tuple[list[BaseMessage], tuple[str, ...]]:
    """Put every call's results behind it, leave out results without a call, and make up those that are absent.

    What is made up is outside the budget: it stands for a tool that a crash cut off.
    """
    entries = [entry_of(message) for message in messages]
    if is_whole(entries):
        return messages, ()
    places = arrange(entries)
    whole = [_placed(messages, place) for place in places if place.kind != "stray"]
    kinds = {place.kind for place in places}
    order = [place.index for place in places if place.kind != "missing"]
    departures = [
        departure
        for departure, applies in (
            (ORDER_DEPARTURE, order != sorted(order)),
            (ORPHAN_DEPARTURE, "stray" in kinds),
            (MISSING_DEPARTURE, "missing" in kinds),
        )
        if applies
    ]
    return whole, tuple(departures)


def _placed(messages: Sequence[BaseMessage], place: Placed) -> BaseMessage:
    message = messages[place.index]
    if place.kind != "missing":
        return message
    assert isinstance(message, AIMessage)
    call = message.tool_calls[place.call]
    return ToolMessage(UNKNOWN_RESULT, tool_call_id=call["id"] or "", name=call["name"], status="error")
