"""One run of one command: its settings, its store, the conversation it is about, and the terminal it speaks to.

It refuses to know what the command does. The store is opened when it is first asked for and closed with the session.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType

from memcli.cli.terminal import Terminal
from memcli.config import Resolved, Settings, resolve, store_path
from memcli.errors import NotFound, UsageError
from memcli.records import Conversation
from memcli.store import Store

NONE: Mapping[str, object] = {}


class Session:
    """What a command works with.

    `flags` are settings given on the command line, by their names in config.py; None means not given. With `must_exist`
    (every command that only reads) a missing store is an error instead of a new file. Use it in a `with` statement.
    """

    def __init__(self, terminal: Terminal, flags: Mapping[str, object], *, must_exist: bool) -> None:
        self.terminal = terminal
        self.resolved: Resolved = resolve(flags)
        self._must_exist = must_exist

    @property
    def settings(self) -> Settings:
        """The settings in force, before a conversation's own."""
        return self.resolved.settings

    @property
    def store_path(self) -> Path:
        """Tell where the store is, or would be."""
        return store_path(self.settings)

    @property
    def is_fresh(self) -> bool:
        """Tell whether nobody has begun a store and nobody named one: then an empty answer is right, not an error."""
        return self.resolved.came_from("db") == "default" and not self.store_path.exists()

    @cached_property
    def store(self) -> Store:
        """Open the store. Raises what Store raises."""
        return Store(self.store_path, busy_timeout_s=self.settings.busy_timeout_s, must_exist=self._must_exist)

    def refuse_missing(self) -> None:
        """Raise UsageError when somebody named a store that is not there."""
        if not self.store_path.exists():
            raise UsageError(f"there is no store at {self.store_path}", "check --db, MEMCLI_DB and `memcli config`")

    def conversation(self, reference: str = "last") -> Conversation:
        """Find a conversation by id, unique prefix, name or `last`. Raises NotFound or AmbiguousName."""
        if self.is_fresh and self._must_exist:
            raise NotFound("there are no conversations yet", "start one with `memcli chat`")
        return self.store.conversations.find(reference)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if "store" in self.__dict__:
            self.store.close()


def reading(
    *, db: str | None = None, no_color: bool = False, quiet: bool = False, more: Mapping[str, object] = NONE,
    **flags: object,
) -> Session:  # fmt: skip
    """Begin a session of a command that only reads: it never makes a store.

    `flags` are settings by name; `more` are those that `setting_flags` added to the command.
    """
    return Session(Terminal(no_color=no_color, is_quiet=quiet), {"db": db, **flags, **more}, must_exist=True)


def writing(
    *, db: str | None = None, no_color: bool = False, quiet: bool = False, more: Mapping[str, object] = NONE,
    **flags: object,
) -> Session:  # fmt: skip
    """Begin a session of a command that may write: a store that is not there is made."""
    return Session(Terminal(no_color=no_color, is_quiet=quiet), {"db": db, **flags, **more}, must_exist=False)
