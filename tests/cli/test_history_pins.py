"""Pins on the command line and in the REPL: what stays word for word, what that takes, and what cannot be pinned."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memcli.records import Conversation
from memcli.store import Store
from tests.agent.scripted import says
from tests.cli.conftest import Run
from tests.cli.stories import BEGAN, a_talk, message
from tests.cli.talks import Screen, a_screen
from tests.cli.terminals import Outcome, in_terminal

PINS = """\
#1 human  pinned  turn 1  6 tokens  2026-01-31 14:05
what is the weather in Kyoto

#2 ai  goes with a pinned one  turn 1  0 tokens  2026-01-31 14:06
→ weather(city="京都", days=2)

#3 tool  pinned  turn 1  1 tokens  2026-01-31 14:07
rain

"""


def a_pinned_talk(run: Run, store: Store) -> Conversation:
    """Store a talk of which the question and a tool's result are pinned."""
    talk = a_talk(store)
    for id in ("1", "#3"):
        assert run("history", "work", "--pin", id).code == 0
    return talk


def test_pinning_says_what_all_pins_take_and_twice_is_once(run: Run, store: Store) -> None:
    talk = a_talk(store)
    assert run("history", "work", "--pin", "1") == Outcome(
        0, "", "#1 is pinned; 1 pinned message takes 6 tokens of the limit\n"
    )
    assert run("history", "work", "--pin", "#3") == Outcome(
        0, "", "#3 is pinned; 2 pinned messages and 1 that goes with them take 7 tokens of the limit\n"
    )
    assert run("history", "work", "--pin", "3").err.startswith("#3 is pinned already; ")
    assert store.pins.list(talk.id) == [1, 3]


def test_without_a_conversation_it_is_the_last_one(run: Run, store: Store) -> None:
    talk = a_talk(store)
    assert run("history", "--pin", "4").code == 0
    assert store.pins.list(talk.id) == [4]


def test_the_pinned_messages_are_listed_with_what_goes_with_them(run: Run, store: Store) -> None:
    a_pinned_talk(run, store)
    said = "2 pinned messages and 1 that goes with them take 7 tokens of the limit\n"
    assert run("history", "work", "--pins") == Outcome(0, PINS, said)


def test_the_document_has_the_pins_and_what_they_take(run: Run, store: Store) -> None:
    a_pinned_talk(run, store)
    document = run("history", "work", "--pins", "--json").document
    rows = run("history", "work", "--pins", "--jsonl").rows
    assert list(document) == ["version", "conversation", "pins", "tokens"]
    assert (document["pins"], document["tokens"]) == (rows, 7)
    assert rows[2] == {
        "id": 3, "turn": 1, "kind": "tool", "role": "tool", "text": "rain", "tool_calls": [], "tool_call_id": "c1",
        "tokens": 1, "state": "whole", "created_at": (BEGAN + timedelta(minutes=2)).isoformat(), "pinned": True,
    }  # fmt: skip
    assert [(row["id"], row["pinned"]) for row in rows] == [(1, True), (2, False), (3, True)]
    assert run("history", "work", "--unpin", "3", "--json").listed("pins") == rows[:1]


def test_the_history_marks_them(run: Run, store: Store) -> None:
    a_pinned_talk(run, store)
    heads = [line for line in run("history", "work").out.splitlines() if line.startswith("#")]
    assert [line.split("  ")[:2] for line in heads] == [
        ["#1 human", "pinned"], ["#2 ai", "turn 1"], ["#3 tool", "pinned"], ["#4 ai", "turn 1"], ["#5 human", "turn 2"],
    ]  # fmt: skip
    assert [row["pinned"] for row in run("history", "work", "--jsonl").rows] == [True, False, True, False, False]
    assert "\x1b[1;33m  pinned\x1b[0m" in in_terminal("history", "work").out


def test_the_context_shows_a_pinned_message_that_its_window_does_not(run: Run, store: Store) -> None:
    talk = a_pinned_talk(run, store)
    store.messages.append(talk.id, [message("human", "word " * 3000)])
    pins = [part for part in run("context", "work", "--json").listed("parts") if part["source"] == "pin"]
    assert [(part["first_message_id"], part["tokens"], part["state"]) for part in pins] == [
        (1, 6, "verbatim"), (2, 0, "verbatim"), (3, 1, "verbatim"),
    ]  # fmt: skip
    assert "k pinned 7" in run("context", "work").out


