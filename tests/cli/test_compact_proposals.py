"""`memcli compact --propose`, `--apply`, `--edit`, `--discard` and `--min-fidelity`, under both memory models."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from memcli.records import Conversation, MemoryModel, Summary
from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.conversations import Json, add_chat, add_turn, said
from tests.cli.terminals import Outcome, in_terminal
from tests.ollama_replies import text
from tests.ollama_server import FakeOllama

EXTRACTIVE = ("--summarizer", "extractive")
BOTH: tuple[MemoryModel, ...] = ("window", "turns")
STEPS = """\
not in force yet: the context is as it was
  memcli compact parcels --apply 1    puts it in force
  memcli compact parcels --edit 1     opens it in your editor
  memcli compact parcels --discard 1  gives it up
"""
SPARSE: Json = {"summary_tokens": 50, "values_tokens": 0}
"""Settings that leave no room for twenty order numbers."""


@pytest.fixture
def home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have no model server."""
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    return home


def a_chat(run: Run, store: Store, memory: MemoryModel = "window", turns: int = 6) -> Conversation:
    """Store a chat whose next compaction folds all of it into one summary."""
    made = add_chat(store, "parcels", turns)
    if memory == "turns":
        store.conversations.set_memory(made.id, "turns")
        assert run("compact", "parcels", "--if-needed", *EXTRACTIVE).code == 0
    return store.conversations.get(made.id)


def proposed(run: Run, store: Store, chat: Conversation) -> Summary:
    """Propose, and give what is stored."""
    assert run("compact", "parcels", "--dry-run", "--propose", *EXTRACTIVE).code == 0
    return store.summaries.list(chat.id)[-1]


def results(outcome: Outcome, *keys: str) -> tuple[object, ...]:
    (only,) = outcome.listed("results")
    return tuple(only[key] for key in keys)


def seen(run: Run) -> object:
    return run("context", "parcels", "--json").document["parts"]


@pytest.mark.parametrize("memory", BOTH)
def test_a_proposal_is_stored_and_changes_nothing_in_force(run: Run, store: Store, memory: MemoryModel) -> None:
    chat = a_chat(run, store, memory)
    before = seen(run)

    outcome = run("compact", "parcels", "--dry-run", "--propose", *EXTRACTIVE, "--json")

    made = store.summaries.list(chat.id)[-1]
    assert outcome.code == 0
    assert (made.state, made.in_force) == ("proposed", False)
    assert results(outcome, "status", "summary", "first_message_id", "last_message_id", "tokens_after", "error") == (
        "proposed", made.id, 1, 12, made.tokens, None,
    )  # fmt: skip
    assert seen(run) == before


def test_a_proposal_is_shown_with_what_can_be_done_with_it(run: Run, store: Store) -> None:
    chat = a_chat(run, store)
    shown = run("compact", "parcels", "--propose", *EXTRACTIVE, "-q")
    made = store.summaries.list(chat.id)[0]
    assert shown.out.splitlines()[0] == (
        f"parcels: proposed #1–#12 (12 messages): {chat.tokens:,} → {made.tokens:,} tokens"
    )
    assert made.text in shown.out
    assert shown.out.endswith(STEPS)
    assert (shown.code, shown.err) == (0, "")


def test_proposing_the_same_again_gives_the_same_proposal(run: Run, store: Store) -> None:
    chat = a_chat(run, store)
    first = proposed(run, store, chat)
    assert proposed(run, store, chat) == first
    assert store.summaries.list(chat.id) == [first]


def test_summaries_show_a_proposal_whole_and_as_one(run: Run, store: Store) -> None:
    made = proposed(run, store, a_chat(run, store))
    shown = run("summaries", "parcels").out
    assert shown.splitlines()[0] == "○  s1 running  proposed  covers #1–#12, turns 1–6"
    assert made.text.splitlines()[-1] in shown
    assert [row["fate"] for row in run("summaries", "parcels", "--jsonl").rows] == ["proposed"]


