"""Several threads and several processes on one store: nothing refused, nothing lost, nothing doubled."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from memcli.records import Conversation
from memcli.store import Store
from tests.store.samples import message

WRITER = Path(__file__).with_name("writer.py")


def _start(store_file: Path, talk: Conversation, mode: str, label: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), str(store_file), talk.id, mode, label, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _finish(processes: Sequence[subprocess.Popen[str]]) -> list[str]:
    acknowledged: list[str] = []
    for process in processes:
        said, _ = process.communicate()
        assert process.returncode == 0, said
        acknowledged += said.split()
    return acknowledged


def _kill_after(process: subprocess.Popen[str], lines: int) -> list[str]:
    """Kill a writer in the middle of whatever follows its nth acknowledgement, and say what it had acknowledged."""
    assert process.stdout is not None
    acknowledged = [process.stdout.readline().strip() for _ in range(lines)]
    process.kill()
    rest = process.stdout.read()
    process.wait()
    process.stdout.close()
    return [*acknowledged, *rest.split("\n")[:-1]]


def test_fault_19_eight_writers_and_a_reader_lose_nothing(store: Store, store_file: Path, talk: Conversation) -> None:
    writers = [_start(store_file, talk, "append", f"w{number}", 50) for number in range(8)]
    lengths = []
    while any(writer.poll() is None for writer in writers):
        ids = [item.id for item in store.messages.oldest_first(talk.id)]
        assert ids == list(range(1, len(ids) + 1))
        lengths.append(len(ids))
    acknowledged = _finish(writers)
    stored = [item.uid for item in store.messages.oldest_first(talk.id)]
    assert len(stored) == 400
    assert sorted(stored) == sorted(acknowledged)
    assert lengths == sorted(lengths)
    for number in range(8):
        assert [uid for uid in stored if uid.startswith(f"w{number}-")] == [f"w{number}-{n}" for n in range(50)]
    assert store.check() == []


def test_threads_that_share_a_store_lose_nothing(store: Store, talk: Conversation) -> None:
    def write(label: str) -> None:
        for number in range(25):
            store.messages.append(talk.id, [message(label, uid=f"{label}-{number}")])
            assert next(store.messages.newest_first(talk.id)).id >= number + 1

    threads = [threading.Thread(target=write, args=(f"t{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [(item.id, item.uid) for item in store.messages.oldest_first(talk.id)]
    assert [id for id, _ in found] == list(range(1, 151))
    assert {uid for _, uid in found} == {f"t{thread}-{number}" for thread in range(6) for number in range(25)}
    assert store.check() == []


def test_a_thread_never_sees_another_threads_unfinished_write(store: Store, talk: Conversation) -> None:
    seen: list[int] = []
    with store.transaction():
        store.messages.append(talk.id, [message("half")])
        reader = threading.Thread(target=lambda: seen.append(store.messages.last_id(talk.id)))
        reader.start()
        store.messages.append(talk.id, [message("whole")])
    reader.join()
    assert seen == [2]


@pytest.mark.parametrize("mode", ["append", "fold", "turn"])
@pytest.mark.parametrize("lines", [1, 4, 11])
def test_fault_12_a_killed_process_loses_nothing_it_acknowledged_and_doubles_nothing(
    store: Store, store_file: Path, talk: Conversation, mode: str, lines: int
) -> None:
    acknowledged = _kill_after(_start(store_file, talk, mode, "w", 100_000), lines)
    assert store.check() == []
    stored = [item for item in store.messages.oldest_first(talk.id) if item.role == "human"]
    assert len(acknowledged) >= lines
    assert [item.uid for item in stored[: len(acknowledged)]] == acknowledged
    assert len(stored) <= len(acknowledged) + 1
    if mode == "fold":
        head = store.summaries.head(talk.id, "running")
        assert head is not None
        assert len(acknowledged) <= head.last_message_id <= len(stored)
    retried = store.messages.append(talk.id, [message("again", uid=uid) for uid in acknowledged])
    assert [item.uid for item in store.messages.oldest_first(talk.id) if item.role == "human"] == [
        item.uid for item in stored
    ]
    assert [item.uid for item in retried] == acknowledged


def test_fault_12_the_turn_a_killed_process_left_open_is_closed_by_the_next(
    store: Store, store_file: Path, talk: Conversation
) -> None:
    acknowledged = _kill_after(_start(store_file, talk, "turn", "w", 100_000), 3)
    store.turns.start(talk.id)
    statuses = [turn.status for turn in store.turns.newest_first(talk.id)]
    assert statuses[0] == "open"
    assert "open" not in statuses[1:]
    assert statuses.count("done") >= len(acknowledged)
