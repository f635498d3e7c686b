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


@contextmanager
def ignoring_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C do nothing, but where `interruptible` or a prompt takes it: between two of them it comes too late."""
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
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
