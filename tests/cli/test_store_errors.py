"""What every command says of a store that cannot be used, and of a conversation that is not there."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.stories import a_talk

READING = (["history"], ["history", "last"], ["summaries"])


@pytest.mark.parametrize("command", READING)
def test_a_store_that_was_named_and_is_not_there_is_an_error_and_is_not_made(
    run: Run, home: Path, command: list[str]
) -> None:
    failed = run(*command, "--db", "nope.db")
    assert (failed.code, failed.out, failed.err.startswith("error: there is no store at nope.db\n")) == (2, "", True)
    assert not (home / "nope.db").exists()


@pytest.mark.parametrize("command", READING)
def test_a_directory_is_no_store(run: Run, home: Path, command: list[str]) -> None:
    failed = run(*command, "--db", str(home))
    assert (failed.code, failed.err) == (2, f"error: {home} is a directory\nhint: pass a file with --db\n")


@pytest.mark.parametrize("command", READING)
def test_a_file_that_is_no_database_is_no_store(run: Run, home: Path, command: list[str]) -> None:
    (home / "notes.txt").write_text("buy milk\n" * 100)
    failed = run(*command, "--db", "notes.txt", "--json")
    assert (failed.code, failed.err) == (7, "")
    assert failed.document == {
        "version": 1,
        "error": {"message": "notes.txt is not a memcli store", "hint": "pass another file with --db", "exit_code": 7},
    }
    assert (home / "notes.txt").read_text() == "buy milk\n" * 100


@pytest.mark.parametrize("command", [*READING, ["doctor"]])
def test_a_store_made_by_a_newer_memcli_is_refused(run: Run, store: Store, command: list[str]) -> None:
    store.close()
    connection = sqlite3.connect(store.path)
    connection.execute("pragma user_version = 99")
    connection.close()
    assert run(*command, "--json").code == 7


def test_a_locked_store_exits_with_6(run: Run, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    a_talk(store)
    monkeypatch.setenv("MEMCLI_BUSY_TIMEOUT_S", "0.2")
    holder = sqlite3.connect(store.path)
    holder.execute("begin immediate")
    failed = run("history", "work", "--rename", "x")
    holder.close()
    assert failed.code == 6
    assert failed.err == (
        f"error: {store.path} is locked by another process (waited 0.2 s)\nhint: try again when it has finished\n"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_store_is_read_and_not_written(run: Run, store: Store) -> None:
    a_talk(store)
    store.close()
    store.path.chmod(stat.S_IRUSR)
    assert run("history", "work").code == 0
    assert run("history", "work", "--rename", "x").code == 1


@pytest.mark.parametrize("command", ["history", "summaries"])
def test_a_conversation_that_is_not_there_exits_with_3(run: Run, store: Store, command: str) -> None:
    a_talk(store)
    failed = run(command, "wrok")
    hint = "hint: did you mean 'work'? run `memcli history` to list conversations\n"
    assert (failed.code, failed.err) == (3, f"error: no conversation matches 'wrok'\n{hint}")
    assert run(command, "wrok", "--json").document["error"] == {
        "message": "no conversation matches 'wrok'",
        "hint": "did you mean 'work'? run `memcli history` to list conversations",
        "exit_code": 3,
    }


def test_a_prefix_that_fits_two_conversations_lists_them(run: Run, store: Store) -> None:
    for id in ("ab12" + "0" * 28, "ab34" + "0" * 28):
        store.conversations.create(id=id, name=id[:4])
    failed = run("history", "ab")
    assert (failed.code, failed.out) == (2, "")
    assert failed.err == (
        "error: 'ab' fits 2 conversations\nhint: use one of ab3400000000 (ab34), ab1200000000 (ab12)\n"
    )


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("MEMCLI_MAX_TOKENS", "-5", "max_tokens = -5 is too small"),
        ("MEMCLI_MAX_TOKENS", "1e99", "max_tokens = '1e99' is not a whole number"),
        ("MEMCLI_MEMORY", "elephant", "memory = 'elephant' is not known"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv(variable, value)
    failed = run("config")
    assert (failed.code, failed.err.splitlines()[0]) == (2, f"error: {message}")


def test_a_settings_file_that_is_no_toml_is_named(run: Run, home: Path) -> None:
    (home / ".memcli.toml").write_text("model = ")
    failed = run("history")
    assert (failed.code, failed.err.startswith(f"error: {home}/.memcli.toml cannot be read: ")) == (2, True)
