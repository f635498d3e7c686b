"""Keeping a conversation under another memory model, and its plan: said, explicit, and taken back the same way."""

from __future__ import annotations

import pytest

from memcli.store import Store
from tests.agent.scripted import says
from tests.cli.conftest import Run
from tests.cli.conversations import add_chat
from tests.cli.talks import Screen, a_screen
from tests.ollama_server import FakeOllama

MOVED = (
    "parcels is kept under memory turns from now on, no longer under window: each completed turn becomes a summary,"
    " made when the next turn ends; `memcli chat -c parcels --memory window` goes back"
)


@pytest.fixture
def screen() -> Screen:
    return a_screen(otherwise=says("An answer about boats."), summarizer="extractive", width=120)


def test_chat_keeps_a_conversation_under_another_model_and_says_how_to_go_back(
    run: Run, server: FakeOllama, store: Store
) -> None:
    made = add_chat(store, "parcels", 2)

    there = run("chat", "hello", "-c", "parcels", "--memory", "turns", "--summarizer", "extractive")

    assert (there.code, there.err.splitlines()[0]) == (0, MOVED)
    assert store.conversations.get(made.id).memory == "turns"
    assert [summary.kind for summary in store.summaries.list(made.id)] == ["turn"] * 3
    back = run("chat", "hello", "-c", "parcels", "--memory", "window")
    assert back.err.startswith("parcels is kept under memory window from now on, no longer under turns: ")
    assert store.conversations.get(made.id).memory == "window"
    assert len(store.summaries.list(made.id)) == 3


def test_the_same_model_again_says_nothing(run: Run, server: FakeOllama, store: Store) -> None:
    add_chat(store, "parcels", 2)
    assert "kept under" not in run("chat", "hello", "-c", "parcels", "--memory", "window").err
    assert "kept under" not in run("chat", "hello", "-q", "-c", "parcels", "--memory", "turns").err


def test_a_new_conversation_begins_under_the_model_asked_for(run: Run, server: FakeOllama, store: Store) -> None:
    assert run("chat", "hello", "--memory", "turns", "--summarizer", "extractive").code == 0
    assert store.conversations.find("last").memory == "turns"
    assert [summary.kind for summary in store.summaries.list(store.conversations.find("last").id)] == ["turn"]


def test_an_agent_of_ones_own_keeps_the_past_its_own_way(run: Run, server: FakeOllama, store: Store) -> None:
    made = add_chat(store, "parcels", 2)
    refused = run("chat", "hello", "-c", "parcels", "--memory", "turns", "--agent", "somebody:get_config")
    assert (refused.code, refused.err.splitlines()[0]) == (2, "error: an agent of your own is kept under memory window")
    store.conversations.set_memory(made.id, "turns")
    assert run("chat", "hello", "-c", "parcels", "--agent", "somebody:get_config").err == refused.err


def test_memory_moves_a_conversation_there_and_back(screen: Screen) -> None:
    screen.type("first")
    assert screen.type("/memory turns") == (
        "kept under memory turns from now on, no longer under window: each completed turn becomes a summary, made when"
        " the next \nturn ends; /memory window goes back\n"
    )
    screen.type("second")
    assert [summary.kind for summary in screen.talk.store.summaries.list(screen.desk.begun().id)] == ["turn"] * 2
    assert screen.type("/memory").splitlines()[:2] == [
        "memory turns", "turns       the newest 10 as a summary each, in 3,000 tokens; the open one whole",
    ]  # fmt: skip
    assert screen.type("/memory window").startswith("kept under memory window from now on, no longer under turns: ")
    assert screen.type("/memory window") == "it is kept under memory window already\n"
    assert screen.desk.begun().memory == "window"


def test_a_memory_model_asked_for_before_the_first_message_is_the_conversations(screen: Screen) -> None:
    assert screen.type("/memory turns") == (
        "the conversation will be kept under memory turns; /memory window goes back\n"
    )
    screen.type("first")
    assert screen.desk.begun().memory == "turns"


def test_a_flag_does_not_follow_to_another_conversation() -> None:
    screen = a_screen(otherwise=says("An answer."), memory="turns", summarizer="extractive")
    other = screen.talk.store.conversations.create(name="other")
    screen.type("first", "/resume other", "second")
    assert screen.talk.store.conversations.get(other.id).memory == "window"


def test_a_memory_model_that_is_not_there_is_refused(screen: Screen) -> None:
    assert screen.type("/memory elephant") == (
        "error: there is no memory 'elephant'\nhint: there are /memory window and /memory turns\n"
    )


def test_plan_sets_shows_and_ends_the_plan(screen: Screen) -> None:
    assert screen.type("/plan") == "there is no plan; /plan TEXT sets one\n"
    assert screen.type("/plan Count the boats.") == "the plan is set (version 1), from the next message on\n"
    assert screen.type("/plan") == "Count the boats.\n"
    screen.type("first")
    assert "Count the boats." in screen.type("/context")
    assert screen.type('/plan ""') == "there is no plan any more\n"
    assert screen.type("/plan") == "there is no plan; /plan TEXT sets one\n"
    versions = screen.talk.store.plans.list(screen.desk.begun().id)
    assert [version.text for version in versions] == ["", "Count the boats."]


def test_a_plan_cannot_act_on_the_terminal(screen: Screen) -> None:
    screen.type("/plan \x1b[31mred")
    assert "\x1b" not in screen.type("/plan", "/context")
