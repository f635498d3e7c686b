"""One SQLite connection: how it is opened, how a write is bracketed, and what its errors mean.

Every write is one `begin immediate` transaction: a deferred transaction that upgrades from read to write fails at once
when another process wrote in between, whatever the busy timeout. It refuses to know any table.
"""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import cast
from urllib.parse import quote

from memcli.config import private_directory
from memcli.errors import MemcliError, StoreCorrupt, StoreLocked, StoreUnwritable, UsageError
from memcli.store import schema

LOCK_RETRIES = 5
"""Attempts to begin a write after the busy timeout's own waiting, each after a short random pause."""

Value = str | int | float | None


class Engine:
    """Own one connection to one store file. Safe to share between threads; they take turns."""

    def __init__(self, path: Path, *, busy_timeout_s: float, must_exist: bool) -> None:
        self.path = path
        self.rows_read = 0
        """Rows handed out since it was opened; the laws of cost are checked against it."""
        self._lock = threading.RLock()
        self._depth = 0
        self._busy_timeout_s = busy_timeout_s
        self._read_only = False
        _check_place(path, must_exist=must_exist)
        with self.translated():
            self._connection = self._open()

    def close(self) -> None:
        """Close the connection. Nothing is pending: every write has committed or been rolled back."""
        self._connection.close()

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[sqlite3.Row]:
        """Run a query and read every row."""
        return list(self.iterate(sql, values))

    def row(self, sql: str, values: Sequence[Value] = ()) -> sqlite3.Row | None:
        """Run a query and read its first row; None when there is none."""
        for row in self.iterate(sql, values):
            return row
        return None

    def iterate(self, sql: str, values: Sequence[Value] = ()) -> Iterator[sqlite3.Row]:
        """Run a query and read rows one by one, as the caller takes them."""
        with self._lock:
            cursor = self._run(sql, values)
        try:
            while True:
                with self._lock:
                    row = self._next(cursor)
                if row is None:
                    return
                self.rows_read += 1
                yield row
        finally:
            cursor.close()

    def execute(self, sql: str, values: Sequence[Value] = ()) -> int:
        """Run one statement inside a write and say how many rows it changed."""
        return self._run(sql, values).rowcount

    def returning(self, sql: str, values: Sequence[Value] = ()) -> sqlite3.Row | None:
        """Run one `returning` statement inside a write and read its row; None when it changed nothing."""
        cursor = self._run(sql, values)
        row = self._next(cursor)
        cursor.close()
        return row

    def write(self, *, durable: bool = False) -> Write:
        """Bracket a write: all of it commits, or none of it. A write inside a write joins it.

        What has committed survives a killed process. With `durable` it has also reached the disk when this returns, and
        so has everything before it: that survives a power cut.
        """
        return Write(self, durable=durable)

    def begin(self, *, durable: bool) -> bool:
        """Begin a write and tell whether it is the outermost one. For Write only."""
        self._lock.acquire()
        try:
            self._depth += 1
            if self._depth > 1:
                return False
            if self._read_only:
                raise StoreUnwritable(f"{self.path} is read-only", "make it writable, or pass another file with --db")
            with self.translated():
                if durable:
                    self._connection.execute("pragma synchronous = full")
                _patiently(lambda: self._connection.execute("begin immediate"))
        except BaseException:
            self._depth -= 1
            self._lock.release()
            raise
        return True

    def end(self, *, outermost: bool, failed: bool, durable: bool) -> None:
        """End a write: the outermost commits, or rolls back when it failed. For Write only."""
        try:
            if outermost and not failed:
                self._run("commit")
        finally:
            if outermost:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                if durable:
                    self._connection.execute("pragma synchronous = normal")
            self._depth -= 1
            self._lock.release()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn the engine's errors into ours."""
        try:
            yield
        except sqlite3.Error as err:
            raise self._translate(err) from err

    def _run(self, sql: str, values: Sequence[Value] = ()) -> sqlite3.Cursor:
        try:
            return self._connection.execute(sql, values)
        except sqlite3.Error as err:
            raise self._translate(err) from err

    def _next(self, cursor: sqlite3.Cursor) -> sqlite3.Row | None:
        try:
            return cast("sqlite3.Row | None", cursor.fetchone())
        except sqlite3.Error as err:
            raise self._translate(err) from err

    def _open(self) -> sqlite3.Connection:
        connection = self._connect("rwc")
        try:
            self._prepare(connection)
        except sqlite3.OperationalError as err:
            connection.close()
            if not _is_read_only(err):
                raise
            connection = self._connect_read_only()
        except BaseException:
            connection.close()
            raise
        connection.row_factory = sqlite3.Row
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"pragma busy_timeout = {int(self._busy_timeout_s * 1000)}")
        if not schema.is_current(connection, self.path):
            _patiently(lambda: connection.execute("pragma journal_mode = wal"))
            _patiently(lambda: connection.execute("begin immediate"))
            try:
                if not schema.is_current(connection, self.path):
                    schema.migrate(connection)
                connection.execute("commit")
            except BaseException:
                connection.execute("rollback")
                raise
        _tune(connection)

    def _connect(self, mode: str) -> sqlite3.Connection:
        if mode == "rwc":
            _create_private(self.path)
        uri = f"file:{quote(str(self.path))}?mode={mode}"
        return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=self._busy_timeout_s)

    def _connect_read_only(self) -> sqlite3.Connection:
        self._read_only = True
        connection = self._connect("ro")
        try:
            schema.is_current(connection, self.path)
        except sqlite3.OperationalError:
            connection.close()
            connection = self._connect("ro&immutable=1")
        if not schema.is_current(connection, self.path):
            connection.close()
            raise StoreUnwritable(
                f"{self.path} is read-only and needs an upgrade", "copy it somewhere writable and pass it with --db"
            )
        return connection

    def _translate(self, err: sqlite3.Error) -> MemcliError:
        code = (getattr(err, "sqlite_errorcode", None) or 0) & 0xFF
        path = self.path
        makers: dict[int, Callable[[], MemcliError]] = {
            sqlite3.SQLITE_BUSY: lambda: self._locked(),
            sqlite3.SQLITE_LOCKED: lambda: self._locked(),
            sqlite3.SQLITE_FULL: lambda: StoreUnwritable(f"the disk is full; nothing was written to {path}", "free some space and try again"),
            sqlite3.SQLITE_READONLY: lambda: StoreUnwritable(f"{path} is read-only", "make it writable, or pass another file with --db"),
            sqlite3.SQLITE_IOERR: lambda: StoreUnwritable(f"{path} cannot be read or written ({err})", "check the disk"),
            sqlite3.SQLITE_CANTOPEN: lambda: StoreUnwritable(f"{path} cannot be opened", "check the folder and its permissions"),
            sqlite3.SQLITE_NOTADB: lambda: StoreCorrupt(f"{path} is not a memcli store", "pass another file with --db"),
            sqlite3.SQLITE_CORRUPT: lambda: StoreCorrupt(f"{path} is damaged ({err})", "restore a copy; `sqlite3 FILE .recover` saves what is left"),
        }
        return makers.get(code, lambda: StoreCorrupt(f"{path}: {err}", "run `memcli doctor`"))()

    def _locked(self) -> StoreLocked:
        return StoreLocked(
            f"{self.path} is locked by another process (waited {self._busy_timeout_s:g} s)", "try again when it has finished"
        )


