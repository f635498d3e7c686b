"""Where a store may be, what locks, full disks and damage mean, and how writes are bracketed. SQLite-specific."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memcli.errors import (
    HeadMoved,
    MemcliError,
    NotFound,
    StoreCorrupt,
    StoreLocked,
    StoreUnwritable,
    UsageError,
)
from memcli.records import Conversation
from memcli.store import Store
from tests.store.samples import message, messages, summary

ROOT = Path(__file__).parents[2]
FULL = """
import json, resource, sys
from memcli.errors import StoreUnwritable
from memcli.store import Store
from tests.store.samples import message
with Store(sys.argv[1]) as store:
    stored = 0
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    try:
        while stored < 10_000:
            store.messages.append(sys.argv[2], [message("x" * 2_000)])
            stored += 1
    except StoreUnwritable as err:
        print(json.dumps([stored, err.exit_code, store.messages.last_id(sys.argv[2])]))
"""


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Mount small file systems of our own for one test; skip where that is not permitted."""
    places: list[Path] = []

    def mount(options: str) -> Path:
        place = tmp_path / f"mount{len(places)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("mounting a tmpfs is not permitted here")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", str(place)], check=True)


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def _append_until_refused(store: Store, talk: Conversation) -> None:
    for number in range(1, 10_000):
        assert store.messages.append(talk.id, [message("x" * 2_000)])[0].id == number


def _append_and_fail(store: Store, talk: Conversation) -> None:
    with store.transaction():
        store.messages.append(talk.id, messages(2))
        raise HeadMoved("stop")


def test_the_file_and_its_companions_are_for_the_owner_only(store: Store, store_file: Path, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(1))
    assert {path.name: _mode(path) for path in store_file.parent.iterdir()} == {
        "memcli.db": 0o600,
        "memcli.db-shm": 0o600,
        "memcli.db-wal": 0o600,
    }
    assert _mode(store_file.parent) == 0o700


def test_a_dangling_link_leads_to_a_private_file_too(tmp_path: Path) -> None:
    link, target = tmp_path / "link.db", tmp_path / "target.db"
    link.symlink_to(target)
    Store(link).close()
    assert _mode(target) == 0o600


@pytest.mark.parametrize("name", ["a b?c#d%20.db", "ünï.db", "\udcff.db"])
def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    with Store(tmp_path / name) as store:
        store.conversations.create(name="here")
    assert os.fsencode(name) in os.listdir(os.fsencode(tmp_path))
    with Store(tmp_path / name, must_exist=True) as store:
        assert store.conversations.find("here").name == "here"


@pytest.mark.parametrize("path", ["", "/dev/null", "a\0b", "x" * 300])
def test_what_cannot_be_a_store_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises((UsageError, StoreUnwritable)):
        Store(tmp_path / path)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory") as caught:
        Store(tmp_path)
    assert caught.value.exit_code == 2


def test_a_store_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnwritable, match="cannot be made"):
        Store(tmp_path / "file" / "memcli.db")


def test_a_store_that_must_exist_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no store at"):
        Store(tmp_path / "none.db", must_exist=True)
    assert list(tmp_path.glob("*.db")) == []


@pytest.mark.parametrize("content", [b"hello", b"hello " * 1000, b"SQLite format 3\0", b"\0" * 5000])
def test_a_file_that_is_no_database_is_refused_and_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt) as caught:
        Store(path)
    assert caught.value.exit_code == 7
    assert path.read_bytes() == content
    assert [item.name for item in tmp_path.iterdir() if item.is_file()] == ["notes.txt"]


