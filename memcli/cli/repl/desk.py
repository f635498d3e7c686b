"""What a slash command works with: the talk, the screen and the background load."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memcli.cli.busy import Early
from memcli.cli.partner import Connected, Partner
from memcli.cli.repl.loading import Loading
from memcli.cli.talk import Talk
from memcli.errors import NotFound
from memcli.records import Conversation

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


@dataclass(slots=True)
class Desk:
    """One REPL's talk and its screen."""

    talk: Talk
    console: Console
    loading: Loading
    early: Early = field(default_factory=Early)
    announced: str | None = None
    """The model that was last named on the screen."""

    def show(self, renderable: RenderableType) -> None:
        """Put something on the screen. It never enters the conversation."""
        self.console.print(renderable)

    def say(self, line: str, style: str = "dim") -> None:
        """Put one line on the screen."""
        from rich.text import Text

        self.console.print(Text(line, style))

    def begun(self) -> Conversation:
        """Give the conversation. Raises NotFound before it has begun."""
        conversation = self.talk.conversation
        if conversation is None:
            raise NotFound("nothing has been said yet", "say something first, or /resume a conversation")
        return conversation

    def connected(self, *, again: bool = False) -> Connected:
        """Give the model, waiting for it where it is still loading, and name it on first use, or again."""
        from rich.text import Text

        from memcli.cli.render.turn import TOY, model_line

        if not self.loading.is_done:
            with self.console.status(Text("loading the model…", "dim")):
                self.loading.wait()
        self.loading.check()
        connected = self.talk.connect()
        if again or self.announced != connected.name:
            is_first = self.announced is None
            self.announced = connected.name
            self.show(model_line(connected.name, connected.backend, connected.why))
            if connected.is_toy and is_first:
                self.say(TOY, "yellow")
        return connected

    def partner(self) -> Partner:
        """Give the one who answers; begins the conversation where there is none."""
        self.connected()
        return self.talk.partner()
