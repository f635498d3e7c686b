"""Who answers, as the terminal sees them: what is asked of them, a connected model, and a partner in one conversation.

It refuses to know how they are made: `connecting` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memcli.config import Settings
from memcli.records import Conversation, Turn
from memcli.store import Store

if TYPE_CHECKING:
    from memcli.agent.agent import TurnResult
    from memcli.agent.stream import Emit
    from memcli.memory.context import Context
    from memcli.memory.fold import FoldResult


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks of the one who answers."""

    name: str | None = None
    system: str | None = None
    tools: tuple[str, ...] = ()
    """The user's own, as package.module:name."""
    without_tools: bool = False
    agent: str | None = None
    """A configuration of the seed design, as package.module:get_config."""
    goes_on: bool = False
    """The model is not asked for anew: it is the one the conversation is held with."""


class Partner(Protocol):
    """Who answers in one conversation."""

    def run_turn(self, text: str, emit: Emit) -> TurnResult:
        """Answer one message."""
        ...

    def retry(self, emit: Emit) -> TurnResult:
        """Answer the last message again."""
        ...

    def undo(self) -> Turn:
        """Take the last turn back."""
        ...

    def compact(self, *, instructions: str | None = None) -> FoldResult:
        """Fold what is not covered yet."""
        ...

    def context(self) -> Context:
        """Build what the model would see next."""
        ...


class Connected(Protocol):
    """A model that was chosen, and why it is this one."""

    @property
    def name(self) -> str:
        """Name it as it is shown and recorded."""
        ...

    @property
    def backend(self) -> str:
        """Name what it runs on."""
        ...

    @property
    def why(self) -> str:
        """Say why it is this one, in one line."""
        ...

    @property
    def limit_tokens(self) -> int:
        """Tell what a call may hold."""
        ...

    @property
    def is_toy(self) -> bool:
        """Tell whether it is the embedded model that is there to try things out."""
        ...

    @property
    def can_call_tools(self) -> bool:
        """Tell whether tools are of use to it."""
        ...

    @property
    def reference(self) -> str:
        """Name it so that it is found again: what the setting `model` takes."""
        ...

    @property
    def system_prompt(self) -> str | None:
        """Give the system prompt that its configuration brings; None when it brings none."""
        ...

    def load(self) -> None:
        """Bring the model into memory now, where that is this process's affair."""
        ...

    def partner(self, store: Store, conversation: Conversation, settings: Settings) -> Partner:
        """Build the one who answers in a conversation."""
        ...
