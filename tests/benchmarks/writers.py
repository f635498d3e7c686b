"""Several processes appending to one conversation at once: nothing acknowledged is lost, and nothing fails."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from langchain_core.messages import HumanMessage

from memcli.agent.history import PersistentChatHistory
from memcli.store import Store
from tests.benchmarks.conversations import Stage
from tests.benchmarks.figures import Bound, Figure

PROCESSES = 8
SECONDS = 10.0
NAME = "bench"
EVERY_ROW = Bound("at least", 1)


def figures(stage: Stage) -> Iterator[Figure]:
    """Count what was acknowledged against what is stored. An error in any process ends the run, shown whole."""
    path = stage.folder / "writers.db"
    with Store(path) as store:
        PersistentChatHistory(store, NAME)
        with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
            acknowledged = [row for done in pool.map(append_for_a_while, [path] * PROCESSES) for row in done]
        stored = [message.text for message in store.messages.oldest_first(NAME)]
    assert sorted(stored) == sorted(acknowledged)
    yield Figure(
        f"{PROCESSES} processes × {SECONDS:.0f} s on one conversation, no error",
        f"{len(stored):,} rows",
        f"{len(acknowledged):,} acknowledged",
        len(stored) / len(acknowledged),
        EVERY_ROW,
    )


def append_for_a_while(path: Path) -> list[str]:
    """Append messages one by one for SECONDS and return what was acknowledged."""
    acknowledged: list[str] = []
    with Store(path) as store:
        history = PersistentChatHistory(store, NAME)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            text = f"{id(history)}-{time.perf_counter_ns()}"
            history.add_messages([HumanMessage(text)])
            acknowledged.append(text)
    return acknowledged
