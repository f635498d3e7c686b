"""Conversations reach the store whole, once, and the counts add up."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from memcli.errors import UsageError
from memcli.records import NewMessage
from memcli.store import Store
from memcli.transcripts.imported import BadLine, Skipped
from memcli.transcripts.importing import ImportReport, import_file, import_stream
from memcli.transcripts.openai_writer import write_openai
from tests.locomo import data_file

Entry: TypeAlias = dict[str, object] | None


def user(text: str) -> Entry:
    return {"role": "user", "content": text}


def answer(text: str) -> Entry:
    return {"role": "assistant", "content": text}


def line(id: str | None, *entries: Entry) -> str:
    return json.dumps(({"id": id} if id else {}) | {"messages": entries}) + "\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


def take(store: Store, text: str) -> ImportReport:
    return import_stream(store, io.BytesIO(text.encode()), name="f", memory="window")


def texts(store: Store, source: str) -> list[list[str]]:
    """Give a conversation's messages, turn by turn."""
    found = store.conversations.by_source(source)
    assert found is not None
    turns = range(1, found.turns + 1)
    return [[message.text for message in store.messages.of_turn(found.id, turn)] for turn in turns]


def test_a_conversation_is_stored_in_turns(store: Store) -> None:
    system: Entry = {"role": "system", "content": "rules"}
    report = take(store, line("a", system, user("1"), answer("2"), user("3")))
    assert report == ImportReport(conversations_added=1, messages_in_file=4, messages_added=4)
    assert texts(store, "openai:a") == [["rules"], ["1", "2"], ["3"]]
    found = store.conversations.find("a")
    assert (found.name, found.source, found.memory, found.last_message_id) == ("a", "openai:a", "window", 4)


def test_the_same_file_again_adds_nothing(store: Store) -> None:
    text = line("a", user("1"), answer("2")) + line(None, user("1"))
    take(store, text)
    assert take(store, text) == ImportReport(conversations_unchanged=2, messages_in_file=3, messages_already_there=3)
    assert len(store.conversations.list()) == 2


def test_the_same_conversation_twice_in_one_file_is_one(store: Store) -> None:
    assert take(store, line(None, user("1")) * 2) == ImportReport(
        conversations_added=1, conversations_unchanged=1, messages_in_file=2, messages_added=1, messages_already_there=1
    )


def test_a_grown_conversation_adds_its_tail_to_the_turn_it_continues(store: Store) -> None:
    take(store, line("a", user("1")))
    grown = line("a", user("1"), answer("2"), user("3"), answer("4"))
    assert take(store, grown) == ImportReport(
        conversations_updated=1, messages_in_file=4, messages_added=3, messages_already_there=1
    )
    assert texts(store, "openai:a") == [["1", "2"], ["3", "4"]]


def test_an_older_shorter_export_adds_nothing(store: Store) -> None:
    take(store, line("a", user("1"), answer("2"), user("3")))
    assert take(store, line("a", user("1"), answer("2"))).conversations_unchanged == 1


def test_a_different_continuation_is_a_branch_and_is_found_again(store: Store) -> None:
    first = line("a", user("1"), answer("2"), user("3"))
    second = line("a", user("1"), answer("two"), user("3"))
    third = line("a", user("1"), answer("two"), user("other"))
    report = take(store, first + second + third)
    assert (report.conversations_added, report.messages_added) == (3, 9)
    again = take(store, third + second + first + line("a", user("1"), answer("two")))
    assert (again.conversations_added, again.conversations_unchanged) == (0, 4)
    parents = {found.parent_id for found in store.conversations.list()}
    base = store.conversations.by_source("openai:a")
    assert base is not None
    assert {None, base.id} < parents


def test_a_conversation_continued_here_is_left_alone(store: Store) -> None:
    take(store, line("a", user("1")))
    here = store.conversations.find("a")
    take(store, line("b", user("mine")))
    mine = next(store.messages.oldest_first(store.conversations.find("b").id))
    turn = store.turns.start(here.id)
    continued = NewMessage("human", "human", mine.text, mine.payload, mine.tokens)
    store.messages.append(here.id, [continued], turn_id=turn.id)
    assert take(store, line("a", user("1"))).conversations_unchanged == 1
    assert take(store, line("a", user("1"), answer("2"))).conversations_added == 1
    assert texts(store, "openai:a") == [["1"], ["mine"]]


def test_every_entry_is_stored_or_named(store: Store) -> None:
    report = take(store, line("a", None, user("1"), {"content": "x"}) + "{\n" + line("b") + line("c", user("1")))
    assert report == ImportReport(
        conversations_added=2,
        messages_in_file=4,
        messages_added=2,
        skipped=[Skipped(1, 1, "it is null"), Skipped(1, 3, "it has no role")],
        bad_lines=[
            BadLine(2, "not valid JSON: Expecting property name enclosed in double quotes at character 2"),
            BadLine(3, "a conversation without messages"),
        ],
    )


def test_an_export_imported_where_it_came_from_adds_nothing(store: Store) -> None:
    take(store, line("a", user("1"), {"role": "critic", "content": [1, {"type": "x"}]}) + line(None, user("2")))
    out = io.StringIO()
    for found in store.conversations.list():
        write_openai(found, store.messages.oldest_first(found.id), out)
    assert take(store, out.getvalue()) == ImportReport(
        conversations_unchanged=2, messages_in_file=3, messages_already_there=3
    )


def test_progress_is_told_after_each_conversation(store: Store) -> None:
    seen: list[int] = []
    data = io.BytesIO((line("a", user("1")) + line("b", user("1"))).encode())
    import_stream(
        store, data, name="f", memory="turns", on_progress=lambda report: seen.append(report.conversations_added)
    )
    assert (seen, store.conversations.find("a").memory) == ([1, 2], "turns")


class _Killed(BaseException):
    """Stand for the end of the process."""


def test_an_import_cut_short_leaves_whole_conversations_and_the_next_adds_the_others(store: Store) -> None:
    text = line("a", user("1"), answer("2")) + line("b", user("1"), answer("2"))

    def stop(report: ImportReport) -> None:
        raise _Killed

    with pytest.raises(_Killed):
        import_stream(store, io.BytesIO(text.encode()), name="f", memory="window", on_progress=stop)
    assert [found.last_message_id for found in store.conversations.list()] == [2]
    assert take(store, text) == ImportReport(
        conversations_added=1, conversations_unchanged=1, messages_in_file=4, messages_added=2, messages_already_there=2
    )


def test_an_empty_file_is_an_empty_report(store: Store, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    assert import_file(store, tmp_path / "empty.jsonl", memory="window") == ImportReport()


@pytest.mark.parametrize(("name", "why"), [("absent", "No such file or directory"), (".", "Is a directory")])
def test_a_file_that_cannot_be_opened_is_a_usage_error(store: Store, tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(UsageError) as raised:
        import_file(store, tmp_path / name, memory="window")
    assert raised.value.message == f"{tmp_path / name} cannot be read ({why})"


@pytest.mark.skipif(data_file("airline-agent.jsonl") is None, reason="the data set is not here")
def test_sixty_real_agent_conversations_import_once(store: Store) -> None:
    path = data_file("airline-agent.jsonl")
    assert path is not None
    expected = ImportReport(conversations_added=60, messages_in_file=1700, messages_added=1700)
    assert import_file(store, path, memory="window") == expected
    expected = ImportReport(conversations_unchanged=60, messages_in_file=1700, messages_already_there=1700)
    assert import_file(store, path, memory="window") == expected
