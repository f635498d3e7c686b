"""The truncation alarm in `chat`: a server that cuts, refuses or falls silent, each with its words and its code."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

import pytest

from memcli.cli.partner import Wanted
from memcli.cli.session import writing
from memcli.cli.talk import Talk
from memcli.memory.alarm import HINT
from memcli.store import Store
from tests.agent.scripted import says
from tests.cli.conftest import Run
from tests.cli.conversations import add_chat, add_turn, said
from tests.cli.talks import Screen, a_screen
from tests.memory.held_out import HELD_OUT
from tests.ollama_counts import as_characters
from tests.ollama_replies import breaks
from tests.ollama_server import FakeOllama, Overflow

SAID = "Hello from the stand-in."
LONG = "a plain sentence of words " * 300
CHAT = ("chat", "-c", "parcels", "-m", "tiny", "--no-tools", "--max-tokens", "6000", "-q")


@pytest.fixture
def server(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOllama]:
    """Serve a model that has less room than it says; a long conversation is there to be continued."""
    add_chat(store, "parcels", 60, settings={"compact_every": 1000})
    with FakeOllama(overflow="truncate", allots=1500) as fake:
        monkeypatch.setenv("OLLAMA_HOST", fake.url)
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        yield fake


def hint(allotted: int) -> str:
    return f"set `limit_tokens` to {allotted}, or raise the server's own context length"


def alarm_of_call(run: Run) -> dict[str, object]:
    alarm = run("context", "parcels", "--call", "1", "--json").document["alarm"]
    assert isinstance(alarm, dict)
    return alarm


def test_a_cut_prompt_ends_a_one_shot_chat_with_4_after_its_answer(run: Run, server: FakeOllama) -> None:
    outcome = run(*CHAT, "And the last?")

    alarm = alarm_of_call(run)
    assert (outcome.code, outcome.out) == (4, f"{SAID}\n")
    assert outcome.err == f"error: {alarm['text']}\nhint: {hint(1500)}\n"
    assert (alarm["kind"], alarm["allotted_tokens"]) == ("truncated", 1500)
    assert str(alarm["text"]).endswith("its server cut the oldest off silently; it allots 1,500 of the 8,192 asked for")


@pytest.mark.parametrize("share", [0.95, 0.9, 0.8, 0.7])
def test_a_cut_that_no_count_tells_on_a_first_call_is_told_by_what_the_server_allots(
    run: Run, server: FakeOllama, store: Store, share: float
) -> None:
    server.allots = None
    add_chat(store, "measured", 60, settings={"compact_every": 1000})
    run("chat", "-c", "measured", *CHAT[3:], "And the last?")
    server.allots = int(share * server.count(server.chats[-1]["messages"], []))  # type: ignore[arg-type]

    outcome = run(*CHAT, "And the last?")

    server.loaded.clear()
    shown = run("context", "parcels", "--call", "1").out
    alarm = alarm_of_call(run)
    assert (outcome.code, outcome.out) == (4, f"{SAID}\n")
    assert (alarm["kind"], alarm["allotted_tokens"]) == ("truncated", server.allots)
    assert outcome.err == f"error: {alarm['text']}\nhint: {hint(server.allots)}\n"
    assert f"it allots {server.allots:,} of the 8,192 asked for" in " ".join(shown.split())


def test_a_server_that_allots_less_but_cut_nothing_ends_well_and_is_told_of(run: Run, server: FakeOllama) -> None:
    server.allots = 8000

    first, again = (run(*CHAT[:-1], "And the last?") for _ in range(2))

    assert (first.code, again.code) == (0, 0)
    assert "the server of tiny allots 8,000 of the 8,192 tokens asked for" in first.err
    assert "allots" not in again.err


def test_the_repl_tells_what_the_server_allots(server: FakeOllama, store: Store) -> None:
    server.allots = 3400
    id = store.conversations.find("parcels").id
    talk = Talk(writing(model="tiny", max_tokens=6000), Wanted(without_tools=True), id)

    shown = Screen(talk, width=200).type("And the last?")

    assert "it allots 3,400 of the 8,192 asked for" in shown
    assert SAID in shown


def test_a_server_that_does_not_say_what_it_allots_is_caught_by_its_count(run: Run, server: FakeOllama) -> None:
    server.processes = "old"

    outcome = run(*CHAT, "And the last?")

    alarm = alarm_of_call(run)
    assert (outcome.code, outcome.err) == (4, f"error: {alarm['text']}\nhint: {HINT}\n")
    assert str(alarm["text"]).endswith("its server cut the oldest off silently")


def test_a_conversation_that_outgrows_the_server_by_a_message_is_caught_on_its_first_cut_call(
    run: Run, server: FakeOllama
) -> None:
    server.allots = None
    whole = run(*CHAT, "And the last?")
    counted = run("context", "parcels", "--call", "1", "--json").document
    server.allots = server.count(server.chats[-1]["messages"], []) + 20  # type: ignore[arg-type]

    outcome = run(*CHAT, "And which of them were sent back to where they came from? " * 5)

    alarm = run("context", "parcels", "--call", "2", "--json").document["alarm"]
    assert (whole.code, counted["alarm"]) == (0, None)
    assert outcome.code == 4
    assert isinstance(alarm, dict)
    assert (alarm["kind"], outcome.err) == ("truncated", f"error: {alarm['text']}\nhint: {hint(server.allots)}\n")


@pytest.mark.parametrize(("allots", "code"), [(None, 0), (1500, 4)])
def test_english_passes_where_a_server_counts_characters_and_a_cut_does_not(
    run: Run, server: FakeOllama, store: Store, allots: int | None, code: int
) -> None:
    server.count, server.allots = as_characters, allots
    talk = store.conversations.create(name="prose", settings={"compact_every": 1000})
    for text, *_ in HELD_OUT["english"] * 4:
        add_turn(store, talk, said("human", text), said("ai", text))

    outcome = run("chat", "-c", "prose", "-m", "tiny", "--no-tools", "--max-tokens", "6000", "-q", "And then?")

    assert outcome.code == code


def test_a_cut_prompt_is_an_error_in_the_json_of_a_turn_that_is_done(run: Run, server: FakeOllama) -> None:
    outcome = run(*CHAT, "And the last?", "--json")

    error = outcome.document["error"]
    assert (outcome.code, outcome.document["status"], outcome.document["answer"]) == (4, "done", SAID)
    assert isinstance(error, dict)
    assert (error["exit_code"], error["hint"], error["message"]) == (4, hint(1500), alarm_of_call(run)["text"])


@pytest.mark.parametrize(
    ("allots", "overflow", "said", "kind", "code"),
    [
        (None, "truncate", "And the last?", None, 0),
        (1500, "truncate", "And the last?", "truncated", 4),
        (600, "truncate", LONG, "cut_turn", 4),
        (1500, "refuse", "And the last?", "refused", 2),
    ],
)
def test_what_a_server_does_to_a_prompt_is_told_apart(
    run: Run, server: FakeOllama, allots: int | None, overflow: Overflow, said: str, kind: str | None, code: int
) -> None:
    server.allots, server.overflow = allots, overflow

    outcome = run(*CHAT, said)

    alarm = run("context", "parcels", "--call", "1", "--json").document["alarm"]
    assert outcome.code == code
    assert (alarm["kind"] if isinstance(alarm, dict) else None) == kind


def test_a_server_that_stops_answering_is_told_from_one_that_cuts(
    run: Run, server: FakeOllama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCLI_TIMEOUT_S", "0.3")
    server.script.append(breaks(ending="hang"))

    outcome = run(*CHAT, "And the last?")

    assert (outcome.code, outcome.out) == (4, "")
    assert "sent nothing in time" in outcome.err
    assert alarm_of_call(run)["kind"] == "silent"


def test_the_repl_says_it_and_keeps_the_answer() -> None:
    screen = a_screen(says("Yes.", input_tokens=100), width=200)

    shown = screen.type(LONG)

    assert "its server cut what was asked now" in shown
    assert "Yes." in shown
