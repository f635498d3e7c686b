"""A conversation's state as Model B's design gives it: the newest turn's messages, the turn summaries, the compaction.

Everything is read from the store when it is asked for. It refuses to change anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from langchain_core.messages import BaseMessage

from memcli.agent.codec import decode
from memcli.agent.typed import as_typed
from memcli.errors import UsageError
from memcli.memory.in_force import is_cleared, recalls_at
from memcli.memory.recalls import (
    ChatHistoryCompaction,
    ChatTurnContext,
    ChatTurnSummary,
    compaction_of,
    turn_summary_of,
)
from memcli.store import Store


class StateValues(TypedDict):
    """What a snapshot holds, by the design's names."""

    messages: Sequence[BaseMessage]
    """The newest turn, ongoing or completed, oldest message first."""
    turn_summaries: Sequence[ChatTurnSummary]
    """Those in force, oldest first."""
    chat_history_compaction: ChatHistoryCompaction | None


@dataclass(frozen=True, slots=True)
class StateSnapshot:
    """One conversation's state at the moment it was read."""

    values: StateValues
    config: Mapping[str, object]
    """What it was asked with."""


class ConversationGraph:
    """Where the design keeps state: `get_state` gives what is in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get_state(self, config: Mapping[str, object]) -> StateSnapshot:
        """Read the conversation that `{"configurable": {"thread_id": id}}` names, by its whole id.

        Raises NotFound when there is none, and UsageError when the configuration names no thread.
        """
        configurable = config.get("configurable")
        thread_id = configurable.get("thread_id") if isinstance(configurable, Mapping) else None
        if not isinstance(thread_id, str):
            raise UsageError("the configuration names no thread", 'pass {"configurable": {"thread_id": ID}}')
        context = turn_context(self._store, thread_id)
        values = StateValues(
            messages=[message for message in context.messages if isinstance(message, BaseMessage)],
            turn_summaries=context.turn_summaries,
            chat_history_compaction=context.chat_history_compaction,
        )
        return StateSnapshot(values, config)


def turn_context(store: Store, conversation_id: str) -> ChatTurnContext:
    """Read what a turn is answered with, as the design's record. Raises NotFound without such a conversation."""
    conversation = store.conversations.get(conversation_id)
    turn = store.turns.last(conversation_id, counted=True)
    messages = _messages(store, conversation_id, turn.id) if turn else []
    recalls = recalls_at(store, conversation_id, conversation.last_message_id)
    compaction = recalls.compaction
    return ChatTurnContext(
        messages,
        [turn_summary_of(summary) for summary in recalls.summaries],
        compaction_of(compaction) if compaction is not None and not is_cleared(compaction) else None,
    )


def _messages(store: Store, conversation_id: str, turn_id: int) -> list[BaseMessage]:
    rows = store.messages.of_turn(conversation_id, turn_id)
    decoded = ((row, decode(row)) for row in rows)
    return [as_typed(message, row.created_at) for row, message in decoded if message is not None]
