"""Fault 22: one bad row never takes the others with it. SQLite-specific: the rows are spoilt by hand."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from memcli.records import Conversation
from memcli.store import Store
from tests.store.samples import messages

SPOILT = {
    "malformed JSON": "payload = '{\"content\": '",
    "an empty payload": "payload = ''",
    "JSON that is no object": "payload = '[1, 2]'",
    "JSON nested too deeply": f"payload = '{'[' * 100_000}'",
    "a payload of bytes": "payload = x'00ff'",
    "a payload that is not UTF-8": "payload = cast(x'7b22ff' as text)",
    "a text that is bytes": "text = x'00ff'",
    "a role from a newer version": "role = 'oracle'",
    "a state from a newer version": "state = 'archived'",
    "tokens that are no number": "tokens = 'many'",
}


def _spoil(path: Path, assignment: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"update messages set {assignment} where id = 2")
    connection.close()


@pytest.mark.parametrize("assignment", SPOILT.values(), ids=SPOILT.keys())
def test_fault_22_a_bad_row_is_quarantined_and_the_rest_works(
    store: Store, store_file: Path, talk: Conversation, assignment: str
) -> None:
    store.messages.append(talk.id, messages(3))
    _spoil(store_file, assignment)
    found = list(store.messages.oldest_first(talk.id, excluded=True))
    assert [(item.id, item.state) for item in found] == [(1, "whole"), (2, "unreadable"), (3, "whole")]
    assert [item.id for item in store.messages.newest_first(talk.id)] == [3, 2, 1]
    quarantined = store.messages.get(talk.id, 2)
    assert (quarantined.role, quarantined.payload, dict(quarantined.data)) == ("other", "{}", {})
    assert quarantined.is_excluded
    assert store.search("message", limit=2)[0].message_id == 3
    assert store.messages.append(talk.id, messages(1))[0].id == 4


@pytest.mark.parametrize("assignment", SPOILT.values(), ids=SPOILT.keys())
def test_fault_22_check_names_a_bad_row_and_mend_sets_it_apart_as_it_is(
    store: Store, store_file: Path, talk: Conversation, assignment: str
) -> None:
    store.messages.append(talk.id, messages(3))
    _spoil(store_file, assignment)
    problems = [problem for problem in store.check() if problem.where == "message"]
    assert [(problem.what, problem.conversation_id) for problem in problems] == [("message #2 cannot be read", talk.id)]
    before = _row(store_file)
    store.check.mend(problems[0])
    assert _row(store_file) == before | {"state": b"unreadable"}
    assert [item.id for item in store.messages.oldest_first(talk.id)] == [1, 3]
    assert store.messages.excluded_ids(talk.id, up_to=3) == [2]
    assert "message" not in [problem.where for problem in store.check()]


def test_text_that_is_not_utf8_is_shown_with_its_bytes_as_escapes(
    store: Store, store_file: Path, talk: Conversation
) -> None:
    store.messages.append(talk.id, messages(3))
    _spoil(store_file, "text = cast(x'61ff62' as text)")
    assert [item.text for item in store.messages.oldest_first(talk.id)] == ["message 1", "a\\xffb", "message 3"]
    assert store.messages.get(talk.id, 2).state == "whole"


def test_a_moment_that_cannot_be_read_takes_nothing_else_with_it(
    store: Store, store_file: Path, talk: Conversation
) -> None:
    store.messages.append(talk.id, messages(3))
    _spoil(store_file, "created_at = 'yesterday'")
    assert store.messages.get(talk.id, 2).created_at.year == 1970
    assert store.messages.get(talk.id, 2).text == "message 2"


def test_settings_and_values_that_cannot_be_read_read_as_none(
    store: Store, store_file: Path, talk: Conversation
) -> None:
    with sqlite3.connect(store_file) as connection:
        connection.execute("update conversations set settings = ?", (json.dumps([1]),))
    connection.close()
    assert store.conversations.get(talk.id).settings == {}


def _row(path: Path) -> dict[str, object]:
    connection = sqlite3.connect(path)
    connection.text_factory = bytes
    connection.row_factory = sqlite3.Row
    row = dict(connection.execute("select * from messages where id = 2").fetchone())
    connection.close()
    return row
