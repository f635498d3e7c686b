"""The gate that decides whether a file may be opened at all, and brings an older one up to date.

sqlite-utils applies the numbered migrations (`migrations`), and is imported only when there is one to apply: a store
that is up to date opens without it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.errors import StoreCorrupt, StoreTooNew

if TYPE_CHECKING:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

    from memcli.store.migrations import Step

APPLICATION_ID = 0x6D656D63
"""`memc`: marks the file as ours in its header."""
SCHEMA_VERSION = 5
"""The number of the newest migration; kept in the file's user_version."""


def is_current(connection: sqlite3.Connection, path: Path) -> bool:
    """Tell whether the file needs no migration.

    Raises StoreTooNew for a newer schema and StoreCorrupt for somebody else's database; neither touches the file.
    """
    version = connection.execute("pragma user_version").fetchone()[0]
    owner = connection.execute("pragma application_id").fetchone()[0]
    if owner != APPLICATION_ID and not _is_blank(connection, owner, version):
        raise StoreCorrupt(f"{path} is a database, but not a memcli store", "pass another file with --db")
    if version > SCHEMA_VERSION:
        raise StoreTooNew(
            f"{path} has schema {version} and this memcli knows {SCHEMA_VERSION}",
            "upgrade memcli, or pass another --db",
        )
    return bool(version == SCHEMA_VERSION)


def migrate(connection: sqlite3.Connection, stop_before: str | None = None) -> None:
    """Apply the migrations that are missing, inside the caller's transaction.

    `stop_before` names one (`m002_search`) and is for tests of old schemas.
    """
    from sqlite_utils import Database

    database = Database(connection)
    _migrations().apply(database, stop_before=stop_before)


def _is_blank(connection: sqlite3.Connection, owner: int, version: int) -> bool:
    return owner == version == 0 and connection.execute("select count(*) from sqlite_master").fetchone()[0] == 0


def _migrations() -> Migrations:
    from sqlite_utils.migrations import Migrations

    from memcli.store.migrations import STEPS

    migrations = Migrations("memcli")
    for number, step in enumerate(STEPS, start=1):
        migrations(name=step.__name__.removeprefix("_"))(_Numbered(step, number))
    return migrations


class _Numbered:
    """Run one migration and note its number in the file, in the same transaction."""

    def __init__(self, step: Step, number: int) -> None:
        self.__name__ = step.__name__
        self._step = step
        self._number = number

    def __call__(self, database: Database, /) -> None:
        self._step(database)
        database.execute(f"pragma application_id = {APPLICATION_ID}")
        database.execute(f"pragma user_version = {self._number}")
