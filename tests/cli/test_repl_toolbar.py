"""The line below the prompt."""

from __future__ import annotations

import pytest

from memcli.cli.repl.toolbar import Gauge, Toolbar, line, measure
from memcli.cli.talk import Talk
from tests.agent.scripted import says, scripted
from tests.cli.talks import a_screen, a_talk_with


@pytest.mark.parametrize(
    ("gauge", "shown"),
    [
        (Gauge(1204, 8192, 7), " llama · context 1,204 / 8,192 (15%) · fold in 7 turns"),
        (Gauge(0, 8192, 1), " llama · context 0 / 8,192 (0%) · fold in 1 turn"),
        (Gauge(10, 100, 0), " llama · context 10 / 100 (10%) · fold due"),
        (Gauge(0, 0, 0, "the context does not fit"), " llama · the context does not fit"),
    ],
)
def test_it_names_the_model_the_context_and_the_next_fold(gauge: Gauge, shown: str) -> None:
    assert line("llama", gauge, 80, is_leaving=False) == shown


def test_a_long_name_gives_way_to_the_numbers() -> None:
    shown = line("a-very-long-name-of-a-model:with-a-tag", Gauge(1204, 8192, 7), 66, is_leaving=False)

    assert shown == " a-very-long-nam… · context 1,204 / 8,192 (15%) · fold in 7 turns"


def test_after_ctrl_c_it_says_what_another_one_does() -> None:
    assert line("llama", Gauge(0, 1, 1), 80, is_leaving=True) == " Ctrl-C again leaves"


def test_before_the_model_is_there_it_says_so() -> None:
    toolbar = Toolbar(a_talk_with(scripted()))
    toolbar.read()

    assert toolbar.text(80) == " loading the model… · context 0 / 8,192 (0%) · fold in 10 turns"


def test_it_counts_the_turns_down() -> None:
    screen = a_screen(says("One."), says("Two."))
    screen.type("first", "second")

    assert measure(screen.talk).turns_to_fold == 8
    assert measure(screen.talk).used_tokens > 0


def test_a_context_that_does_not_fit_is_said_and_no_error() -> None:
    talk: Talk = a_talk_with(scripted(), limit_tokens=1100)
    talk.connect()
    talk.set_system_prompt("word " * 2000)
    talk.begin()

    assert measure(talk).problem == "the context does not fit its limit"
