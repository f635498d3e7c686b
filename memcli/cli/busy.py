"""The terminal while a turn runs: what is typed is kept for the next prompt and not echoed, and Ctrl-C comes once.

It refuses to know what runs.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

AGAIN_S = 1.0
"""A second Ctrl-C this soon after the first is ignored: the first one's work is being put away."""


@contextmanager
def busy() -> Iterator[None]:
    """Run something that Ctrl-C may interrupt, once, with KeyboardInterrupt."""
    with ExitStack() as stack:
        stack.enter_context(_quiet_terminal())
        stack.enter_context(interruptible())
        yield


@contextmanager
def interruptible(clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Turn the first of several quick Ctrl-C into a KeyboardInterrupt. Does nothing outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    last: list[float] = []

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        now = clock()
        if last and now - last[-1] < AGAIN_S:
            return
        last.append(now)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Early:
    """A Ctrl-C that came before what it is meant for had begun: pressed right after Enter."""

    def __init__(self) -> None:
        self._was_pressed = False

    def press(self) -> None:
        """Note it."""
        self._was_pressed = True

    def forget(self) -> None:
        """Take it for one that came too late, for what is over."""
        self._was_pressed = False

    def heed(self) -> None:
        """Raise KeyboardInterrupt if it came; what it is meant for begins now."""
        if self._was_pressed:
            self._was_pressed = False
            raise KeyboardInterrupt


@contextmanager
def noting_ctrl_c(early: Early) -> Iterator[None]:
    """Let Ctrl-C do nothing at once where neither `interruptible` nor a prompt takes it."""
    before = signal.signal(signal.SIGINT, lambda _number, _frame: early.press())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _quiet_terminal() -> Iterator[None]:
    """Stop the terminal from echoing keys into the answer, and let a paste arrive in one piece at the next prompt."""
    try:
        import termios

        file = sys.stdin.fileno()
        before = termios.tcgetattr(file)
    except (ImportError, OSError, ValueError, AttributeError, termios.error):
        yield
        return
    mode = termios.tcgetattr(file)
    mode[0] &= ~termios.ICRNL
    mode[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(file, termios.TCSANOW, mode)
    _tell(_PASTE_IN_BRACKETS)
    try:
        yield
    finally:
        _tell(_PASTE_AS_TYPED)
        termios.tcsetattr(file, termios.TCSANOW, before)


_PASTE_IN_BRACKETS, _PASTE_AS_TYPED = "\x1b[?2004h", "\x1b[?2004l"


def _tell(sequence: str) -> None:
    if sys.stdout.isatty():
        sys.stdout.write(sequence)
        sys.stdout.flush()
