"""The schema: from empty, from every earlier one with data in it, from a newer one. SQLite-specific."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memcli.errors import StoreCorrupt, StoreTooNew
from memcli.store import Store, schema
from memcli.store.migrations import STEPS

ROOT = Path(__file__).parents[2]
OPEN = "import sys; from memcli.store import Store; Store(sys.argv[1]).close()"
MIGRATIONS = ("m001_conversations", "m002_search", "m003_plans_and_pins", "m004_turn_summaries", "m005_places")
NOW = "2026-05-04T12:00:00.000000+00:00"

ROWS: dict[str, tuple[str, ...]] = {
    "m001_conversations": (
        "insert into conversations(id, name, memory, settings, created_at, updated_at, changed, last_message_id, turns,"
        f" tokens) values ('c1', 'talk', 'window', '{{}}', '{NOW}', '{NOW}', 1, 2, 1, 7)",
        f"insert into turns values ('c1', 1, '{NOW}', '{NOW}', 'done', 0)",
        "insert into messages(conversation_id, id, turn_id, uid, kind, role, state, tokens, created_at, text, payload)"
        f" values ('c1', 1, 1, 'u1', 'human', 'human', 'whole', 4, '{NOW}', 'an old apple', '{{}}')",
        "insert into messages(conversation_id, id, turn_id, uid, kind, role, state, tokens, created_at, text, payload)"
        f" values ('c1', 2, 1, 'u2', 'ai', 'ai', 'whole', 3, '{NOW}', 'yes', '{{}}')",
        "insert into summaries(conversation_id, id, kind, first_message_id, last_message_id, text, facts, tokens,"
        " model, prompt_version, input_tokens, output_tokens, input_hash, fallback, created_at)"
        f" values ('c1', 1, 'running', 1, 2, 'They agreed', '[\"7\"]', 3, 'm', '1', 9, 3, 'h', 0, '{NOW}')",
        "insert into heads values ('c1', 'running', 1)",
        "insert into calls(conversation_id, id, turn_id, purpose, model, limit_tokens, parts, estimated_tokens, status,"
        f" started_at) values ('c1', 1, 1, 'chat', 'm', 8192, '[]', 7, 'done', '{NOW}')",
    ),
    "m002_search": (
        "insert into messages_text(rowid, text) select rowid, text from messages where rowid = 1",
        "update search_state set indexed = 1",
    ),
    "m003_plans_and_pins": (
        f"insert into plans values ('c1', 1, 'a plan', '{NOW}')",
        f"insert into pins values ('c1', 1, '{NOW}')",
    ),
    "m004_turn_summaries": (),
    "m005_places": (),
}


def _version(path: Path) -> int:
    connection = sqlite3.connect(path)
    number = connection.execute("pragma user_version").fetchone()[0]
    connection.close()
    return int(number)


def _old_store(path: Path, version: int) -> None:
    """Make a store as the first `version` migrations left it, with a row in each of its tables."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    for number, name in enumerate(MIGRATIONS[:version], 1):
        schema.migrate(connection, stop_before=MIGRATIONS[number] if number < len(MIGRATIONS) else None)
        for statement in ROWS[name]:
            connection.execute(statement)
    connection.close()


def test_every_migration_has_its_rows_here() -> None:
    assert len(MIGRATIONS) == schema.SCHEMA_VERSION
    assert tuple(ROWS) == MIGRATIONS
    assert tuple(step.__name__.removeprefix("_") for step in STEPS) == MIGRATIONS


def test_a_new_file_gets_the_newest_schema(store: Store, store_file: Path) -> None:
    assert _version(store_file) == schema.SCHEMA_VERSION
    assert store.check() == []


def test_an_existing_empty_file_becomes_a_store(store_file: Path) -> None:
    store_file.parent.mkdir()
    store_file.touch(mode=0o644)
    with Store(store_file) as store:
        assert store.conversations.list() == []
    assert store_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS) + 1))
