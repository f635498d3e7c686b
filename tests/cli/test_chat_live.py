"""What is left on the screen after a turn, and how much of it is ever redrawn."""

from __future__ import annotations

from io import StringIO

from rich.console import Console
from rich.text import Text

from memcli.agent.events import (
    CallFinished,
    Event,
    Folded,
    Notice,
    ReasoningDelta,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from memcli.cli.live import SPARE_LINES, LiveView, Tail
from memcli.cli.views import PlainView
from memcli.memory.fold import FoldResult
from tests.cli.stories import EVIL, EVIL_SHOWN

DONE = CallFinished(1, 10, 5, "stop")


def watched(*events: Event) -> str:
    """Show events on a screen without a cursor: only what stays is left."""
    console = Console(file=StringIO(), width=60, markup=False, highlight=False)
    moments = iter([1.0, 3.5])
    with console.capture() as captured:
        view = LiveView(console, console.print, clock=lambda: next(moments))
        view.begin()
        for event in events:
            view.take(event)
        view.end()
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def test_blocks_stand_apart_by_one_empty_line() -> None:
    assert watched(TextDelta("One.\n\n\nTw"), TextDelta("o.\n"), DONE) == "One.\n\nTwo."


def test_a_partial_answer_stays() -> None:
    assert watched(TextDelta("Half an ans")) == "Half an ans"


def test_a_tool_is_one_line_with_the_beginning_of_its_result() -> None:
    shown = watched(
        TextDelta("Let me see."),
        DONE,
        ToolStarted("recall", {"query": "x\ny"}),
        ToolFinished("recall", "#1 user:\nhello", False),
        TextDelta("There."),
        DONE,
    )

    assert shown == 'Let me see.\n\n→ recall(query="x\\ny")  #1 user: hello\nThere.'


def test_reasoning_is_no_part_of_the_answer_and_its_time_is_said() -> None:
    shown = watched(ReasoningDelta("secret "), ReasoningDelta("thoughts"), TextDelta("Answer."), DONE)

    assert shown == "thought for 2.5 s\nAnswer."


def test_a_failed_fold_says_why() -> None:
    result = FoldResult("c", "failed", error="no answer")

    assert watched(TextDelta("Hi."), DONE, Folded(result)) == (
        "Hi.\n\nthe fold failed, the memory is as it was: no answer"
    )


def test_a_notice_is_one_line() -> None:
    assert watched(Notice("two\nlines")) == "two lines"


def test_what_a_model_says_to_the_terminal_is_text() -> None:
    assert watched(TextDelta(EVIL), DONE) == EVIL_SHOWN


def test_what_is_redrawn_is_never_taller_than_the_screen() -> None:
    console = Console(file=StringIO(), width=40, height=10)
    tail = Tail()
    tail.show("\n".join(f"- item {number}" for number in range(100)), Text(""))

    with console.capture() as captured:
        console.print(tail)

    lines = captured.get().rstrip("\n").splitlines()
    assert len(lines) == 10 - SPARE_LINES
    assert lines[-1].strip() == "• item 99"


def test_plain_text_is_written_as_it_comes_and_ends_with_a_line_end() -> None:
    written: list[str] = []
    beside: list[str] = []
    view = PlainView(written.append, lambda line: beside.append(line.plain))

    view.begin()
    for event in (
        TextDelta("**a**"),
        TextDelta("\x1b[1mb"),
        DONE,
        ToolStarted("now", {}),
        ToolFinished("now", "x", True),
    ):
        view.take(event)
    view.end()

    assert written == ["**a**", "b", "\n"]
    assert beside == ["→ now()  x"]
