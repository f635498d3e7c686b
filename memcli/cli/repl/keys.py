"""What each key does at the prompt, where it differs from prompt_toolkit's own. It refuses to know what is typed."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.application import Application
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import has_focus
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from memcli.cli.repl.typed import is_open_block

_at_prompt = has_focus(DEFAULT_BUFFER)


def bindings(leaving: Callable[[bool], None]) -> KeyBindings:
    """Bind the keys: Enter sends, Alt-Enter and Ctrl-J begin a line, Ctrl-C clears and twice leaves.

    `leaving` is told whether one more Ctrl-C leaves.
    """
    keys = KeyBindings()
    keys.add("enter", filter=_at_prompt)(_send)
    keys.add("escape", "enter", filter=_at_prompt)(_new_line)
    keys.add("c-j", filter=_at_prompt)(_new_line)
    interrupt = Interrupt(leaving)
    keys.add("c-c", filter=_at_prompt)(interrupt.press)
    keys.add(Keys.SIGINT, filter=_at_prompt)(interrupt.press)
    return keys


class Interrupt:
    """Ctrl-C at the prompt: it clears what is typed; a second one right after it leaves."""

    def __init__(self, leaving: Callable[[bool], None]) -> None:
        self._leaving = leaving
        self._generation = -1
        """How often the text had changed when Ctrl-C was last pressed."""
        self._changes = 0
        self._watched: Application[str] | None = None

    def press(self, event: KeyPressEvent) -> None:
        """Clear the line, or leave."""
        self._watch(event.app)
        if self._generation == self._changes and not event.current_buffer.text:
            event.app.exit(exception=EOFError(), style="class:aborting")
            return
        event.current_buffer.reset()
        self._generation = self._changes
        self._leaving(True)

    def _watch(self, app: Application[str]) -> None:
        if self._watched is None:
            self._watched = app
            app.key_processor.after_key_press += self._after_key

    def _after_key(self, processor: object) -> None:
        last = [press.key for press in getattr(processor, "key_buffer", [])]
        del last
