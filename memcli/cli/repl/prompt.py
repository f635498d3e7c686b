"""The input line: history, completion, editor, toolbar. It refuses to know what becomes of a text."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.styles import Style

from memcli.cli.repl.keys import bindings
from memcli.cli.repl.toolbar import Toolbar

MARK = "> "
_STYLE = Style.from_dict({"mark": "bold ansicyan", "bottom-toolbar": "noreverse ansibrightblack"})


class Prompt:
    """Ask for one text after another.

    `on_drawn` is called each time the line has been drawn, and `on_early_interrupt` when Ctrl-C was pressed behind the
    Enter that sent a text; `input` and `output` None are the terminal.
    """

    def __init__(
        self,
        toolbar: Toolbar,
        history: History,
        completer: Completer,
        on_drawn: Callable[[], None],
        on_early_interrupt: Callable[[], None] = lambda: None,
        *,
        has_color: bool = True,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._toolbar = toolbar
        self._on_early_interrupt = on_early_interrupt
        self._session: PromptSession[str] = PromptSession(
            [("class:mark", MARK)],
            multiline=True,
            prompt_continuation=_continuation,
            key_bindings=bindings(self._set_leaving),
            history=history,
            completer=completer,
            complete_while_typing=False,
            bottom_toolbar=self._bottom,
            enable_open_in_editor=True,
            tempfile_suffix=".md",
            style=_STYLE,
            color_depth=None if has_color else ColorDepth.DEPTH_1_BIT,
            reserve_space_for_menu=6,
            input=input,
            output=output,
        )
        self._session.app.after_render += lambda _app: on_drawn()

    def ask(self, draft: str = "") -> str:
        """Ask for a text, beginning with a draft. Raises EOFError when the user leaves, and what `fail` was given."""
        self._toolbar.is_leaving = False
        typed = self._session.prompt(default=draft)
        if self._was_interrupted():
            self._on_early_interrupt()
        return typed

    def redraw(self) -> None:
        """Draw the line again, from any thread."""
        self._session.app.invalidate()

    def fail(self, error: BaseException) -> None:
        """End the running `ask` with an error, from any thread; does nothing when none runs."""
        app = self._session.app
        loop = app.loop
        if loop is not None and app.is_running:
            loop.call_soon_threadsafe(self._exit, error)

    def _was_interrupted(self) -> bool:
        """Tell whether Ctrl-C is among the keys pressed since the text was sent; the others wait for the next one."""
        source = self._session.app.input
        with source.raw_mode():
            pressed = [*get_typeahead(source), *source.read_keys()]
        later = [key for key in pressed if key.key != Keys.ControlC]
        store_typeahead(source, later)
        return len(later) < len(pressed)

    def _exit(self, error: BaseException) -> None:
        if self._session.app.is_running and not self._session.app.is_done:
            self._session.app.exit(exception=error)

    def _set_leaving(self, is_leaving: bool) -> None:
        self._toolbar.is_leaving = is_leaving

    def _bottom(self) -> StyleAndTextTuples:
        return [("", self._toolbar.text(self._session.app.output.get_size().columns))]


def _continuation(width: int, _line: int, _wrapped: int) -> str:
    return " " * width
