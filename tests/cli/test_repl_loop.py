"""The REPL without a terminal: what is typed, what is shown, what is stored."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage

from memcli.cli.render.turn import TOY
from memcli.cli.repl.loading import Loading
from memcli.errors import ModelUnreachable
from memcli.records import StoredMessage
from tests.agent.scripted import asks, says, scripted
from tests.cli.stories import EVIL, EVIL_SHOWN
from tests.cli.talks import WHY, Screen, a_screen, a_talk_with


def stored(screen: Screen) -> list[StoredMessage]:
    conversation = screen.desk.begun()
    return list(screen.talk.store.messages.oldest_first(conversation.id, excluded=True))


def texts(screen: Screen) -> list[str]:
    return [message.text for message in stored(screen)]


def test_a_message_is_answered_and_stored() -> None:
    screen = a_screen(says("Hello **you**."))

    shown = screen.type("hi")

    assert shown == f"scripted · provider · {WHY}\n\nHello you.{' ' * 90}\n\n"
    assert texts(screen) == ["hi", "Hello **you**."]


def test_the_model_is_named_once() -> None:
    shown = a_screen(says("One."), says("Two.")).type("a", "b")

    assert shown.count(WHY) == 1


def test_the_toy_is_called_one_on_first_use() -> None:
    shown = a_screen(says("One."), says("Two."), model="embedded").type("a", "b")

    assert shown.count(TOY) == 1


def test_leaving_without_a_word_stores_nothing() -> None:
    screen = a_screen()

    screen.type("", "  ")

    assert screen.talk.store.conversations.list() == []


def test_an_unknown_command_is_an_error_and_is_never_sent() -> None:
    screen = a_screen()

    assert screen.type("/hepl me") == (
        "error: there is no command /hepl\n"
        "hint: did you mean /help? /help lists them; begin with // to send a text that begins with /\n"
    )
    assert screen.talk.conversation is None


def test_two_slashes_send_a_text_that_begins_with_one() -> None:
    screen = a_screen(says("A file."))

    screen.type("//etc/hosts is what?")

    assert texts(screen) == ["/etc/hosts is what?", "A file."]


def test_what_slash_commands_show_never_enters_the_conversation() -> None:
    screen = a_screen(says("Hello."))
    screen.type("hi")
    before = stored(screen)

    screen.type("/help", "/context", "/history", "/summaries", "/memory", "/tokens", "/recall hi", "/system", "/model")

    assert stored(screen) == before


def test_tools_are_shown_as_one_line_each() -> None:
    shown = a_screen(asks(("recall", {"query": "nothing"})), says("I do not know.")).type("what was it?")

    assert "→ recall(query=\"nothing\")  Nothing in this conversation matches 'nothing'.\n" in shown


def test_ctrl_c_before_the_first_token_keeps_the_message_and_says_so() -> None:
    screen = a_screen([KeyboardInterrupt()])

    shown = screen.type("hi")

    assert "interrupted: no answer had arrived; /retry asks again, /undo takes the turn back\n" in shown
    assert texts(screen) == ["hi"]


def test_ctrl_c_in_mid_stream_keeps_the_partial_answer() -> None:
    screen = a_screen(["Half an", KeyboardInterrupt()])

    shown = screen.type("hi")

    assert "Half an" in shown
    assert "interrupted: what is above is kept and marked as cut off" in shown
    assert [(message.text, message.state) for message in stored(screen)] == [("hi", "whole"), ("Half an", "partial")]


def test_ctrl_c_while_the_model_is_loading_gives_the_message_back() -> None:
    screen = a_screen()
    screen.desk.loading = Loading(lambda: None)
    screen.desk.loading.wait = lambda: (_ for _ in ()).throw(KeyboardInterrupt)  # type: ignore[method-assign]

    shown = screen.type("hi")

    assert (shown, screen.drafts) == ("interrupted\n", ["", "hi"])
    assert screen.talk.conversation is None


def test_a_model_that_fails_is_said_and_the_next_message_is_answered() -> None:
    screen = a_screen(RuntimeError("out of memory"), says("Better."))

    shown = screen.type("hi", "again")

    assert "error: scripted failed: RuntimeError: out of memory\n" in shown
    assert "your message is stored, outside the memory; /retry sends it again\n" in shown
    assert "Better." in shown


def test_a_message_that_does_not_fit_is_refused_with_what_it_needs() -> None:
    shown = a_screen(limit_tokens=2048).type("word " * 5000)

    assert "tokens and" in " ".join(shown.split())
    assert "are available" in " ".join(shown.split())


def test_a_load_that_fails_ends_the_repl() -> None:
    screen = a_screen()

    def fail() -> None:
        raise ModelUnreachable("no model", "install one")

    screen.desk.loading = Loading(fail)

    with pytest.raises(ModelUnreachable, match="no model"):
        screen.type("hi")


def test_what_a_model_says_to_the_terminal_is_text() -> None:
    shown = a_screen(says(EVIL)).type("hi")

    assert EVIL_SHOWN in shown
    assert "\x1b" not in shown


def test_a_fold_is_one_quiet_line() -> None:
    chat = scripted(
        says("An answer of some length about boats and rivers, long enough to be worth a summary of it all.")
    )
    screen = Screen(a_talk_with(chat, compact_every=1, summarizer="extractive"), width=200)

    shown = screen.type("Tell me about boats and rivers, please, and do so at some length.")

    assert "\nfolded #1–#2 into summary s1: " in shown


def test_braces_reach_the_model_as_they_are() -> None:
    chat = scripted(says("Yes."))

    Screen(a_talk_with(chat)).type("{x} {{ %s")

    assert chat.script.requests[0][-1] == HumanMessage("{x} {{ %s")
