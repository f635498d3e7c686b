"""Random histories for property tests, and the few lines that put messages into a store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
    ToolCall,
    ToolMessage,
)

from memcli.agent.codec import encode
from memcli.records import Conversation, StoredMessage
from memcli.store import Store

TEXTS = (
    "",
    "x",
    "hello {you}",
    "你好你好",
    "a longer line of words " * 2,
    "<b># ä ß</b>",
    "three\nlines\nhere",
    "y" * 57,
)
CALL_IDS = ("a", "b", "c")
texts = st.sampled_from(TEXTS)


def asking(*ids: str, text: str = "") -> AIMessage:
    """Ask for the tool `look` once an id."""
    return AIMessage(text, tool_calls=[ToolCall(name="look", args={"at": id}, id=id) for id in ids])


PALETTE: tuple[BaseMessage, ...] = (
    *(HumanMessage(text) for text in TEXTS),
    *(AIMessage(text) for text in TEXTS),
    *(ToolMessage(text, tool_call_id=id) for text in TEXTS[:5] for id in CALL_IDS),
    *(asking(*ids, text=text) for ids in ("a", "b", "c", "ab", "ca", "abc") for text in TEXTS[:3]),
    *(SystemMessage(text) for text in TEXTS[:4]),
    HumanMessageChunk(content="a chunk"),
    AIMessageChunk(content="another chunk"),
    ChatMessage(content="as a critic", role="critic"),
    ChatMessage(content="as a user", role="user"),
    FunctionMessage(content="a function's result", name="look"),
    HumanMessage([{"type": "text", "text": "in a block"}]),
    HumanMessage("with a name", name="ann"),
)
histories = st.lists(st.sampled_from(PALETTE), max_size=12)
"""Anything in any order: orphan results, unanswered calls, repeated ids, system messages in the middle."""


@st.composite
def orderly_turns(draw: st.DrawFn) -> list[BaseMessage]:
    """Turns as an agent makes them: a question, rounds of calls with every result, an answer."""
    said: list[BaseMessage] = []
    if draw(st.booleans()):
        said.append(SystemMessage(draw(texts)))
    for turn in range(draw(st.integers(1, 4))):
        said.append(HumanMessage(draw(texts)))
        for round in range(draw(st.integers(0, 2))):
            ids = [f"{turn}-{round}-{place}" for place in range(draw(st.integers(1, 3)))]
            said.append(AIMessage(draw(texts), tool_calls=[ToolCall(name="look", args={}, id=id) for id in ids]))
            said += [ToolMessage(draw(texts), tool_call_id=id, name="look") for id in ids]
        said.append(AIMessage(draw(texts)))
    return said


def opened(path: Path) -> Store:
    """Open a store for a test."""
    return Store(path / "memcli.db")


def stored(store: Store, said: Sequence[BaseMessage]) -> Conversation:
    """Store messages one by one, as they are, in a conversation of their own; every human message begins a turn."""
    conversation = store.conversations.create()
    turn_id: int | None = None
    with store.transaction():
        for message in said:
            if isinstance(message, HumanMessage) or turn_id is None:
                turn_id = store.turns.start(conversation.id).id
            store.messages.append(conversation.id, [encode(message)], turn_id=turn_id)
        if turn_id is not None:
            store.turns.close(conversation.id, turn_id, "done")
    return store.conversations.get(conversation.id)


def exchange(number: int, words: int = 12) -> list[BaseMessage]:
    """Make one turn of two messages with words of its own."""
    question = " ".join(f"question{number}word{place}" for place in range(words))
    answer = " ".join(f"answer{number}word{place}" for place in range(words))
    return [HumanMessage(question), AIMessage(answer)]


def rows(store: Store, conversation: Conversation) -> list[StoredMessage]:
    """Read every row, excluded ones too."""
    return list(store.messages.oldest_first(conversation.id, excluded=True))
