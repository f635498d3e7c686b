"""Every key at the prompt, pressed for real."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from memcli.cli.repl.completion import SlashCompleter
from memcli.cli.repl.prompt import Prompt
from memcli.cli.repl.registry import registry
from memcli.cli.repl.toolbar import Toolbar
from memcli.errors import ModelUnreachable
from tests.agent.scripted import scripted
from tests.cli.talks import a_talk_with

ENTER, ALT_ENTER, CTRL_J, CTRL_C, CTRL_D, CTRL_R, TAB = "\r", "\x1b\r", "\n", "\x03", "\x04", "\x12", "\t"
UP = "\x1b[A"


@pytest.fixture
def keyboard() -> Iterator[PipeInput]:
    with create_pipe_input() as pipe:
        yield pipe


def a_prompt(
    keyboard: PipeInput, *before: str, on_drawn: Callable[[], None] = lambda: None,
    on_early_interrupt: Callable[[], None] = lambda: None,
) -> Prompt:  # fmt: skip
    completer = SlashCompleter(registry().helps, {"resume": lambda: ["cats", "dogs"]})
    toolbar = Toolbar(a_talk_with(scripted()))
    history = InMemoryHistory(list(before))
    return Prompt(toolbar, history, completer, on_drawn, on_early_interrupt, input=keyboard, output=DummyOutput())


def pressed(keyboard: PipeInput, *keys: str, before: tuple[str, ...] = (), draft: str = "") -> str:
    keyboard.send_text("".join(keys))
    return a_prompt(keyboard, *before).ask(draft)


def test_enter_sends(keyboard: PipeInput) -> None:
    assert pressed(keyboard, "hello", ENTER) == "hello"


@pytest.mark.parametrize("key", [ALT_ENTER, CTRL_J])
def test_alt_enter_and_ctrl_j_begin_a_new_line(keyboard: PipeInput, key: str) -> None:
    assert pressed(keyboard, "one", key, "two", ENTER) == "one\ntwo"


def test_enter_inside_three_quotes_begins_a_new_line(keyboard: PipeInput) -> None:
    assert pressed(keyboard, '"""one', ENTER, "two", ENTER, '"""', ENTER) == '"""one\ntwo\n"""'


def test_a_paste_of_several_lines_is_one_text(keyboard: PipeInput) -> None:
    assert pressed(keyboard, "\x1b[200~one\r\ntwo\rthree\x1b[201~", ENTER) == "one\ntwo\nthree"


def test_ctrl_c_clears_what_is_typed(keyboard: PipeInput) -> None:
    assert pressed(keyboard, "wrong", CTRL_C, "right", ENTER) == "right"


@pytest.mark.parametrize("typed", ["", "something"])
def test_ctrl_c_twice_leaves(keyboard: PipeInput, typed: str) -> None:
    with pytest.raises(EOFError):
        pressed(keyboard, typed, CTRL_C, CTRL_C)


def test_a_key_between_two_ctrl_c_makes_the_second_a_first_one(keyboard: PipeInput) -> None:
    assert pressed(keyboard, CTRL_C, "x", CTRL_C, "hello", ENTER) == "hello"


def test_ctrl_c_right_behind_enter_is_told_and_what_else_was_typed_is_the_next_text(keyboard: PipeInput) -> None:
    told: list[str] = []
    prompt = a_prompt(keyboard, on_early_interrupt=lambda: told.append("early"))
    keyboard.send_text(f"hello{ENTER}{CTRL_C}and then{ENTER}")

    assert (prompt.ask(), told) == ("hello", ["early"])
    assert (prompt.ask(), told) == ("and then", ["early"])


def test_ctrl_d_on_an_empty_line_leaves(keyboard: PipeInput) -> None:
    with pytest.raises(EOFError):
        pressed(keyboard, CTRL_D)


def test_ctrl_d_on_a_text_does_not_leave(keyboard: PipeInput) -> None:
    assert pressed(keyboard, "hello", CTRL_D, ENTER) == "hello"


def test_ctrl_r_searches_what_was_typed_before(keyboard: PipeInput) -> None:
    assert pressed(keyboard, CTRL_R, "bo", ENTER, ENTER, before=("cats", "boats", "dogs")) == "boats"


def test_up_brings_back_what_was_typed_last(keyboard: PipeInput) -> None:
    assert pressed(keyboard, UP, "!", ENTER, before=("first", "last")) == "last!"


@pytest.mark.parametrize(("typed", "completed"), [("/summarie", "/summaries"), ("/resume do", "/resume dogs")])
def test_tab_completes_a_command_and_a_name(keyboard: PipeInput, typed: str, completed: str) -> None:
    def send_when_completed() -> None:
        if get_app().current_buffer.text == completed:
            keyboard.send_text(ENTER)

    keyboard.send_text(f"{typed}{TAB}")

    assert a_prompt(keyboard, on_drawn=send_when_completed).ask() == completed


def test_completions_say_what_a_command_does() -> None:
    completer = SlashCompleter(registry().helps, {})

    found = completer.get_completions(Document("/sum"), CompleteEvent())

    assert [(item.text, item.display_meta_text) for item in found] == [
        ("/summaries", "every summary of this conversation"),
        ("/summarize", "the same as /compact"),
    ]


@pytest.mark.parametrize("text", ["hello /he", "//he", "one\n/he", "/help me"])
def test_what_is_no_command_is_not_completed(text: str) -> None:
    completer = SlashCompleter(registry().helps, {})

    assert list(completer.get_completions(Document(text), CompleteEvent())) == []


def test_the_prompt_begins_with_the_draft(keyboard: PipeInput) -> None:
    assert pressed(keyboard, "!", ENTER, draft="once more") == "once more!"


def test_an_error_of_the_background_load_ends_the_prompt(keyboard: PipeInput) -> None:
    toolbar = Toolbar(a_talk_with(scripted()))
    asked: list[Prompt] = []
    prompt = Prompt(
        toolbar, InMemoryHistory(), SlashCompleter({}, {}), lambda: asked[0].fail(ModelUnreachable("no model")),
        input=keyboard, output=DummyOutput(),
    )  # fmt: skip
    asked.append(prompt)

    with pytest.raises(ModelUnreachable, match="no model"):
        prompt.ask()
