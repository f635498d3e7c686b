"""The Store: one open file and its verbs, grouped by noun."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from memcli.store.calls import Calls
from memcli.store.check import Check
from memcli.store.conversations import Conversations
from memcli.store.engine import Engine
from memcli.store.messages import Messages
from memcli.store.notes import Pins, Plans
from memcli.store.search import Search
from memcli.store.summaries import Summaries
from memcli.store.turns import Turns

DEFAULT_BUSY_TIMEOUT_S = 30.0


class Store:
    """Conversations in one file. Usable from several threads and several processes at once.

    Opening makes the file (mode 0600) and brings its schema up to date. Raises StoreTooNew, StoreCorrupt, StoreLocked,
    StoreUnwritable or UsageError, each saying what to do. A read-only file opens for reading.
    """

    def __init__(
        self, path: Path | str, *, busy_timeout_s: float = DEFAULT_BUSY_TIMEOUT_S, must_exist: bool = False
    ) -> None:
        self._engine = Engine(Path(path), busy_timeout_s=busy_timeout_s, must_exist=must_exist)
        self.conversations = Conversations(self._engine)
        self.turns = Turns(self._engine)
        self.messages = Messages(self._engine)
        self.summaries = Summaries(self._engine)
        self.calls = Calls(self._engine)
        self.plans = Plans(self._engine)
        self.pins = Pins(self._engine)
        self.search = Search(self._engine)
        self.check = Check(self._engine)

    @property
    def path(self) -> Path:
        """Tell where the store is."""
        return self._engine.path

    @property
    def rows_read(self) -> int:
        """Count the rows read since the store was opened."""
        return self._engine.rows_read

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[None]:
        """Bracket several verbs: all of them commit, or none. `durable` waits until they have reached the disk."""
        with self._engine.write(durable=durable):
            yield

    def close(self) -> None:
        """Close the file. Nothing is pending."""
        self._engine.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