@pytest.mark.parametrize("memory", BOTH)
@pytest.mark.parametrize("mark", ["", "s"])
def test_a_proposal_comes_into_force_once_and_can_be_undone(
    run: Run, store: Store, memory: MemoryModel, mark: str
) -> None:
    chat = a_chat(run, store, memory)
    before = seen(run)
    made = proposed(run, store, chat)

    applied = run("compact", "parcels", "--apply", f"{mark}{made.id}", "--json")

    now = store.summaries.get(chat.id, made.id)
    assert (now.state, now.in_force) == ("made", True)
    assert (applied.code, results(applied, "status", "summary", "first_message_id", "last_message_id", "calls")) == (
        0, ("compacted", made.id, 1, 12, 0),
    )  # fmt: skip
    again = run("compact", "parcels", "--apply", str(made.id), "--json")
    assert results(again, "status", "error") == ("nothing", f"s{made.id} is in force already")
    assert results(run("compact", "parcels", "--undo", "--json"), "status", "summary") == ("undone", None)
    assert seen(run) == before


@pytest.mark.parametrize("memory", BOTH)
def test_a_proposal_is_applied_in_a_fork_without_touching_the_parent(
    run: Run, store: Store, memory: MemoryModel
) -> None:
    chat = a_chat(run, store, memory)
    made = proposed(run, store, chat)
    child = store.conversations.fork(chat.id, name="copy")

    assert run("compact", "copy", "--apply", str(made.id)).code == 0

    assert store.summaries.get(child.id, made.id).in_force
    assert store.summaries.get(chat.id, made.id) == made


def test_a_proposal_is_not_applied_over_a_summary_that_came_since(run: Run, store: Store) -> None:
    chat = a_chat(run, store)
    made = proposed(run, store, chat)
    add_turn(store, chat, said("human", "And where is van 7 now?"), said("ai", "In Leeds, at the northern depot."))
    assert run("compact", "parcels", *EXTRACTIVE, "--instructions", "Mind the depots.").code == 0

    refused = run("compact", "parcels", "--apply", str(made.id))

    assert refused == Outcome(
        5, "",
        "error: s1 was made on no summary, and another is in force now\n"
        "hint: propose again with `memcli compact --dry-run --propose`\n",
    )  # fmt: skip


def test_a_proposal_of_the_other_memory_model_is_not_applied(run: Run, store: Store) -> None:
    chat = a_chat(run, store)
    proposed(run, store, chat)
    store.conversations.set_memory(chat.id, "turns")
    refused = run("compact", "parcels", "--apply", "1")
    assert (refused.code, refused.err.splitlines()[0]) == (
        2, "error: s1 is a running summary, and memory turns keeps a compaction one",
    )  # fmt: skip


def test_a_discarded_proposal_stays_in_the_ledger_and_cannot_be_applied(run: Run, store: Store) -> None:
    chat = a_chat(run, store)
    proposed(run, store, chat)
    said_so = "parcels: discarded s1, over #1–#12; it stays in `memcli summaries`, and nothing in force changed\n"

    assert run("compact", "parcels", "--discard", "1") == Outcome(0, said_so, "")

    assert [item.state for item in store.summaries.list(chat.id)] == ["discarded"]
    assert run("summaries", "parcels", "--jsonl").rows[0]["fate"] == "discarded"
    refused = "error: s1 was discarded\nhint: run `memcli summaries` to see which are proposed\n"
    assert run("compact", "parcels", "--apply", "1") == Outcome(2, "", refused)
    assert run("compact", "parcels", "--discard", "1") == Outcome(2, "", refused)


def test_turns_without_a_summary_of_their_own_are_not_proposed(run: Run, store: Store) -> None:
    chat = add_chat(store, "parcels", 3)
    store.conversations.set_memory(chat.id, "turns")
    why = (
        "3 completed turns have no summary of their own, and a proposal folds only those that have one; "
        "`memcli compact parcels --if-needed` makes them"
    )
    outcome = run("compact", "parcels", "--propose", *EXTRACTIVE, "--json")
    assert (outcome.code, results(outcome, "status", "error")) == (0, ("nothing", why))
    assert store.summaries.list(chat.id) == []


