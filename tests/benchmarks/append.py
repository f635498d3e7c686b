"""Appending messages, each committed: against the peer with the same pragmas, and against a shorter conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from memcli.agent.history import PersistentChatHistory
from memcli.store import Store
from tests.benchmarks.conversations import DISTINCT_TURNS, Stage, encoded_turn, turn
from tests.benchmarks.figures import Bound, Figure, duration
from tests.benchmarks.peer import NAME, open_peer
from tests.benchmarks.timing import medians

FASTER = Bound("at least", 5)
"""Source: issue 2."""
GROWTH = Bound("at most", 1.1)
SAMPLES = 15
TICK_S = 0.2


def figures(stage: Stage) -> Iterator[Figure]:
    """Measure one message a commit, one turn a commit, the store alone, and the growth with length."""
    with Store(stage.folder / "append.db") as store, Store(stage.folder / "append-rows.db") as alone:
        ours, rows = PersistentChatHistory(store, "bench"), alone.conversations.create().id
        peer = open_peer(stage.folder / "peer-append.db")
        taken = medians(
            {
                "message": _message_by_message(ours),
                "peer message": _message_by_message(peer),
                "row": _row_by_row(alone, rows),
                "turn": _turn_by_turn(ours),
                "peer turn": _turn_by_turn(peer),
            },
            samples=SAMPLES,
            least_s=TICK_S,
        )
    for name, what, floor, bound in (
        ("message", "append, a message a commit", "peer message", FASTER),
        ("row", "append, a row a commit, Store alone", "peer message", FASTER),
        ("turn", "append, a turn a commit", "peer turn", None),
    ):
        against = f"{NAME} {duration(taken[floor])}"
        yield Figure(what, duration(taken[name]), against, taken[floor] / taken[name], bound)
    yield _growth(stage)


def _growth(stage: Stage) -> Figure:
    short, long = stage.store(1_000), stage.store(1_000_000)
    taken = medians(
        {
            "short": _message_by_message(PersistentChatHistory(short, short.conversations.find().id)),
            "long": _message_by_message(PersistentChatHistory(long, long.conversations.find().id)),
        },
        samples=SAMPLES,
        least_s=TICK_S,
    )
    against = f"itself at 1,000 {duration(taken['short'])}"
    return Figure(
        "append to 1,000,000 messages", duration(taken["long"]), against, taken["long"] / taken["short"], GROWTH
    )


def _message_by_message(history: BaseChatMessageHistory) -> Callable[[], None]:
    messages = _forever()
    return lambda: history.add_messages([next(messages)])


def _turn_by_turn(history: BaseChatMessageHistory) -> Callable[[], None]:
    numbers = count()
    return lambda: history.add_messages(turn(next(numbers) % DISTINCT_TURNS))


def _row_by_row(store: Store, conversation: str) -> Callable[[], object]:
    rows = (row for number in count() for row in encoded_turn(number % DISTINCT_TURNS))
    return lambda: store.messages.append(conversation, [next(rows)])


def _forever() -> Iterator[BaseMessage]:
    for number in count():
        yield from turn(number % DISTINCT_TURNS)
