"""How a store file is opened: where it may be, who may read it, what is upgraded, and when reading is all there is.

It refuses to know any table.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from memcli.config import private_directory
from memcli.errors import StoreUnwritable, UsageError
from memcli.store import failures, schema

LONGEST_WAIT_S = 2_000_000.0
"""The longest busy timeout the engine can express: its milliseconds are a 32-bit number."""

PAGE_BYTES = 2048
"""The size of a new file's pages. An append touches six of them and logs each one whole; messages are short."""
CHECKPOINT_PAGES = 4000
"""Pages the log may hold before they move to the file: four times the engine's own choice, a quarter of the waiting."""
LOG_BYTES = 64 * 2**20
"""What the log is cut back to after it had to grow."""


def open_store(path: Path, *, busy_timeout_s: float, must_exist: bool) -> tuple[sqlite3.Connection, bool]:
    """Open a store and bring its schema up to date; tell also whether it can only be read.

    Raises UsageError for a place that cannot hold a store, StoreUnwritable for one that cannot be made, StoreTooNew and
    StoreCorrupt as schema.is_current does, and the engine's own errors.
    """
    _check_place(path, must_exist=must_exist)
    _create_private(path)
    wait_s = min(busy_timeout_s, LONGEST_WAIT_S)
    connection = _connect(path, "rwc", wait_s)
    try:
        _prepare(connection, path, wait_s)
        return connection, False
    except sqlite3.OperationalError as err:
        connection.close()
        if not failures.is_read_only(err):
            raise
    except BaseException:
        connection.close()
        raise
    return _open_to_read(path, wait_s), True


def patiently(execute: Callable[[str], object], sql: str, wait_s: float) -> None:
    """Run a statement that takes a lock, again and again until `wait_s` have passed, with short random pauses.

    The engine waits by itself for most locks, but not where two waiters would deadlock: it fails at once there.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            execute(sql)
            return
        except sqlite3.OperationalError as err:
            if not failures.is_busy(err) or time.monotonic() >= deadline:
                raise
        time.sleep(random.uniform(0.001, 0.02))


def _check_place(path: Path, *, must_exist: bool) -> None:
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a directory", "pass a file with --db")
        exists = path.exists()
        if exists and not path.is_file():
            raise UsageError(f"{path} is not a file", "pass a file with --db")
    except OSError as err:
        raise StoreUnwritable(f"{path} cannot be opened ({err.strerror})", "pass another file with --db") from err
    if "\0" in str(path):
        raise UsageError(f"{str(path)!r} is not a file's name", "pass a file with --db")
    if exists:
        return
    if must_exist:
        raise UsageError(f"there is no store at {path}", "start one with `memcli chat`")
    try:
        private_directory(path.parent)
    except OSError as err:
        raise StoreUnwritable(f"{path.parent} cannot be made ({err.strerror})", "pass another file with --db") from err


def _create_private(path: Path) -> None:
    """Make the file before the engine does, for its owner's eyes only; an empty one becomes ours and private too."""
    real = os.path.realpath(path)
    try:
        os.close(os.open(real, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if os.path.getsize(real) == 0:
            with suppress(OSError):  # somebody else's file, or a read-only place: opening it says what is wrong
                os.chmod(real, 0o600)
    except OSError as err:
        raise StoreUnwritable(f"{path} cannot be made ({err.strerror})", "pass another file with --db") from err


def _connect(path: Path, mode: str, wait_s: float) -> sqlite3.Connection:
    uri = f"file:{quote(os.fsencode(os.path.realpath(path)))}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=wait_s)
    connection.row_factory = sqlite3.Row
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, wait_s: float) -> None:
    if not schema.is_current(connection, path):
        connection.execute(f"pragma page_size = {PAGE_BYTES}")
        patiently(connection.execute, "pragma journal_mode = wal", wait_s)
        patiently(connection.execute, "begin immediate", wait_s)
        try:
            if not schema.is_current(connection, path):
                schema.migrate(connection)
            connection.execute("commit")
        finally:
            if connection.in_transaction:
                connection.execute("rollback")
    connection.execute("pragma foreign_keys = on")
    connection.execute("pragma synchronous = normal")
    connection.execute(f"pragma wal_autocheckpoint = {CHECKPOINT_PAGES}")
    connection.execute(f"pragma journal_size_limit = {LOG_BYTES}")


def _open_to_read(path: Path, wait_s: float) -> sqlite3.Connection:
    connection = _connect(path, "ro", wait_s)
    try:
        is_current = schema.is_current(connection, path)
    except sqlite3.OperationalError:
        connection.close()
        connection = _connect_immutable(path, wait_s)
        is_current = schema.is_current(connection, path)
    if not is_current:
        connection.close()
        raise StoreUnwritable(
            f"{path} is read-only and needs an upgrade", "copy it somewhere writable and pass it with --db"
        )
    return connection


def _connect_immutable(path: Path, wait_s: float) -> sqlite3.Connection:
    """Open a file that nobody can change. Its log could not be read, so one that holds messages is refused."""
    log = Path(f"{os.path.realpath(path)}-wal")
    if log.exists() and log.stat().st_size:
        raise StoreUnwritable(
            f"{path} is read-only and its newest messages are still in {log.name}",
            "copy both somewhere writable and pass the copy with --db",
        )
    return _connect(path, "ro&immutable=1", wait_s)
