"""Synthetic conversations of any length whose newest messages are the same, so that only the length differs.

Lengths and kinds follow 60 real tool-calling conversations: 116 tokens a message on average, a tool called in every
second turn. It refuses to know what is measured on them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from memcli.agent.codec import encode
from memcli.records import NewMessage
from memcli.store import Store

DISTINCT_TURNS = 400
"""Turns before they repeat; many times what a window holds."""
TURNS_A_TRANSACTION = 2_000
_TEXT = (
    "please change the flight from Seattle to New York on the 20th of May and keep seat 14C in economy because the"
    " reservation was paid with a gift card so the refund goes back to the same payment method within five to seven"
    " business days unless insurance was added then a delayed or cancelled trip gives a certificate for each passenger"
)
_WORDS = _TEXT.split()


class Stage:
    """Stores of one run by their conversation's length, each made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for number in range(DISTINCT_TURNS):
            encoded_turn(number)  # made now, so that nobody is charged for it
        self._stores: dict[int, Store] = {}

    def store(self, messages: int) -> Store:
        """Give the store whose one conversation, `last`, has about that many messages."""
        if messages not in self._stores:
            self._stores[messages] = Store(self.folder / f"{messages}.db")
            fill(self._stores[messages], messages)
        return self._stores[messages]

    def close(self) -> None:
        """Close every store."""
        for store in self._stores.values():
            store.close()


def fill(store: Store, messages: int) -> str:
    """Make a conversation of about that many messages and return its id."""
    conversation = store.conversations.create().id
    turns = list(turn_numbers(messages))
    for start in range(0, len(turns), TURNS_A_TRANSACTION):
        with store.transaction():
            for number in turns[start : start + TURNS_A_TRANSACTION]:
                turn = store.turns.start(conversation).id
                store.messages.append(conversation, encoded_turn(number % DISTINCT_TURNS), turn_id=turn)
                store.turns.close(conversation, turn, "done")
    return conversation


def history(messages: int) -> Iterator[BaseMessage]:
    """Give the same conversation as LangChain messages, oldest first."""
    for number in turn_numbers(messages):
        yield from turn(number % DISTINCT_TURNS)


def turn_numbers(messages: int) -> Iterator[int]:
    """Number the turns of a conversation of about that many messages, counted from its end; oldest first."""
    count = stored = 0
    while stored < messages:
        stored += len(turn(count % DISTINCT_TURNS))
        count += 1
    return iter(range(count - 1, -1, -1))


@cache
def turn(number: int) -> tuple[BaseMessage, ...]:
    """Make one of the distinct turns: a question and an answer, in every second turn with a tool call between them."""
    words = random.Random(number)
    question, answer = HumanMessage(_text(words, 200)), AIMessage(_text(words, 500))
    if number % 2:
        return question, answer
    call = {"id": f"call_{number}", "name": "get_reservation", "args": {"reservation": f"NO{number:04}"}}
    result = ToolMessage(_text(words, 900), tool_call_id=f"call_{number}", name="get_reservation")
    return question, AIMessage("", tool_calls=[call]), result, answer


@cache
def encoded_turn(number: int) -> tuple[NewMessage, ...]:
    """Give a turn's messages as rows."""
    return tuple(encode(message) for message in turn(number))


def _text(words: random.Random, letters: int) -> str:
    length = max(20, int(words.lognormvariate(0, 0.4) * letters))
    text = f"Reservation {words.choice('ABCDEF')}{words.randrange(10_000):04}: "
    while len(text) < length:
        text += words.choice(_WORDS) + " "
    return text.strip()
