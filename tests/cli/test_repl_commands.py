"""Every slash command: what it shows, what it changes, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memcli.cli.repl.registry import registry
from tests.agent.scripted import says, scripted
from tests.cli.talks import Screen, a_screen, a_talk_with

LONG = "An answer of some length about boats and rivers, long enough to be worth a summary of all of it."


@pytest.fixture
def screen() -> Screen:
    """A REPL in which two turns have been said."""
    opened = a_screen(says("One."), says("Two."), says("Three."), says("Four."), summarizer="extractive", width=120)
    opened.type("first", "second")
    return opened


def texts(screen: Screen) -> list[str]:
    conversation = screen.desk.begun()
    return [message.text for message in screen.talk.store.messages.oldest_first(conversation.id)]


@pytest.mark.parametrize(
    ("alias", "name"),
    [("quit", "exit"), ("bye", "exit"), ("q", "exit"), ("?", "help"), ("summarize", "compact"), ("branch", "fork")],
)
def test_the_names_users_type_are_known(alias: str, name: str) -> None:
    assert registry().find(alias).name == name


def test_help_names_every_command(screen: Screen) -> None:
    shown = screen.type("/help")

    assert [item.name for item in registry().commands if f"/{item.name}" not in shown] == []


def test_a_command_that_takes_nothing_refuses_what_stands_behind_it(screen: Screen) -> None:
    assert screen.type("/undo 2") == ("error: /undo takes nothing behind it, and got '2'\nhint: type /undo alone\n")


@pytest.mark.parametrize(
    "name", ["context", "history", "summaries", "tokens", "recall x", "compact", "undo", "retry", "fork", "export"]
)
def test_before_the_first_message_there_is_nothing_to_show(name: str) -> None:
    assert a_screen().type(f"/{name}") == (
        "error: nothing has been said yet\nhint: say something first, or /resume a conversation\n"
    )


def test_context_is_the_picture_of_what_the_agent_sees_next(screen: Screen) -> None:
    shown = screen.type("/context")

    assert "what the agent sees next" in shown
    assert "window" in shown


def test_history_shows_the_newest_messages_and_says_how_many_there_are(screen: Screen) -> None:
    shown = screen.type("/history 2")

    assert shown.startswith("the newest 2 of 4 messages; /history all shows every one\n")
    assert ("second" in shown, "first" in shown) == (True, False)
    assert "first" in screen.type("/history all")


def test_recall_finds_what_was_said(screen: Screen) -> None:
    assert "#2 ai" in screen.type("/recall One")
    assert screen.type("/recall nowhere") == "no message of this conversation contains 'nowhere'\n"


def test_memory_says_how_the_past_is_kept(screen: Screen) -> None:
    lines = screen.type("/memory").splitlines()

    assert lines[0] == "memory window"
    assert lines[1] == "window      the newest 3,000 tokens, word for word"


def test_tokens_adds_up_the_next_call(screen: Screen) -> None:
    assert screen.type("/tokens").splitlines()[0].startswith("next call   ")


def test_compact_folds_and_says_what_became_of_it() -> None:
    opened = a_screen(says(LONG), summarizer="extractive", width=200)
    opened.type("Tell me about boats and rivers, please, and do so at some length.")

    assert opened.type("/compact").startswith("folded #1–#2 into summary s1: ")
    assert "s1 running" in opened.type("/summaries")
    assert opened.type("/compact") == "nothing to fold: everything is covered already\n"


def test_a_compaction_that_is_rejected_leaves_the_memory_and_says_why() -> None:
    opened = a_screen(says(LONG), says(""), says("<think>only thoughts"), summarizer="model", width=200)
    opened.type("Tell me about boats and rivers, please, and do so at some length.")

    assert opened.type("/compact").startswith("the fold was rejected, the memory is as it was: ")
    assert opened.talk.store.summaries.list(opened.desk.begun().id) == []


def test_compact_hands_its_instructions_to_the_summarizer() -> None:
    chat = scripted(says(LONG), says("They spoke of boats."))
    opened = Screen(a_talk_with(chat, summarizer="model"), width=200)
    opened.type("Tell me about boats and rivers, please, and do so at some length.")

    opened.type("/compact mind the {boats}")

    assert "mind the {boats}" in "".join(str(message.content) for message in chat.script.requests[-1])


def test_undo_takes_the_last_turn_out_of_the_memory(screen: Screen) -> None:
    shown = screen.type("/undo")

    assert shown == "turn 2 is taken back: “second”; its 2 messages stay stored, outside the memory\n"
    assert texts(screen) == ["first", "One."]


def test_undo_twice_takes_two_turns_and_a_third_finds_none(screen: Screen) -> None:
    shown = screen.type("/undo", "/undo", "/undo")

    assert shown.splitlines()[-2] == "error: there is no turn to undo"
    assert texts(screen) == []


def test_retry_answers_the_same_message_again(screen: Screen) -> None:
    shown = screen.type("/retry")

    assert "Three." in shown
    assert texts(screen) == ["first", "One.", "second", "Three."]


def test_system_sets_shows_and_takes_away_the_prompt(screen: Screen) -> None:
    shown = screen.type("/system", "/system Be {brief}.", "/system", '/system ""', "/system")

    assert shown.splitlines() == [
        "there is no system prompt; /system TEXT sets one",
        "the system prompt is set, from the next message on",
        "Be {brief}.",
        "there is no system prompt any more",
        "there is no system prompt; /system TEXT sets one",
    ]


def test_a_system_prompt_set_before_the_first_message_is_the_conversations() -> None:
    opened = a_screen(says("Hi."))

    opened.type("/system Be brief.", "hello")

    assert opened.desk.begun().system_prompt == "Be brief."


def test_fork_copies_the_conversation_and_goes_there(screen: Screen) -> None:
    before = screen.desk.begun()

    shown = screen.type("/fork aside", "third")

    assert shown.startswith(f"forked {before.id[:8]} at #4; you are in aside now\n")
    assert screen.desk.begun().name == "aside"
    assert texts(screen) == ["first", "One.", "second", "Two.", "third", "Three."]
    assert screen.talk.store.conversations.get(before.id).last_message_id == 4


def test_rename_names_the_conversation_and_a_taken_name_is_refused(screen: Screen) -> None:
    assert screen.type("/rename cats") == "this conversation is called 'cats' now\n"
    screen.type("/new", "third")

    assert screen.type("/rename cats").startswith("error: a conversation is called 'cats' already\n")


def test_new_begins_another_conversation_with_the_next_message(screen: Screen) -> None:
    before = screen.desk.begun()

    shown = screen.type("/new", "third")

    assert shown.startswith(f"your next message begins a new conversation; /resume {before.id[:8]} goes back\n")
    assert texts(screen) == ["third", "Three."]


def test_resume_goes_to_another_conversation(screen: Screen) -> None:
    screen.type("/rename cats", "/new", "third")

    shown = screen.type("/resume cats", "fourth")

    assert shown.startswith("in cats: 4 messages, held with scripted\n")
    assert texts(screen) == ["first", "One.", "second", "Two.", "fourth", "Four."]


def test_resume_alone_lists_conversations(screen: Screen) -> None:
    screen.type("/rename cats")

    assert "cats" in screen.type("/resume")


def test_resume_of_one_that_is_not_there_stays_where_it_is(screen: Screen) -> None:
    before = screen.talk.conversation_id

    assert screen.type("/resume nowhere").startswith("error: no conversation matches 'nowhere'\n")
    assert screen.talk.conversation_id == before


def test_a_turn_that_did_not_end_is_said_on_resuming(screen: Screen) -> None:
    conversation = screen.desk.begun()
    screen.talk.store.turns.start(conversation.id)
    screen.type("/new")

    shown = screen.type(f"/resume {conversation.id}")

    assert "its last turn did not end: /retry asks again, /undo takes it back\n" in shown


def test_model_names_the_one_in_use_and_why(screen: Screen) -> None:
    assert screen.type("/model").splitlines() == [
        "scripted · provider · the test says so",
        "a call holds 8,192 tokens; it can call tools",
    ]


def test_model_goes_on_with_another_and_the_conversation_keeps_it(screen: Screen) -> None:
    shown = screen.type("/model other", "third")

    assert shown.startswith("other · provider · the test says so\n")
    assert screen.desk.begun().model == "other"


def test_a_model_that_is_not_there_leaves_the_old_one(screen: Screen) -> None:
    shown = screen.type("/model nowhere", "third")

    assert shown.startswith("error: there is no model 'nowhere'\nhint: there are: scripted\n")
    assert screen.desk.begun().model == "scripted"


def test_export_writes_a_file_and_never_over_one(screen: Screen, home: Path) -> None:
    assert screen.type("/export talk.jsonl") == "written to talk.jsonl in OpenAI's chat format\n"
    assert screen.type("/export talk.jsonl").startswith("error: talk.jsonl is already there\n")
    written = json.loads((home / "talk.jsonl").read_text())
    assert [message["content"] for message in written["messages"]] == ["first", "One.", "second", "Two."]


def test_export_to_where_nothing_can_be_written_says_so(screen: Screen) -> None:
    assert screen.type("/export nowhere/talk.jsonl").startswith("error: nowhere/talk.jsonl cannot be written (")


def test_exit_leaves_before_what_comes_after_it(screen: Screen) -> None:
    screen.type("/exit", "third")

    assert texts(screen) == ["first", "One.", "second", "Two."]
