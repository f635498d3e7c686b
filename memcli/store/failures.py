"""What the engine's errors mean to a person. It refuses to catch anything itself."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from memcli.errors import MemcliError, NotFound, StoreCorrupt, StoreLocked, StoreUnwritable


def translate(err: sqlite3.Error, path: Path, waited_s: float) -> MemcliError:
    """Say what an engine error means, and what to do about it."""
    code = getattr(err, "sqlite_errorcode", None)
    if code is None:
        return MemcliError(f"{path}: {err}", "run `memcli doctor`")
    if code == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
        return NotFound("the conversation, turn or summary it belongs to is not there", "run `memcli history`")
    primary = code & 0xFF
    if primary in _LOCKED:
        return StoreLocked(
            f"{path} is locked by another process (waited {waited_s:g} s)", "try again when it has finished"
        )
    if primary in _UNWRITABLE:
        what, hint = _UNWRITABLE[primary]
        return StoreUnwritable(what.format(path=path, err=err), hint)
    what, hint = _CORRUPT.get(primary, ("{path}: {err}", "run `memcli doctor`"))
    return StoreCorrupt(what.format(path=path, err=err), hint)


def is_busy(err: sqlite3.Error) -> bool:
    """Tell whether waiting may help."""
    return (err.sqlite_errorcode & 0xFF) in _LOCKED


def is_read_only(err: sqlite3.Error) -> bool:
    """Tell whether the file might still open for reading."""
    return (err.sqlite_errorcode & 0xFF) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


def is_undecodable(err: sqlite3.Error) -> bool:
    """Tell whether a text column holds bytes that are not UTF-8; the driver says so without a code."""
    return not hasattr(err, "sqlite_errorcode") and "decode" in str(err)


_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_UNWRITABLE = {
    sqlite3.SQLITE_FULL: ("the disk is full; nothing was written to {path}", "free some space and try again"),
    sqlite3.SQLITE_READONLY: ("{path} is read-only", "make it writable, or pass another file with --db"),
    sqlite3.SQLITE_IOERR: ("{path} cannot be read or written ({err})", "check the disk and the space left on it"),
    sqlite3.SQLITE_CANTOPEN: ("{path} cannot be opened", "check the folder and its permissions"),
    sqlite3.SQLITE_PERM: ("{path} may not be used by this user", "check its permissions"),
    sqlite3.SQLITE_TOOBIG: ("a value is larger than {path} can hold", "split it; the most is 1 GB"),
}
_CORRUPT = {
    sqlite3.SQLITE_NOTADB: ("{path} is not a memcli store", "pass another file with --db"),
    sqlite3.SQLITE_CORRUPT: ("{path} is damaged ({err})", "restore a copy; `sqlite3 FILE .recover` saves what is left"),
}
