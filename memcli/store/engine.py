"""One SQLite connection: how it is read, how a write is bracketed, and when a write waits.

Every write is one `begin immediate` transaction: a deferred transaction that upgrades from read to write fails at once
when another process wrote in between, whatever the busy timeout. For the same reason no read stays open while a write
begins: a read that is still being taken is closed and goes on from its last row. It refuses to know any table.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar, cast

from memcli.errors import MemcliError, StoreUnwritable
from memcli.store import failures
from memcli.store.opening import open_store, patiently
from memcli.store.values import Value, bound, readable

T = TypeVar("T")
Values = Sequence[Value] | dict[str, Value]


class Engine:
    """Own one connection to one store file. Safe to share between threads; they take turns."""

    def __init__(self, path: Path, *, busy_timeout_s: float, must_exist: bool) -> None:
        self.path = path
        self.rows_read = 0
        """Rows handed out since it was opened; the laws of cost are checked against it."""
        self._lock = threading.RLock()
        self._depth = 0
        self._busy_timeout_s = busy_timeout_s
        self._reading: set[sqlite3.Cursor] = set()
        try:
            self._connection, self._read_only = open_store(path, busy_timeout_s=busy_timeout_s, must_exist=must_exist)
        except sqlite3.Error as err:
            raise self._translated(err) from err

    def close(self) -> None:
        """Close the connection. Nothing is pending: every write has committed or been rolled back."""
        with self._lock:
            self._suspend_reads()
            self._connection.close()

    def rows(self, sql: str, values: Values = ()) -> list[sqlite3.Row]:
        """Run a query and read every row."""
        with self._lock:
            found = self._run(lambda bindings: self._connection.execute(sql, bindings).fetchall(), values)
            self.rows_read += len(found)
            return found

    def row(self, sql: str, values: Values = ()) -> sqlite3.Row | None:
        """Run a query and read its first row; None when there is none."""
        with self._lock:
            found = self._run(lambda bindings: self._connection.execute(sql, bindings).fetchone(), values)
            self.rows_read += found is not None
            return cast("sqlite3.Row | None", found)

    def iterate(self, sql: str, values: Values, *, resume: Callable[[sqlite3.Row], Values]) -> Iterator[sqlite3.Row]:
        """Run a query and read rows one by one, as the caller takes them.

        `resume` gives the values that make the query go on after a row: it runs again when a write came between.
        """
        cursor: sqlite3.Cursor | None = None
        last: sqlite3.Row | None = None
        try:
            while True:
                with self._lock:
                    if cursor is None or cursor not in self._reading:
                        bindings = values if last is None else resume(last)
                        cursor = self._run(lambda bindings: self._connection.execute(sql, bindings), bindings)
                        self._reading.add(cursor)
                    row = self._next(cursor)
                    if row is None:
                        if cursor in self._reading:
                            return
                        continue
                    self.rows_read += 1
                last = row
                yield row
        finally:
            if cursor in self._reading:
                self._reading.discard(cursor)
                cursor.close()

    def execute(self, sql: str, values: Values = ()) -> int:
        """Run one statement inside a write and say how many rows it changed."""
        try:
            return self._connection.execute(sql, values).rowcount
        except (sqlite3.Error, UnicodeEncodeError, OverflowError) as err:
            return self._again(lambda bindings: self._connection.execute(sql, bindings).rowcount, values, err)

    def uncounted_row(self, sql: str, values: Values = ()) -> sqlite3.Row | None:
        """Run one statement inside a write and read its row; None without one. It counts as no row that was read."""
        try:
            return cast("sqlite3.Row | None", self._connection.execute(sql, values).fetchone())
        except (sqlite3.Error, UnicodeEncodeError, OverflowError) as err:
            found = self._again(lambda bindings: self._connection.execute(sql, bindings).fetchone(), values, err)
            return cast("sqlite3.Row | None", found)

    def write(self, *, durable: bool = False, waits: bool = True) -> Write:
        """Bracket a write: all of it commits, or none of it.

        A write inside a write joins it and is still undone by itself when it fails. What has committed survives a
        killed process. With `durable` the outermost one has also reached the disk when this returns, and so has
        everything before it: that survives a power cut. With `waits` false a locked store raises StoreLocked at once.
        """
        return Write(self, durable=durable, waits=waits)

    def begin(self, *, durable: bool, waits: bool) -> None:
        """Begin a write. For Write only."""
        self._lock.acquire()
        try:
            if self._depth:
                self._join()
            elif durable or not waits or self._reading or self._read_only:
                self._begin_specially(durable=durable, waits=waits)
            else:
                self._begin()
            self._depth += 1
        except BaseException:
            self._lock.release()
            raise

    def end(self, *, failed: bool, durable: bool) -> None:
        """End a write: the outermost commits, or rolls back when it failed. For Write only."""
        self._depth -= 1
        try:
            if self._depth:
                self._part(failed=failed)
            elif not failed:
                self._require_transaction()
                self._statement("commit")
        finally:
            try:
                if not self._depth and (durable or self._connection.in_transaction):
                    self._settle(durable=durable)
            finally:
                self._lock.release()

    def _begin(self) -> None:
        try:
            patiently(self._connection.execute, "begin immediate", self._busy_timeout_s)
        except sqlite3.Error as err:
            raise self._translated(err) from err

    def _begin_specially(self, *, durable: bool, waits: bool) -> None:
        if self._read_only:
            raise StoreUnwritable(f"{self.path} is read-only", "make it writable, or pass another file with --db")
        self._suspend_reads()
        if durable:
            self._statement("pragma synchronous = full")
        if waits:
            self._begin()
        else:
            self._begin_at_once()

    def _begin_at_once(self) -> None:
        timeout_ms = self._connection.execute("pragma busy_timeout").fetchone()[0]
        self._statement("pragma busy_timeout = 0")
        try:
            self._statement("begin immediate")
        finally:
            self._statement(f"pragma busy_timeout = {timeout_ms}")

    def _join(self) -> None:
        self._require_transaction()
        self._statement(f"savepoint level{self._depth}")

    def _part(self, *, failed: bool) -> None:
        """Leave an inner write. After an error that undid the whole transaction there is nothing left to leave."""
        if failed and self._connection.in_transaction:
            self._suspend_reads()
            self._statement(f"rollback to level{self._depth}")
        if self._connection.in_transaction:
            self._statement(f"release level{self._depth}")

    def _settle(self, *, durable: bool) -> None:
        """Leave no transaction behind, whatever happened."""
        if self._connection.in_transaction:
            self._suspend_reads()
            self._statement("rollback")
        if durable:
            self._statement("pragma synchronous = normal")

    def _require_transaction(self) -> None:
        if not self._connection.in_transaction:
            raise StoreUnwritable(f"a write to {self.path} failed and was undone", "try again")

    def _statement(self, sql: str) -> None:
        try:
            self._connection.execute(sql)
        except sqlite3.Error as err:
            raise self._translated(err) from err

    def _suspend_reads(self) -> None:
        while self._reading:
            self._reading.pop().close()

    def _run(self, action: Callable[[Values], T], values: Values) -> T:
        try:
            return action(values)
        except (sqlite3.Error, UnicodeEncodeError, OverflowError) as err:
            return self._again(action, values, err)

    def _again(self, action: Callable[[Values], T], values: Values, err: Exception) -> T:
        """Run once more with values a column can hold, or with damaged text made readable; else raise what it means."""
        if isinstance(err, sqlite3.Error) and not self._reads_leniently_after(err):
            raise self._translated(err) from err
        try:
            return action(bound(values))
        except sqlite3.Error as second:
            raise self._translated(second) from second

    def _next(self, cursor: sqlite3.Cursor) -> sqlite3.Row | None:
        """Take a row; None at the end, or when the read has to run again and was suspended for it."""
        try:
            return cast("sqlite3.Row | None", cursor.fetchone())
        except sqlite3.Error as err:
            if not self._reads_leniently_after(err):
                raise self._translated(err) from err
            self._reading.discard(cursor)
            cursor.close()
            return None

    def _reads_leniently_after(self, err: sqlite3.Error) -> bool:
        """Turn to reading damaged text as escapes, from the first damaged row on. False when that is not it."""
        if not failures.is_undecodable(err) or self._connection.text_factory is readable:
            return False
        self._connection.text_factory = readable
        return True

    def _translated(self, err: sqlite3.Error) -> MemcliError:
        return failures.translate(err, self.path, self._busy_timeout_s)


class Write:
    """The bracket around a write."""

    __slots__ = ("_durable", "_engine", "_waits")

    def __init__(self, engine: Engine, *, durable: bool, waits: bool) -> None:
        self._engine = engine
        self._durable = durable
        self._waits = waits

    def __enter__(self) -> None:
        self._engine.begin(durable=self._durable, waits=self._waits)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.end(failed=kind is not None, durable=self._durable)