def test_with_all_and_if_needed_a_proposal_is_made_where_a_fold_is_due(run: Run, store: Store) -> None:
    add_chat(store, "short", 3)
    add_chat(store, "long", 12)
    outcome = run("compact", "--all", "--if-needed", "--propose", *EXTRACTIVE, "--json")
    assert [(row["name"], row["status"]) for row in outcome.listed("results")] == [
        ("long", "proposed"), ("short", "nothing"),
    ]  # fmt: skip
    shown = run("compact", "--all", "--propose", *EXTRACTIVE, "-y").out
    assert shown.count("s1 waits for --apply") == 2


@pytest.mark.parametrize(
    ("args", "code", "said_first"),
    [
        (["--apply", "9"], 3, "error: there is no summary s9"),
        (["--discard", "s9"], 3, "error: there is no summary s9"),
        (["--apply", "x"], 2, "error: 'x' is no summary's id"),
        (["--apply", "1", "--discard", "1"], 2, "error: --apply and --discard exclude one another"),
        (["--apply", "1", "--dry-run"], 2, "error: --apply takes one conversation and nothing else"),
        (["--apply", "1", "last"], 2, "error: --apply takes one conversation and nothing else"),
        (["--undo", "--propose"], 2, "error: --undo takes named conversations and nothing else"),
        (["--edit", "1"], 2, "error: an editor needs a terminal, and this is a pipe"),
        (["--dry-run", "--min-fidelity", "0.9"], 2, "error: --min-fidelity judges a summary, and --dry-run makes none"),
        (["--min-fidelity", "9"], 2, "error: '9' is no share of 0 to 1"),
        (["--min-fidelity", "nan"], 2, "error: 'nan' is no share of 0 to 1"),
    ],
)
def test_what_cannot_be_decided_says_why(run: Run, store: Store, args: list[str], code: int, said_first: str) -> None:
    chat = a_chat(run, store)
    outcome = run("compact", "parcels", *args)
    assert (outcome.code, outcome.out, outcome.err.splitlines()[0]) == (code, "", said_first)
    assert store.summaries.list(chat.id) == []


@pytest.mark.parametrize("share", ["0.9", "90%"])
@pytest.mark.parametrize("proposing", [[], ["--propose"]])
def test_a_summary_below_the_least_fidelity_is_rejected_with_the_numbers(
    run: Run, store: Store, share: str, proposing: list[str]
) -> None:
    chat = add_chat(store, "parcels", 20, settings=SPARSE)
    outcome = run("compact", "parcels", *EXTRACTIVE, "--min-fidelity", share, *proposing, "--json")
    status, error = results(outcome, "status", "error")
    assert (outcome.code, status) == (5, "rejected")
    assert str(error).startswith("fidelity ")
    assert str(error).endswith(" exact values survive")
    assert "% is below 90%: " in str(error)
    assert store.summaries.list(chat.id) == []


def test_a_fold_of_turns_below_the_least_fidelity_is_rejected(run: Run, store: Store) -> None:
    chat = add_chat(store, "parcels", 20, settings={**SPARSE, "max_summaries": 30})
    store.conversations.set_memory(chat.id, "turns")
    outcome = run("compact", "parcels", *EXTRACTIVE, "--min-fidelity", "1", "--json")
    assert (outcome.code, results(outcome, "status")) == (5, ("rejected",))
    assert store.summaries.head(chat.id, "compaction") is None


def test_a_summary_above_the_least_fidelity_is_made(run: Run, store: Store) -> None:
    a_chat(run, store)
    assert results(run("compact", "parcels", *EXTRACTIVE, "--min-fidelity", "0.5", "--json"), "status") == (
        "compacted",
    )


def an_editor(home: Path, what: str) -> dict[str, str]:
    """Write an editor that replaces the text of its file by the outcome of an expression over `text`."""
    script = home / "editor.py"
    script.write_text(
        "import pathlib, sys\n"
        "path = pathlib.Path(sys.argv[-1])\n"
        "text = path.read_text()\n"
        f"path.write_text({what})\n"
    )  # fmt: skip
    return {"VISUAL": f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}", "TMPDIR": str(home)}


