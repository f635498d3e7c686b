"""How far a run over several conversations is, on standard error: one line that rewrites itself, or a log."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType

from rich.status import Status
from rich.text import Text

from memcli.cli.compactions import Outcome
from memcli.cli.render.words import called
from memcli.cli.terminal import Terminal
from memcli.records import Conversation


class Progress:
    """Say which conversation of how many is worked on. Silent for a single one and with --quiet."""

    def __init__(self, terminal: Terminal, total: int) -> None:
        self._terminal = terminal
        self._total = total
        self._begun = 0
        self._status: Status | None = None
        self._stack = ExitStack()

    def begin(self, conversation: Conversation) -> None:
        """Name the conversation that is worked on now."""
        self._begun += 1
        if self._status is not None:
            self._status.update(Text(f"[{self._begun}/{self._total}] {called(conversation)}"))

    def end(self, outcome: Outcome) -> None:
        """Say what became of it, where no terminal shows it."""
        if self._status is None and self._total > 1:
            name = called(outcome.conversation)
            self._terminal.note(f"[{self._begun}/{self._total}] {name}: {outcome.result.status}")

    def __enter__(self) -> Progress:
        if self._terminal.shows_progress:
            self._status = self._stack.enter_context(self._terminal.err.status("folding"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
