"""How a turn is watched: the protocol of a view, and the plain view that pipes get. It refuses to know Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from rich.text import Text

from memcli.cli.cleaning import clean_line
from memcli.cli.deltas import Deltas
from memcli.cli.render.turn import cut_line, fold_line, tool_line

if TYPE_CHECKING:
    from memcli.agent.events import Event

Note = Callable[[Text], None]


class View(Protocol):
    """Show a turn while it happens."""

    def begin(self) -> None:
        """Get ready: the message has been said."""
        ...

    def take(self, event: Event) -> None:
        """Show what an event brings."""
        ...

    def end(self) -> None:
        """Leave everything on the screen that is to stay there."""
        ...


class PlainView:
    """Write the answer as plain text as it comes, and one line a tool and a fold to `note`.

    `write` None writes no answer: it will be in a JSON document.
    """

    def __init__(self, write: Callable[[str], None] | None, note: Note) -> None:
        self._write = write
        self._note = note
        self._deltas = Deltas()
        self._is_midline = False
        self._args: Mapping[str, object] = {}

    def begin(self) -> None:
        """Do nothing: plain text needs no preparation."""

    def take(self, event: Event) -> None:
        """Write what an event brings."""
        from memcli.agent import events

        match event:
            case events.TextDelta(text):
                self._put(self._deltas.feed(text))
            case events.CallFinished(finish_reason=reason):
                self._end_line()
                if reason == "length":
                    self._note(cut_line())
            case events.ToolStarted(args=args):
                self._args = args
            case events.ToolFinished(name, text, is_error):
                self._note(tool_line(name, self._args, text, is_error=is_error))
            case events.Folded(result):
                self._end_line()
                self._note(fold_line(result))
            case events.Alarmed(text):
                self._note(Text(clean_line(text), "yellow"))
            case events.Notice(text):
                self._note(Text(clean_line(text), "dim"))
            case _:
                pass

    def end(self) -> None:
        """End the answer's last line."""
        self._end_line()

    def _put(self, text: str) -> None:
        if text and self._write is not None:
            self._write(text)
            self._is_midline = not text.endswith("\n")

    def _end_line(self) -> None:
        self._put(self._deltas.end())
        if self._is_midline:
            self._put("\n")