def test_an_edited_proposal_takes_the_place_of_the_first(run: Run, store: Store, home: Path) -> None:
    chat = a_chat(run, store)
    first = proposed(run, store, chat)
    edited = in_terminal("compact", "parcels", "--edit", "s1", environ=an_editor(home, "'PX-0001 left depot 001.\\n'"))
    before, after = store.summaries.list(chat.id)
    assert edited.code == 0
    assert "summary s2 by extractive, edited by hand from s1" in edited.out
    assert (before.state, after.state, after.text, after.values) == (
        "discarded", "proposed", "PX-0001 left depot 001.", first.values,
    )  # fmt: skip
    assert run("summaries", "parcels", "--jsonl").rows[1]["edited_from"] == 1
    assert list(home.glob("memcli-s1-*")) == []


@pytest.mark.parametrize(
    ("what", "why"),
    [("text", "the text is unchanged"), ("'  '", "the text is empty; --discard gives the proposal up")],
)
def test_an_empty_or_unchanged_text_changes_nothing(run: Run, store: Store, home: Path, what: str, why: str) -> None:
    chat = a_chat(run, store)
    made = proposed(run, store, chat)
    edited = in_terminal("compact", "parcels", "--edit", "1", "--json", environ=an_editor(home, what))
    assert (edited.code, results(edited, "status", "error")) == (0, ("nothing", why))
    assert store.summaries.list(chat.id) == [made]


def test_a_text_that_is_refused_is_kept_for_the_user(run: Run, store: Store, home: Path) -> None:
    chat = a_chat(run, store)
    made = proposed(run, store, chat)
    edited = in_terminal("compact", "parcels", "--edit", "1", environ=an_editor(home, "'word ' * 5000"), columns=200)
    (kept,) = home.glob("memcli-s1-*")
    assert edited.code == 5
    assert edited.out.splitlines()[0] == f"your text is kept in {kept}"
    assert edited.out.splitlines()[1].endswith("is over its cap (500)")
    assert kept.read_text() == "word " * 5000
    assert os.stat(kept).st_mode & 0o777 == 0o600
    assert store.summaries.list(chat.id) == [made]


@pytest.mark.parametrize(
    ("environ", "said_first"),
    [
        ({"VISUAL": "", "EDITOR": " "}, "error: no editor is set"),
        ({"VISUAL": "no-editor"}, "error: 'no-editor' gave no text back: No such file or directory"),
        ({"VISUAL": "", "EDITOR": "false"}, "error: false ended with code 1"),
        ({"VISUAL": "'", "EDITOR": "false"}, "error: VISUAL cannot be read: \"'\""),
    ],
)  # fmt: skip
def test_an_editor_that_is_not_there_or_fails_says_so(
    run: Run, store: Store, home: Path, environ: dict[str, str], said_first: str
) -> None:
    chat = a_chat(run, store)
    made = proposed(run, store, chat)
    edited = in_terminal("compact", "parcels", "--edit", "1", environ={**environ, "TMPDIR": str(home)}, columns=200)
    assert (edited.code, edited.out.splitlines()[0]) == (2, said_first)
    assert store.summaries.list(chat.id) == [made]
    assert list(home.glob("memcli-s1-*")) == []


def test_a_model_writes_a_proposal_as_instructed_and_applying_it_costs_no_call(
    run: Run, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = a_chat(run, store)
    written = "The user asked how many parcels left each depot; the assistant gave the number and the order of each."
    with FakeOllama(otherwise=text(written)) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        made = run("compact", "parcels", "--propose", "-m", "tiny", "--instructions", "Mind the depots.", "--json")
        applied = run("compact", "parcels", "--apply", "1", "-m", "tiny", "--json")
        asked = len(server.chats)
        instructed = "The user adds: Mind the depots." in str(server.chats[0]["messages"])
    assert results(made, "status", "calls", "summarizer") == ("proposed", 1, "tiny")
    assert results(applied, "status", "calls", "summarizer") == ("compacted", 0, "tiny")
    assert (asked, instructed) == (1, True)
    head = store.summaries.head(chat.id, "running")
    assert head is not None
    assert (head.text, head.instructions) == (written, "Mind the depots.")


def test_a_model_that_cannot_be_reached_proposes_nothing(run: Run, store: Store) -> None:
    chat = a_chat(run, store)
    outcome = run("compact", "parcels", "--propose", "-m", "tiny", "--json")
    assert (outcome.code, results(outcome, "status")) == (4, ("failed",))
    assert store.summaries.list(chat.id) == []