def test_a_store_of_an_earlier_schema_opens_with_everything_still_there(tmp_path: Path, version: int) -> None:
    path = tmp_path / "old.db"
    _old_store(path, version)
    with Store(path) as store:
        talk = store.conversations.find("talk")
        assert (talk.id, talk.last_message_id, talk.turns, talk.tokens) == ("c1", 2, 1, 7)
        assert store.turns.get("c1", 1).status == "done"
        assert [item.text for item in store.messages.oldest_first("c1")] == ["an old apple", "yes"]
        assert [item.turn_id for item in store.messages.oldest_first("c1")] == [1, 1]
        head = store.summaries.head("c1", "running")
        assert head is not None
        assert (head.text, head.values, head.in_force) == ("They agreed", ("7",), True)
        assert store.calls.get("c1", 1).status == "done"
        assert [hit.message_id for hit in store.search("apple")] == [1]
        assert [plan.text for plan in store.plans.list("c1")] == (["a plan"] if version >= 3 else [])
        assert store.pins.list("c1") == ([1] if version >= 3 else [])
        assert store.conversations.fork("c1").last_message_id == 2
        assert store.check() == []
    assert _version(path) == schema.SCHEMA_VERSION


def test_a_store_that_is_up_to_date_opens_without_the_migration_library(store_file: Path, store: Store) -> None:
    store.close()
    script = f"{OPEN}; assert 'sqlite_utils' not in sys.modules"
    subprocess.run([sys.executable, "-c", script, str(store_file)], check=True, cwd=ROOT)


def test_a_store_of_a_newer_schema_is_refused_and_untouched(store: Store, store_file: Path) -> None:
    store.conversations.create(name="talk")
    store.close()
    connection = sqlite3.connect(store_file, isolation_level=None)
    connection.execute(f"pragma user_version = {schema.SCHEMA_VERSION + 1}")
    connection.close()
    before = store_file.read_bytes()
    with pytest.raises(StoreTooNew, match=f"has schema {schema.SCHEMA_VERSION + 1}") as caught:
        Store(store_file)
    assert caught.value.exit_code == 7
    assert store_file.read_bytes() == before
    assert sorted(path.name for path in store_file.parent.iterdir()) == ["memcli.db"]


@pytest.mark.parametrize(
    "statement",
    ["create table notes (text)", "pragma user_version = 9", "pragma application_id = 252006674"],
    ids=["with a table", "with a version", "with an owner"],
)
def test_somebody_elses_database_is_refused_and_untouched(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "theirs.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match="a database, but not a memcli store") as caught:
        Store(path)
    assert caught.value.exit_code == 7
    assert path.read_bytes() == before
    assert sorted(item.name for item in tmp_path.iterdir()) == ["theirs.db"]


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    _old_store(path, 1)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("create table pins (something text)")
    connection.close()
    with pytest.raises(StoreCorrupt, match="pins"):
        Store(path)
    assert _version(path) == 1
    connection = sqlite3.connect(path)
    assert connection.execute("select count(*) from messages").fetchone() == (2,)
    assert connection.execute("select name from sqlite_master where name = 'messages_text'").fetchall() == []
    connection.close()


def test_a_new_file_opened_by_many_threads_at_once_is_made_once(store_file: Path) -> None:
    gate = threading.Barrier(8)
    complaints: list[BaseException] = []

    def open_it() -> None:
        gate.wait()
        try:
            Store(store_file).close()
        except BaseException as err:  # noqa: BLE001  whatever it is, the test shows it
            complaints.append(err)

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert complaints == []
    with Store(store_file) as store:
        assert store.check() == []


def test_a_new_file_opened_by_many_processes_at_once_is_made_once(store_file: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", OPEN, str(store_file)], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    assert [(process.communicate()[1], process.returncode) for process in processes] == [("", 0)] * 6
    with Store(store_file) as store:
        assert store.check() == []