def test_unpinning_what_is_not_pinned_is_nothing_to_do(run: Run, store: Store) -> None:
    talk = a_pinned_talk(run, store)
    assert run("history", "work", "--unpin", "3") == Outcome(
        0, "", "#3 is pinned no longer; 1 pinned message takes 6 tokens of the limit\n"
    )
    assert run("history", "work", "--unpin", "4").err.startswith("#4 was not pinned; ")
    assert run("history", "work", "--unpin", "1").err == "#1 is pinned no longer; nothing is pinned\n"
    assert run("history", "work", "--pins") == Outcome(0, "", "nothing is pinned\n")
    assert store.pins.list(talk.id) == []


def test_a_pin_that_cannot_fit_is_refused_with_the_numbers(run: Run, store: Store) -> None:
    talk = a_pinned_talk(run, store)
    long = store.messages.append(talk.id, [message("human", "word " * 7000)])[0]
    available = 8192 - 1024 - 500 - 200 - 200
    refused = run("history", "work", "--pin", str(long.id))
    assert refused == Outcome(
        2, "",
        f"error: pinning #{long.id} beside 2 pinned already needs 7,007 tokens and {available:,} are available\n"
        "hint: `memcli history --unpin ID` makes room, and so does a larger limit_tokens\n",
    )  # fmt: skip
    assert store.pins.list(talk.id) == [1, 3]


def test_a_fork_keeps_the_pins(run: Run, store: Store) -> None:
    talk = a_pinned_talk(run, store)
    child = store.conversations.fork(talk.id, name="copy")
    assert store.pins.list(child.id) == [1, 3]
    assert run("history", "copy", "--pins").out == PINS


@pytest.mark.parametrize(
    ("args", "code", "said_first"),
    [
        (["--pin", "9"], 3, "error: there is no message #9"),
        (["--unpin", "9"], 3, "error: there is no message #9"),
        (["--pin", "5"], 2, "error: #5 is failed: it stands outside every context"),
        (["--pin", "x"], 2, "error: 'x' is no message's id"),
        (["--pin", "1", "--unpin", "1"], 2, "error: --pin and --unpin exclude one another"),
        (["--pins", "--search", "rain"], 2, "error: pins take a conversation and nothing else"),
        (["--pin", "1", "--rename", "x"], 2, "error: pins take a conversation and nothing else"),
    ],
)
def test_what_cannot_be_pinned_says_why(run: Run, store: Store, args: list[str], code: int, said_first: str) -> None:
    talk = a_talk(store)
    outcome = run("history", "work", *args)
    assert (outcome.code, outcome.out, outcome.err.splitlines()[0]) == (code, "", said_first)
    assert store.pins.list(talk.id) == []


@pytest.fixture
def screen() -> Screen:
    """A REPL in which a turn has been said."""
    opened = a_screen(says("One."), summarizer="extractive", width=120)
    opened.type("first")
    return opened


def test_in_the_repl_a_message_is_pinned_listed_and_let_go(screen: Screen) -> None:
    store, talk = screen.talk.store, screen.desk.begun()
    tokens = store.messages.get(talk.id, 1).tokens
    takes = f"1 pinned message takes {tokens} tokens of the limit"
    assert screen.type("/pin") == "nothing is pinned; /pin ID pins a message, /history shows their ids\n"
    assert screen.type("/pin 1") == f"#1 is pinned; {takes}\n"
    assert screen.type("/pin").splitlines()[1:] == ["first", "", takes]
    assert "#1 human  pinned  turn 1" in screen.type("/history")
    assert screen.type("/unpin #1") == "#1 is pinned no longer; nothing is pinned\n"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("/pin 9", "error: there is no message #9\nhint: run `memcli history CONVERSATION` to list messages\n"),
        ("/pin x", "error: 'x' is no message's id\nhint: run `memcli history CONVERSATION` to list them\n"),
        ("/unpin", "error: /unpin needs a message's id\nhint: type /unpin ID; /pin lists what is pinned\n"),
    ],
)
def test_in_the_repl_what_cannot_be_pinned_says_why(screen: Screen, typed: str, said: str) -> None:
    assert screen.type(typed) == said
