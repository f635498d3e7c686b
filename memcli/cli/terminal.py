"""The outside world as one object: streams, colour, width, pager. It refuses to know what is shown.

Rich is loaded when something is first shown, so a command that writes JSON never pays for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, TextIO, cast

from memcli.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PIPED_WIDTH = 100
"""Columns to lay things out in when nobody's terminal is there to ask and COLUMNS is not set."""
UNBOUNDED_WIDTH = 1_000_000_000
"""Columns that cut or wrap nothing a person would call a line."""


class Terminal:
    """Standard output and error, as this run may use them.

    Answers go to `write` and `show`; progress, notes and warnings to `note` and `warn`.
    """

    def __init__(self, *, no_color: bool = False, is_quiet: bool = False) -> None:
        self.no_color = no_color
        self.is_quiet = is_quiet
        self._out: TextIO = sys.stdout
        self._err: TextIO = sys.stderr
        self.is_piped = not sys.stdout.isatty()
        """Whether standard output is no terminal: then nothing is cut, paged or asked; only FORCE_COLOR colours it."""

    @property
    def can_ask(self) -> bool:
        """Tell whether a person is there to answer a question."""
        return sys.stdin is not None and sys.stdin.isatty() and self._err.isatty()

    @property
    def shows_progress(self) -> bool:
        """Tell whether progress may be drawn on standard error."""
        return self._err.isatty() and not self.is_quiet

    @property
    def width(self) -> int:
        """Tell how many columns a layout may use; COLUMNS wins, a pipe without it has PIPED_WIDTH."""
        if self.is_piped:
            return _columns() or PIPED_WIDTH
        return self.out.width

    @cached_property
    def out(self) -> Console:
        """Standard output as a Rich console, without markup, emoji codes and highlighting."""
        return self._console(self._out, width=UNBOUNDED_WIDTH if self.is_piped else None)

    @cached_property
    def err(self) -> Console:
        """Standard error as a Rich console."""
        return self._console(self._err)

    def write(self, text: str) -> None:
        """Write text to standard output exactly as it is."""
        self._out.write(text)

    def show(self, renderable: RenderableType, *, width: int | None = None) -> None:
        """Show a renderable on standard output.

        `width` None means the terminal's width, and in a pipe no limit: nothing is cut or wrapped there. In a pipe no
        line ends in spaces.
        """
        if not self.is_piped:
            self.out.print(renderable, width=width)
            return
        with self.out.capture() as captured:
            self.out.print(renderable, width=width)
        self.write("\n".join(line.rstrip() for line in captured.get().split("\n")))

    def note(self, text: str) -> None:
        """Say something beside the answer, on standard error; silent with --quiet."""
        if not self.is_quiet:
            self._err.write(f"{text}\n")

    def warn(self, text: str) -> None:
        """Warn on standard error, also with --quiet."""
        self._err.write(f"warning: {text}\n")

    def note_progress(self, text: str) -> None:
        """Replace the progress line on standard error; empty clears it. Only where `shows_progress`."""
        self._err.write(f"\r\x1b[K{text}")
        self._err.flush()

    @contextmanager
    def paged(self) -> Iterator[None]:
        """Send what is shown inside through $PAGER, when it is set and a person is reading."""
        command = os.environ.get("PAGER", "").split()
        if self.is_piped or not command or command == ["cat"]:
            yield
            return
        width, straight, console = self.width, self._out, self.out
        with _pager(command) as stream:
            self._out, self.out = stream, self._console(stream, width=width, is_terminal=True)
            try:
                yield
            finally:
                self._out, self.out = straight, console

    def _console(self, stream: TextIO, *, width: int | None = None, is_terminal: bool | None = None) -> Console:
        from rich.console import Console

        return Console(
            file=stream, width=width, force_terminal=is_terminal, markup=False, emoji=False, highlight=False,
            no_color=self.no_color or None,
        )  # fmt: skip


@contextmanager
def _pager(command: list[str]) -> Iterator[TextIO]:
    """Run a pager and yield the stream it reads. Leaving it early is no error."""
    import subprocess

    environ = {"LESS": "FRX", **os.environ}
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environ, encoding="utf-8", errors="replace")
    except OSError as err:
        raise UsageError(
            f"the pager {command[0]!r} cannot be run ({err.strerror})", "set PAGER to another, or to cat"
        ) from err
    assert process.stdin is not None
    try:
        yield cast(TextIO, process.stdin)
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.wait()


def _columns() -> int | None:
    text = os.environ.get("COLUMNS", "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None
