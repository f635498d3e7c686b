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
        self._watched: Application[str] | None = None
        self._keys = 0
        """Keys pressed since the first Ctrl-C."""
        self._last = -1
        """What `_keys` was at the last Ctrl-C."""

    def press(self, event: KeyPressEvent) -> None:
        """Clear the line, or leave."""
        if self._watched is None:
            self._watched = event.app
            event.app.key_processor.before_key_press += self._another_key
        if self._last >= 0 and self._keys == self._last + 1 and not event.current_buffer.text:
            event.app.exit(exception=EOFError())
            return
        event.current_buffer.reset()
        self._last = self._keys
        self._leaving(True)

    def _another_key(self, _processor: object) -> None:
        self._keys += 1
        self._leaving(False)


def _send(event: KeyPressEvent) -> None:
    buffer = event.current_buffer
    if is_open_block(buffer.text):
        buffer.newline()
    else:
        buffer.validate_and_handle()


def _new_line(event: KeyPressEvent) -> None:
    event.current_buffer.newline(copy_margin=False)
