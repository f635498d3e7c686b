"""`memcli import`: what it reports, what a bad line does, and that a second time adds nothing."""

from __future__ import annotations

import json
from pathlib import Path

from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.terminals import Outcome, in_pipe, in_terminal

GOOD = json.dumps({"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]})
NOT_JSON = "not valid JSON: Expecting value at character 1"
OTHER = json.dumps({"messages": [{"role": "user", "content": "bye"}]})


def chats(home: Path, *lines: str, name: str = "chats.jsonl") -> str:
    """Write a file of chats and name it."""
    (home / name).write_text("".join(f"{line}\n" for line in lines))
    return name


def test_an_import_says_what_became_of_everything(run: Run, home: Path) -> None:
    said = "chats.jsonl\n  2 conversations: 2 added\n  3 messages: 3 added\n"
    assert run("import", chats(home, GOOD, OTHER)) == Outcome(0, said, "")


def test_a_second_import_adds_nothing(run: Run, home: Path) -> None:
    run("import", chats(home, GOOD, OTHER))
    said = "chats.jsonl\n  2 conversations: 2 unchanged\n  3 messages: 3 already there\n"
    assert run("import", "chats.jsonl") == Outcome(0, said, "")


def test_the_document_has_counts_that_reconcile(run: Run, home: Path) -> None:
    counts = {
        "file": "chats.jsonl", "conversations_added": 1, "conversations_updated": 0, "conversations_unchanged": 0,
        "messages_in_file": 2, "messages_added": 2, "messages_already_there": 0, "skipped": [], "bad_lines": [],
        "error": None,
    }  # fmt: skip
    assert run("import", chats(home, GOOD), "--json").document == {"version": 1, "files": [counts]}


def test_a_bad_line_is_named_the_good_ones_are_in_and_the_exit_code_is_2(run: Run, home: Path) -> None:
    done = run("import", chats(home, GOOD, '{"messages": [', OTHER))
    assert (done.code, done.out.splitlines()[1]) == (2, "  2 conversations: 2 added")
    assert done.err.startswith("warning: chats.jsonl: line 2: ")
    assert len(run("history", "--jsonl").rows) == 2


def test_a_bad_line_is_in_the_document(run: Run, home: Path) -> None:
    done = run("import", chats(home, GOOD, "nonsense"), "--json")
    assert (done.code, done.err, done.listed("files")[0]["bad_lines"]) == (2, "", [{"line": 2, "reason": NOT_JSON}])


def test_many_bad_lines_are_counted_after_twenty(run: Run, home: Path) -> None:
    done = run("import", chats(home, GOOD, *["nonsense"] * 25))
    assert done.err.count("\n") == 21
    assert done.err.endswith("warning: chats.jsonl: 5 more; --json names them all\n")


def test_a_file_that_is_not_there_is_an_error(run: Run) -> None:
    said = "error: nope.jsonl cannot be read (No such file or directory)\nhint: pass a file of chats in OpenAI format\n"
    assert run("import", "nope.jsonl") == Outcome(2, "", said)


def test_a_file_that_is_not_there_does_not_stop_the_others(run: Run, home: Path) -> None:
    done = run("import", "nope.jsonl", chats(home, GOOD))
    assert done == Outcome(
        2,
        "chats.jsonl\n  1 conversation: 1 added\n  2 messages: 2 added\n",
        "warning: nope.jsonl: nope.jsonl cannot be read (No such file or directory)\n",
    )


def test_a_file_of_something_else_is_an_error_and_a_document(run: Run, home: Path) -> None:
    done = run("import", chats(home, "buy milk", name="notes.txt"), "--json")
    assert (done.code, list(done.document), done.err) == (2, ["version", "error"], "")


def test_standard_input_is_a_file_called_dash(home: Path) -> None:
    done = in_pipe("import", "-", stdin=GOOD.encode())
    assert (done.code, done.out) == (0, "-\n  1 conversation: 1 added\n  2 messages: 2 added\n")


def test_the_memory_model_of_new_conversations_can_be_chosen(run: Run, home: Path) -> None:
    run("import", chats(home, GOOD), "--memory", "turns")
    assert [row["memory"] for row in run("history", "--jsonl").rows] == ["turns"]
    refused = run("import", "chats.jsonl", "--memory", "elephant")
    assert (refused.code, "is not one of window, turns" in refused.err) == (2, True)


def test_progress_is_drawn_in_a_terminal_and_leaves_nothing_behind(home: Path) -> None:
    lines = [json.dumps({"messages": [{"role": "user", "content": f"hello {n}"}]}) for n in range(20)]
    shown = in_terminal("import", chats(home, *lines)).out
    assert "\r\x1b[Kchats.jsonl: 20 conversations, 20 messages\r\x1b[K" in shown
    assert "\x1b[K" not in in_terminal("import", "chats.jsonl", "-q").out


def test_a_store_is_made_for_an_import_readable_by_its_owner_only(run: Run, home: Path) -> None:
    run("import", chats(home, GOOD), "--db", "new/memcli.db")
    assert (home / "new" / "memcli.db").stat().st_mode & 0o777 == 0o600
    assert (home / "new").stat().st_mode & 0o777 == 0o700


def test_a_name_with_controls_in_it_is_shown_clean(run: Run, home: Path, store: Store) -> None:
    assert "\x1b" not in run("import", chats(home, GOOD, "x", name="\x1b[31mred.jsonl")).out
