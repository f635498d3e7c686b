"""PersistentChatHistory: a conversation's log as LangChain's chat history, the single source of truth.

It refuses to know windows and summaries; `window_builder` and `compactor` do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from memcli.agent.codec import decoded, encode
from memcli.errors import NotFound
from memcli.memory.backwards import backwards
from memcli.memory.pairs import NEITHER, Entry, arrange
from memcli.records import StoredMessage, TurnPlace
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
        ordered = list(replayed(rows, messages))
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
        steps = [(encode(message), place_of(message)) for message in interleaved(messages)]
        self.store.turns.record(self.conversation_id, steps)

    def clear(self) -> None:
        """Delete the conversation's messages with everything made from them: turns, summaries, cursors, calls."""
        self.store.conversations.clear(self.conversation_id)


def place_of(message: BaseMessage) -> TurnPlace:
    """Say where a message stands in its turn: a human message opens one, an answer without calls closes it."""
    if isinstance(message, HumanMessage):
        return "opens"
    return "closes" if isinstance(message, AIMessage) and not message.tool_calls else "within"


def replayed(newest_first: Iterable[StoredMessage], messages: dict[int, BaseMessage]) -> Iterator[StoredMessage]:
    """Read rows from the newest back in the order they are replayed, and put their messages into `messages` by id."""
    return backwards(decoded(newest_first, messages), lambda row: entry_of(messages[row.id]))


def interleaved(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Put the results of every AI message's calls right behind it, in call order. Nothing is added or left out."""
    if len(messages) < 2:
        return list(messages)
    places = arrange([entry_of(message) for message in messages])
    return [messages[place.index] for place in places if place.kind != "missing"]


def entry_of(message: BaseMessage) -> Entry:
    """Say what pairing needs to know of a message."""
    if isinstance(message, AIMessage) and message.tool_calls:
        return Entry(tuple(call["id"] or "" for call in message.tool_calls))
    return Entry(answers=message.tool_call_id) if isinstance(message, ToolMessage) else NEITHER
