"""A turn as a person watches it: finished Markdown blocks are printed for good, only the last one is redrawn.

What is redrawn never exceeds the screen, so the terminal's own scrolling keeps working. It refuses to run a turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.spinner import Spinner
from rich.text import Text

from memcli.agent import events
from memcli.cli.cleaning import clean_line
from memcli.cli.deltas import Deltas
from memcli.cli.markdown import Answer, Blocks
from memcli.cli.render.turn import call_text, cut_line, fold_line, tool_line

if TYPE_CHECKING:
    from memcli.cli.views import Note

REFRESHES_PER_SECOND = 8
SPARE_LINES = 3
"""Lines of the screen that the part being redrawn leaves free."""
LEAST_THINKING_S = 0.5
"""A shorter thought is not worth a line."""
MOST_REASONING = 300
"""Characters of the reasoning's end that are looked at for the line that is shown."""


class LiveView:
    """Show a turn on a terminal.

    `note` prints what stands beside the answer. `clock` gives seconds, for how long the model thought.
    """

    def __init__(self, console: Console, note: Note, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._note = note
        self._clock = clock
        self._deltas = Deltas()
        self._blocks = Blocks()
        self._tail = Tail()
        self._live: Live | None = None
        self._args: Mapping[str, object] = {}
        self._thinking_since: float | None = None
        self._has_printed = False

    def begin(self) -> None:
        """Show that the model is at work."""
        self._wait(Text("thinking…", "dim"))

    def take(self, event: events.Event) -> None:
        """Show what an event brings."""
        match event:
            case events.TextDelta(text):
                self._end_thinking()
                self._text(self._deltas.feed(text))
            case events.ReasoningDelta(text):
                self._thinking(text)
            case events.CallStarted():
                self._wait(Text("thinking…", "dim"))
            case events.CallFinished(finish_reason=reason):
                self._end_thinking()
                self._flush()
                if reason == "length":
                    self._beside(cut_line())
                self._wait(Text("seeing to the memory…", "dim"))
            case events.ToolStarted(name, args):
                self._end_thinking()
                self._args = args
                self._wait(call_text(name, args))
            case events.ToolFinished(name, text, is_error):
                self._beside(tool_line(name, self._args, text, is_error=is_error))
            case events.Folded(result):
                self._beside(fold_line(result))
            case events.Alarmed(text):
                self._beside(Text(clean_line(text), "yellow"))
            case events.Notice(text):
                self._beside(Text(clean_line(text), "dim"))

    def end(self) -> None:
        """Print what was still growing and stop redrawing."""
        self._end_thinking()
        self._flush()
        self._stop()

    def _text(self, text: str) -> None:
        if not text:
            return
        if not self._blocks.rest:
            text = text.lstrip("\n")
        done = self._blocks.feed(text)
        if done:
            self._print(done)
        self._tail.show(self._blocks.rest, Text(""))
        self._start()

    def _thinking(self, text: str) -> None:
        if self._thinking_since is None:
            self._thinking_since = self._clock()
            self._tail.reasoning = ""
        self._tail.reasoning = (self._tail.reasoning + text)[-MOST_REASONING:]
        line = clean_line(self._tail.reasoning.rstrip().rpartition("\n")[2])
        self._wait(Text.assemble(("thinking… ", "dim"), (line, "dim italic")))

    def _end_thinking(self) -> None:
        if self._thinking_since is not None:
            seconds = self._clock() - self._thinking_since
            self._thinking_since = None
            if seconds >= LEAST_THINKING_S:
                self._beside(Text(f"thought for {seconds:.1f} s", "dim"))

    def _flush(self) -> None:
        self._text(self._deltas.end())
        rest = self._blocks.end()
        self._tail.show("", Text(""))
        if rest.strip():
            self._print(rest)

    def _print(self, markdown: str) -> None:
        """Print a finished piece for good, an empty line after what stood before it."""
        self._tail.show("", Text(""))
        self._stop()
        if self._has_printed:
            self._console.print()
        self._console.print(Answer(markdown))
        self._has_printed = True

    def _beside(self, line: Text) -> None:
        self._stop()
        if self._has_printed:
            self._console.print()
            self._has_printed = False
        self._note(line)

    def _wait(self, label: Text) -> None:
        self._tail.show(self._blocks.rest, label)
        self._start()

    def _start(self) -> None:
        if self._live is None and self._console.is_terminal:
            self._live = Live(
                self._tail, console=self._console, transient=True, refresh_per_second=REFRESHES_PER_SECOND,
                redirect_stdout=False, redirect_stderr=False,
            )  # fmt: skip
            self._live.start()

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


class Tail:
    """What is redrawn: the end of the growing block, or a spinner with a label."""

    def __init__(self) -> None:
        self.reasoning = ""
        self._markdown = ""
        self._spinner = Spinner("dots")

    def show(self, markdown: str, label: Text) -> None:
        """Take what is to be drawn: the growing block or, while there is none, the label beside a spinner."""
        self._markdown = markdown
        self._spinner.text = label

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw as many of the last lines as the screen has room for."""
        if not self._markdown.strip():
            label = self._spinner.text
            if isinstance(label, Text) and label.plain:
                label.no_wrap, label.overflow = True, "ellipsis"
                label.truncate(max(options.max_width - 3, 1), overflow="ellipsis")
                yield self._spinner
            return
        lines = console.render_lines(Answer(self._markdown), options, pad=False)
        for line in lines[-max(console.height - SPARE_LINES, 1) :]:
            yield from line
            yield Segment.line()