def test_a_file_that_was_cut_short_is_corrupt_and_check_says_so(store: Store, store_file: Path) -> None:
    talk = store.conversations.create(name="talk")
    store.messages.append(talk.id, [message("x" * 500) for _ in range(200)])
    store.close()
    os.truncate(store_file, store_file.stat().st_size // 2)
    with pytest.raises(StoreCorrupt) as caught, Store(store_file) as cut:
        list(cut.messages.oldest_first(talk.id))
    assert caught.value.exit_code == 7


def test_a_file_with_damaged_pages_is_corrupt_and_check_says_so(store: Store, store_file: Path) -> None:
    talk = store.conversations.create(name="talk")
    store.messages.append(talk.id, [message("x" * 500) for _ in range(200)])
    store.close()
    with store_file.open("r+b") as file:
        file.seek(store_file.stat().st_size // 3)
        file.write(b"\xff" * (store_file.stat().st_size // 3))
    with Store(store_file) as damaged:
        assert {problem.where for problem in damaged.check()} == {"file"}
        with pytest.raises(StoreCorrupt):
            list(damaged.messages.oldest_first(talk.id))


def test_a_read_only_place_can_be_read_and_not_written(mounted: Callable[..., Path]) -> None:
    place = mounted("size=4m")
    with Store(place / "memcli.db") as store:
        talk = store.conversations.create(name="talk")
        store.messages.append(talk.id, messages(3))
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    with Store(place / "memcli.db") as store:
        assert [item.id for item in store.messages.newest_first(talk.id)] == [3, 2, 1]
        assert len(store.search("message")) == 3
        assert store.check() == []
        with pytest.raises(StoreUnwritable, match="is read-only") as caught:
            store.messages.append(talk.id, messages(1))
        assert caught.value.exit_code == 1
        assert store.messages.last_id(talk.id) == 3
    with pytest.raises(StoreUnwritable, match="cannot be made"):
        Store(place / "new.db")


def test_a_read_only_place_whose_log_still_holds_messages_is_refused(mounted: Callable[..., Path]) -> None:
    place = mounted("size=4m")
    store = Store(place / "memcli.db")
    talk = store.conversations.create(name="talk")
    store.messages.append(talk.id, messages(3))
    for name in ("memcli.db", "memcli.db-wal"):
        shutil.copy(place / name, place / f"copy{name.removeprefix('memcli')}")
    store.close()
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    with pytest.raises(StoreUnwritable, match="newest messages are still in copy"):
        Store(place / "copy.db")


def test_an_immutable_file_can_be_read_and_not_written(store: Store, store_file: Path) -> None:
    talk = store.conversations.create(name="talk")
    store.messages.append(talk.id, messages(3))
    store.close()
    if shutil.which("chattr") is None or subprocess.run(["chattr", "+i", store_file], capture_output=True).returncode:
        pytest.skip("making a file immutable is not permitted here")
    try:
        with Store(store_file) as reading:
            assert reading.messages.last_id(talk.id) == 3
            with pytest.raises(StoreUnwritable, match="is read-only"):
                reading.messages.append(talk.id, messages(1))
    finally:
        subprocess.run(["chattr", "-i", store_file], check=True)


def test_a_full_disk_refuses_the_message_and_keeps_the_others(mounted: Callable[..., Path]) -> None:
    path = mounted("size=600k") / "memcli.db"
    with Store(path) as store:
        talk = store.conversations.create(name="talk")
        with pytest.raises(StoreUnwritable) as caught:
            _append_until_refused(store, talk)
        assert caught.value.exit_code == 1
        stored = store.messages.last_id(talk.id)
        assert stored > 10
        assert store.check() == []
    with Store(path) as store:
        assert [item.id for item in store.messages.oldest_first(talk.id)] == list(range(1, stored + 1))


def test_a_file_size_limit_refuses_the_message_and_keeps_the_others(
    store: Store, store_file: Path, talk: Conversation
) -> None:
    command = [sys.executable, "-c", FULL, str(store_file), talk.id]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    stored = store.messages.last_id(talk.id)
    assert said.strip() == f"[{stored}, 1, {stored}]"
    assert stored > 10
    assert store.check() == []


def test_a_store_locked_for_too_long_is_exit_6_and_nothing_is_lost(
    store: Store, store_file: Path, talk: Conversation
) -> None:
    store.messages.append(talk.id, messages(2))
    with Store(store_file, busy_timeout_s=0.0) as impatient:
        with store.transaction():
            store.messages.append(talk.id, messages(1))
            with pytest.raises(StoreLocked, match=r"is locked by another process \(waited 0 s\)") as caught:
                impatient.messages.append(talk.id, [message("refused")])
            assert caught.value.exit_code == 6
            assert impatient.messages.last_id(talk.id) == 2
        assert impatient.messages.append(talk.id, [message("accepted")])[0].id == 4
    assert store.check() == []


def test_a_very_patient_store_opens(store_file: Path) -> None:
    with Store(store_file, busy_timeout_s=1e8) as patient:
        assert patient.conversations.list() == []


def test_a_writer_that_has_read_first_is_never_refused(store: Store, other: Store, talk: Conversation) -> None:
    with Store(store.path, busy_timeout_s=0.0) as impatient:
        for number in range(1, 20):
            assert impatient.messages.last_id(talk.id) == 2 * (number - 1)
            reading = impatient.messages.newest_first(talk.id)
            next(reading, None)
            other.messages.append(talk.id, [message("elsewhere")])
            assert impatient.messages.append(talk.id, [message("here")])[0].id == 2 * number


def test_a_transaction_is_all_or_nothing(store: Store, talk: Conversation) -> None:
    def write_and_fail() -> None:
        with store.transaction():
            store.messages.append(talk.id, messages(2))
            store.conversations.create(name="also")
            raise HeadMoved("stop")

    with pytest.raises(HeadMoved):
        write_and_fail()
    assert store.conversations.list() == [talk]


def test_an_inner_write_that_fails_is_undone_and_the_outer_one_goes_on(store: Store, talk: Conversation) -> None:
    with store.transaction():
        store.messages.append(talk.id, [message("before")])
        with pytest.raises(NotFound):
            store.messages.append(talk.id, messages(2), turn_id=9)
        store.messages.append(talk.id, [message("after")])
    assert [(item.id, item.text) for item in store.messages.oldest_first(talk.id)] == [(1, "before"), (2, "after")]
    assert store.check() == []


def test_a_batch_that_fails_in_its_middle_stores_none_of_it(store: Store, talk: Conversation) -> None:
    bad = message("bad", "human")
    object.__setattr__(bad, "kind", None)
    with pytest.raises(MemcliError):
        store.messages.append(talk.id, [message("good"), bad])
    assert store.conversations.get(talk.id) == talk
    assert store.messages.append(talk.id, messages(1))[0].id == 1


def test_an_interrupted_write_is_rolled_back_and_the_store_goes_on(store: Store, talk: Conversation) -> None:
    def write_and_be_interrupted() -> None:
        with store.transaction():
            store.messages.append(talk.id, messages(2))
            store.summaries.commit(talk.id, summary(2), expected_head=None)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_be_interrupted()
    assert store.conversations.get(talk.id) == talk
    assert store.summaries.list(talk.id) == []
    assert store.messages.append(talk.id, messages(1))[0].id == 1


def test_a_write_in_a_thread_that_died_frees_the_store(store: Store, talk: Conversation) -> None:
    def die() -> None:
        with pytest.raises(HeadMoved):
            _append_and_fail(store, talk)

    thread = threading.Thread(target=die)
    thread.start()
    thread.join()
    assert store.messages.append(talk.id, messages(1))[0].id == 1


def test_a_durable_transaction_leaves_the_next_one_ordinary(store: Store, store_file: Path, talk: Conversation) -> None:
    with store.transaction(durable=True):
        store.messages.append(talk.id, messages(1))
    store.messages.append(talk.id, messages(1))
    with sqlite3.connect(store_file) as connection:
        assert connection.execute("select count(*) from messages").fetchone() == (2,)
    connection.close()


def test_a_read_that_was_open_when_a_write_was_rolled_back_goes_on(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(4))
    reading = store.messages.newest_first(talk.id)
    taken = [next(reading).id]
    with pytest.raises(HeadMoved):
        _append_and_fail(store, talk)
    assert taken + [item.id for item in reading] == [4, 3, 2, 1]


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    with pytest.raises(MemcliError, match="closed"):
        store.conversations.list()
    with pytest.raises(MemcliError, match="closed"):
        store.conversations.create()
