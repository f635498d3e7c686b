"""`memcli export`: what is written reads back as the same messages, and no file is lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memcli.records import Conversation
from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.stories import a_talk, message
from tests.cli.terminals import Outcome, in_pipe, in_shell
from tests.locomo import data_file

AIRLINE = data_file("airline-agent.jsonl")


def said(store: Store, conversation: Conversation) -> list[tuple[object, ...]]:
    """Read what an export must keep of a conversation's messages."""
    return [
        (item.uid, item.kind, item.role, item.text, item.data, item.created_at if conversation.source is None else None)
        for item in store.messages.oldest_first(conversation.id)
    ]  # fmt: skip


def test_the_last_conversation_goes_to_standard_output_a_line_in_openai_s_format(run: Run, store: Store) -> None:
    a_talk(store)

    done = run("export")

    (line,) = done.rows
    assert (done.code, done.err, line["title"], line["model"]) == (0, "", "work", "qwen3:4b")
    assert [item["role"] for item in line["messages"]] == ["user", "assistant", "tool", "assistant"]  # type: ignore[attr-defined]


def test_named_conversations_are_written_once_each_in_the_order_of_their_names(run: Run, store: Store) -> None:
    for name in ("a", "b", "c"):
        a_talk(store, name)

    assert [row["title"] for row in run("export", "c", "a", "c").rows] == ["c", "a"]
    assert [row["title"] for row in run("export", "--all").rows] == ["a", "b", "c"]


def test_an_export_imported_elsewhere_has_the_same_messages(run: Run, store: Store, home: Path) -> None:
    talk = store.conversations.create(name="é", system_prompt="Be {kind}.")
    texts = ("\x1b[31m \U0001f600 \u2028", "", '京都 </s> \\ "')
    store.messages.append(talk.id, [message("human", text, content=text) for text in texts])

    run("export", "--all", "-o", "out.jsonl")
    run("import", "out.jsonl", "--db", "other.db")

    with Store(home / "other.db") as other:
        (found,) = other.conversations.list()
        assert (found.name, found.system_prompt, found.created_at) == ("é", "Be {kind}.", talk.created_at)
        assert [item.text for item in other.messages.oldest_first(found.id)] == list(texts)


@pytest.mark.skipif(AIRLINE is None, reason="the data set is not here")
def test_sixty_real_conversations_come_back_as_they_were(run: Run, store: Store, home: Path) -> None:
    run("import", str(AIRLINE), "-q")

    assert run("export", "--all", "-o", "out.jsonl") == Outcome(
        0, "", "wrote 60 conversations to out.jsonl in OpenAI's chat format\n"
    )

    again = run("import", "out.jsonl", "--json").listed("files")[0]
    assert (again["conversations_unchanged"], again["messages_added"], again["messages_already_there"]) == (60, 0, 1700)
    run("import", "out.jsonl", "--db", "other.db", "-q")
    run("export", "--all", "--db", "other.db", "-o", "again.jsonl")
    with Store(home / "other.db") as other:
        for there in other.conversations.list():
            here = store.conversations.by_source(there.source or "")
            assert here is not None
            assert said(other, there) == said(store, here)
    assert (home / "again.jsonl").read_bytes() == (home / "out.jsonl").read_bytes()


def test_a_file_that_is_there_is_overwritten_only_with_y(run: Run, store: Store, home: Path) -> None:
    a_talk(store)
    (home / "out.jsonl").write_text("mine")

    refused = run("export", "-o", "out.jsonl")
    assert refused == Outcome(
        2, "", "error: out.jsonl is already there\nhint: name another file, or overwrite it with -y\n"
    )
    assert (home / "out.jsonl").read_text() == "mine"

    assert run("export", "-o", "out.jsonl", "-y", "-q") == Outcome(0, "", "")
    assert (home / "out.jsonl").read_text() == run("export").out
    assert {item.name for item in home.iterdir()} == {"out.jsonl", "data"}


def test_a_device_is_written_to_and_stays_one(run: Run, store: Store) -> None:
    a_talk(store)

    assert run("export", "-o", os.devnull, "-y", "-q").code == 0
    assert Path(os.devnull).is_char_device()


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("nobody",), 3, "no conversation matches 'nobody'"),
        (("work", "--all"), 2, "--all and named conversations exclude one another"),
        (("-o", "nowhere/out.jsonl"), 2, "nowhere/out.jsonl cannot be written (No such file or directory)"),
    ],
    ids=["absent", "all and one", "no such folder"],
)
def test_what_cannot_be_exported_is_said(
    run: Run, store: Store, args: tuple[str, ...], code: int, message: str
) -> None:
    a_talk(store)

    assert run("export", *args).err.startswith(f"error: {message}\n")
    shown = run("export", *args, "--json")
    assert shown.code == code
    assert shown.document["error"]["exit_code"] == code  # type: ignore[index]


def test_json_on_standard_output_is_refused_as_a_document(run: Run, store: Store) -> None:
    a_talk(store)

    shown = run("export", "--json")

    assert (shown.code, shown.err) == (2, "")
    assert shown.document["error"] == {
        "message": "--json tells of a file that was written, and none is named", "hint": "add -o FILE", "exit_code": 2,
    }  # fmt: skip


def test_as_json_it_says_what_was_written(run: Run, store: Store) -> None:
    talk = a_talk(store)

    assert run("export", "-o", "out.jsonl", "--json").document == {
        "version": 1, "file": "out.jsonl", "conversations": [{"id": talk.id, "name": "work"}],
    }  # fmt: skip


def test_without_a_store_there_is_nothing_to_export(run: Run) -> None:
    assert run("export", "--all") == Outcome(0, "", "no conversations yet: start one with `memcli chat`\n")
    assert run("export").code == 3


def test_a_reader_who_leaves_ends_it_quietly(store: Store) -> None:
    talk = store.conversations.create(name="long")
    store.messages.append(talk.id, [message("human", "word " * 2000, content="word " * 2000) for _ in range(100)])

    assert in_shell("memcli export | head -c 10") == Outcome(0, '{"id": "' + talk.id[:2], "")


def test_what_is_exported_in_a_narrow_locale_is_json(store: Store) -> None:
    talk = store.conversations.create(name="京都")
    store.messages.append(talk.id, [message("human", "é", content="é")])

    done = in_pipe("export", environ={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"})

    assert json.loads(done.out)["messages"][0]["content"] == "é"
