"""Work that is done in the background while the user types. It refuses to know what the work is."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Loading:
    """Do something slow once, in a thread of its own.

    `on_end` is called in that thread when it is done or has failed.
    """

    def __init__(self, work: Callable[[], object], on_end: Callable[[], None] | None = None) -> None:
        self._work = work
        self.on_end = on_end
        self._thread: threading.Thread | None = None
        self._done = threading.Event()
        self.error: BaseException | None = None
        """What the work raised; None while it runs and when it succeeded."""

    @property
    def is_done(self) -> bool:
        """Tell whether it is over, in success or failure."""
        return self._done.is_set()

    def start(self) -> None:
        """Begin; harmless when it has begun."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="memcli-loading", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Wait until it is over. Raises what the work raised, and on Ctrl-C KeyboardInterrupt; the work goes on."""
        self.start()
        self._done.wait()
        self.check()

    def check(self) -> None:
        """Raise what the work raised, if it is over and failed."""
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as err:  # noqa: BLE001 - carried to whoever waits, and raised there
            self.error = err
        self._done.set()
        if self.on_end is not None:
            self.on_end()