class Write:
    """The bracket around a write."""

    __slots__ = ("_durable", "_engine", "_outermost")

    def __init__(self, engine: Engine, *, durable: bool) -> None:
        self._engine = engine
        self._durable = durable
        self._outermost = False

    def __enter__(self) -> None:
        self._outermost = self._engine.begin(durable=self._durable)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._engine.end(outermost=self._outermost, failed=kind is not None, durable=self._durable)


def _tune(connection: sqlite3.Connection) -> None:
    connection.execute("pragma foreign_keys = on")
    connection.execute("pragma synchronous = normal")
    connection.execute("pragma journal_size_limit = 67108864")


def _patiently(begin: Callable[[], object]) -> None:
    """Try to take a lock a few times, with a short random pause between: two waiters must not wake in step."""
    for attempt in range(LOCK_RETRIES):
        try:
            begin()
            return
        except sqlite3.OperationalError as err:
            if not _is_busy(err) or attempt == LOCK_RETRIES - 1:
                raise
            time.sleep(random.uniform(0.001, 0.02) * (attempt + 1))


def _is_busy(err: sqlite3.OperationalError) -> bool:
    return (err.sqlite_errorcode & 0xFF) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _is_read_only(err: sqlite3.OperationalError) -> bool:
    return (err.sqlite_errorcode & 0xFF) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


def _check_place(path: Path, *, must_exist: bool) -> None:
    if path.is_dir():
        raise UsageError(f"{path} is a directory", "pass a file with --db")
    if path.exists():
        return
    if must_exist:
        raise UsageError(f"there is no store at {path}", "start one with `memcli chat`")
    try:
        private_directory(path.parent)
    except OSError as err:
        raise StoreUnwritable(f"{path.parent} cannot be made ({err.strerror})", "pass another file with --db") from err


def _create_private(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except OSError as err:
        raise StoreUnwritable(f"{path} cannot be made ({err.strerror})", "pass another file with --db") from err
