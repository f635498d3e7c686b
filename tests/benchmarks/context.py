"""Building a context: against reading the whole history and trimming it, and against a shorter conversation."""

from __future__ import annotations

from collections.abc import Iterator

from memcli.agent.history import PersistentChatHistory
from memcli.agent.window_builder import ContextWindowBuilder
from memcli.config import MAX_HISTORY_TOKENS
from memcli.memory import window
from memcli.memory.context import Context, Policy, Request
from memcli.store import Store
from tests.benchmarks.conversations import Stage
from tests.benchmarks.figures import Bound, Figure, duration
from tests.benchmarks.peer import NAME, filled_peer, trimmed
from tests.benchmarks.timing import medians

TARGETS = {1_000: 25, 10_000: 300, 100_000: 4_000}
"""Messages, and how many times faster than the peer a context is built. Source: issue 2."""
SAMPLES = {1_000: 11, 10_000: 5, 100_000: 3}
SHORT, LONG = 1_000, 1_000_000
GROWTH = Bound("at most", 1.1)
TICK_S = 0.05


def figures(stage: Stage) -> Iterator[Figure]:
    """Measure the builder and `memcli context`'s own, at each length, then their growth."""
    for messages, target in TARGETS.items():
        yield from _against_peer(stage, messages, target)
    yield from _growth(stage)


def _against_peer(stage: Stage, messages: int, target: int) -> Iterator[Figure]:
    peer = filled_peer(stage.folder / f"peer-{messages}.db", messages)
    builder = _builder(stage.store(messages))
    mine = [(message.type, message.content) for message in builder.build(MAX_HISTORY_TOKENS)]
    assert mine == [(message.type, message.content) for message in trimmed(peer, MAX_HISTORY_TOKENS)]
    taken = medians(
        {
            "builder": lambda: builder.build(MAX_HISTORY_TOKENS),
            "context": lambda: _context(stage.store(messages)),
            "peer": lambda: trimmed(peer, MAX_HISTORY_TOKENS),
        },
        samples=SAMPLES[messages],
        least_s=TICK_S,
    )
    against = f"{NAME} + trim_messages {duration(taken['peer'])}"
    for name, bound in (("builder", Bound("at least", target)), ("context", None)):
        what = "ContextWindowBuilder" if name == "builder" else "context with ledger"
        ratio = taken["peer"] / taken[name]
        yield Figure(f"{what}, {messages:,} messages", duration(taken[name]), against, ratio, bound)


def _growth(stage: Stage) -> Iterator[Figure]:
    short, long = stage.store(SHORT), stage.store(LONG)
    short_builder, long_builder = _builder(short), _builder(long)
    taken = medians(
        {
            "short builder": lambda: short_builder.build(MAX_HISTORY_TOKENS),
            "long builder": lambda: long_builder.build(MAX_HISTORY_TOKENS),
            "short context": lambda: _context(short),
            "long context": lambda: _context(long),
        },
        samples=25,
        least_s=TICK_S,
    )
    for name, what in (("builder", "ContextWindowBuilder"), ("context", "context with ledger")):
        ours, floor = taken[f"long {name}"], taken[f"short {name}"]
        against = f"itself at {SHORT:,} {duration(floor)}"
        yield Figure(f"{what}, {LONG:,} messages", duration(ours), against, ours / floor, GROWTH)


def _builder(store: Store) -> ContextWindowBuilder:
    return ContextWindowBuilder(PersistentChatHistory(store, store.conversations.find().id))


def _context(store: Store) -> Context:
    return window.context(store, store.conversations.find(), Policy(), Request())
