"""PersistentChatHistory: a conversation's log as LangChain's chat history, the single source of truth.

It refuses to know windows and summaries; `window_builder` and `compactor` do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from memcli.agent.codec import decoded, encode
from memcli.errors import NotFound
from memcli.memory.backwards import backwards
from memcli.memory.pairs import Entry, arrange
from memcli.records import NewMessage, Turn
from memcli.store import Store


class PersistentChatHistory(BaseChatMessageHistory):
    """Keep one conversation in the store, losslessly and always valid to replay.

    Every message class is stored, with its calls, arguments, artifacts, usage and metadata, and comes back as it was.
    A conversation that does not exist yet is begun. Source: PersistentChatHistory of the Enthusiast design, which
    splits an AI message with several calls and loses arguments and usage; this one does not.
    """

    def __init__(self, store: Store, conversation_id: str) -> None:
        self.store = store
        self.conversation_id = conversation_id
        try:
            store.conversations.get(conversation_id)
        except NotFound:
            store.conversations.create(id=conversation_id)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """Read the whole history, ids ascending, each AI message followed by the results of its calls in call order.

        Turns that failed or were rewound are left out, and so are rows that cannot be read.
        """
        return self.messages_after(None)

    @property
    def last_message_id(self) -> int | None:
        """Tell the id of the newest stored message; None when there are none."""
        return self.store.messages.last_id(self.conversation_id) or None

    def messages_after(self, message_id: int | None) -> list[BaseMessage]:
        """Read the messages with a larger id, oldest first. None reads all; [] when there are none."""
        rows = self.store.messages.newest_first(self.conversation_id, down_to=(message_id or 0) + 1)
        messages: dict[int, BaseMessage] = {}
        ordered = list(backwards(decoded(rows, messages)))
        return [messages[row.id] for row in reversed(ordered)]

    @property
    def is_customised(self) -> bool:
        """Tell whether a class of somebody's own decides what the messages are; then they must be asked for."""
        ours = PersistentChatHistory
        return type(self).messages is not ours.messages or type(self).messages_after is not ours.messages_after

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages, all or none, the results of parallel calls behind their AI message in call order.

        A message whose id is stored already with the same content is a retry and adds nothing; with other content it is
        kept under an id of its own. A human message begins a turn; an answer without calls ends it.
        """
        with self.store.transaction():
            turn = self._open_turn()
            for message in interleaved(messages):
                if isinstance(message, HumanMessage) or turn is None:
                    turn = self._next_turn(turn)
                self._append(message, turn.id)
                if isinstance(message, AIMessage) and not message.tool_calls:
                    turn = self._closed(turn)

    def clear(self) -> None:
        """Delete the conversation's messages with everything made from them: turns, summaries, cursors, calls."""
        self.store.conversations.clear(self.conversation_id)

    def _append(self, message: BaseMessage, turn_id: int) -> None:
        new = encode(message)
        stored = self.store.messages.append(self.conversation_id, [new], turn_id=turn_id)[0]
        attempt = 1
        while new.uid is not None and stored.payload != new.payload:
            attempt += 1
            again: NewMessage = replace(new, uid=f"{new.uid}~{attempt}")
            stored = self.store.messages.append(self.conversation_id, [again], turn_id=turn_id)[0]

    def _open_turn(self) -> Turn | None:
        last = self.store.turns.last(self.conversation_id)
        return last if last is not None and last.status in ("open", "done") else None

    def _next_turn(self, turn: Turn | None) -> Turn:
        if turn is not None and turn.status == "open":
            self._closed(turn)
        return self.store.turns.start(self.conversation_id)

    def _closed(self, turn: Turn) -> Turn:
        self.store.turns.close(self.conversation_id, turn.id, "done")
        return replace(turn, status="done")


def interleaved(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Put the results of every AI message's calls right behind it, in call order. Nothing is added or left out."""
    places = arrange([entry_of(message) for message in messages])
    return [messages[place.index] for place in places if place.kind != "missing"]


def entry_of(message: BaseMessage) -> Entry:
    """Say what pairing needs to know of a message."""
    if isinstance(message, AIMessage):
        return Entry(tuple(call["id"] or "" for call in message.tool_calls))
    return Entry(answers=message.tool_call_id if isinstance(message, ToolMessage) else None)
