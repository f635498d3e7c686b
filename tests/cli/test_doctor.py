"""`memcli doctor`: a sound store, a broken one, mending, and what is information rather than failure."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.stories import a_talk

NOBODY = "http://127.0.0.1:1"
"""Where nothing listens."""


@pytest.fixture(autouse=True)
def no_server(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", NOBODY)


def harm(store: Store, sql: str) -> None:
    """Damage a store from outside."""
    connection = sqlite3.connect(store.path)
    connection.execute(sql)
    connection.commit()
    connection.close()


def test_a_fresh_machine_is_sound_and_stays_fresh(run: Run, home: Path) -> None:
    done = run("doctor", "--json")
    assert (done.code, done.err) == (0, "")
    document = done.document
    assert document["problems"] == []
    assert document["store"] == {
        "path": str(home / "data" / "memcli.db"), "exists": False, "mode": "0000", "size_bytes": 0,
        "conversations": None, "messages": None,
    }  # fmt: skip
    assert not (home / "data").exists()


def test_a_sound_store_is_counted(run: Run, store: Store) -> None:
    a_talk(store)
    done = run("doctor")
    assert done.code == 0
    assert f"store     {store.path}\n" in done.out
    assert ", mode 0600\n          1 conversation, 5 messages\nproblems  none\n" in done.out


def test_a_server_that_does_not_answer_is_information(run: Run, store: Store) -> None:
    done = run("doctor", "-m", "llama3.2", "--json")
    server, model = done.document["server"], done.document["model"]
    assert isinstance(server, dict)
    assert isinstance(model, dict)
    assert done.code == 0
    assert server == {
        "address": NOBODY, "version": None, "models": [], "error": f"no Ollama server answers at {NOBODY}",
    }  # fmt: skip
    assert (model["name"], model["why"]) == (
        None, f"'llama3.2' is an Ollama model, and no Ollama server answers at {NOBODY}",
    )  # fmt: skip


def test_settings_that_are_not_default_say_where_they_come_from(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCLI_MAX_TOKENS", "500")
    (home / ".memcli.toml").write_text("threads = 1\n")
    lines = run("doctor").out.partition("settings  ")[2].splitlines()
    assert [line.strip() for line in lines] == [
        "max_tokens = 500, from MEMCLI_MAX_TOKENS", f"threads = 1, from {home}/.memcli.toml",
    ]  # fmt: skip


def test_counters_that_are_off_fail_the_check_and_are_mended(run: Run, store: Store) -> None:
    talk = a_talk(store)
    harm(store, "update conversations set tokens = 999")
    found = run("doctor")
    assert found.code == 7
    assert f"wrong {talk.id[:8]}: its counters disagree with its rows; --fix would count again\n" in found.out
    assert found.err == "run `memcli doctor --fix` to mend what can be mended\n"
    mended = run("doctor", "--fix")
    assert mended.code == 0
    assert f"problems  fixed {talk.id[:8]}: its counters disagree with its rows\n" in mended.out
    assert run("doctor").code == 0


def test_a_damaged_message_is_set_apart_and_kept(run: Run, store: Store) -> None:
    talk = a_talk(store)
    harm(store, "update messages set payload = '{' where id = 4")
    problem = {
        "where": "message", "what": "message #4 cannot be read", "conversation": talk.id,
        "fix": "set it apart; the row stays as it is", "status": "left",
    }  # fmt: skip
    assert run("doctor", "--json").listed("problems") == [problem]
    fixed = run("doctor", "--fix", "--json")
    assert (fixed.code, fixed.listed("problems")) == (0, [{**problem, "status": "fixed"}])
    assert run("history", "work", "--jsonl").rows[3]["state"] == "unreadable"


def test_a_store_that_others_may_read_is_closed_to_them(run: Run, store: Store) -> None:
    store.path.chmod(0o644)
    found = run("doctor")
    assert found.code == 7
    assert "wrong others may read the store: its mode is 0644; --fix would make it 0600\n" in found.out
    assert run("doctor", "--fix").code == 0
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_no_store_fails_the_check_and_everything_else_is_still_said(run: Run, home: Path) -> None:
    (home / "notes.txt").write_text("buy milk\n" * 100)
    (home / "notes.txt").chmod(0o600)
    done = run("doctor", "--db", "notes.txt", "--fix")
    assert done.code == 7
    assert "problems  wrong notes.txt is not a memcli store; this needs a person\n" in done.out
    assert "\nembedded  " in done.out


def test_a_store_that_was_named_and_is_not_there_is_an_error(run: Run) -> None:
    failed = run("doctor", "--db", "nope.db")
    assert (failed.code, failed.err.splitlines()[0]) == (2, "error: there is no store at nope.db")
