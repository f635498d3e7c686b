"""Talks with a scripted model, for the tests of `memcli chat`."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import StringIO
from typing import Literal

from rich.console import Console

from memcli.agent.models import ModelChoice
from memcli.cli.connecting import Connection
from memcli.cli.partner import Wanted
from memcli.cli.repl.desk import Desk
from memcli.cli.repl.loading import Loading
from memcli.cli.repl.loop import Repl
from memcli.cli.repl.registry import registry
from memcli.cli.repl.toolbar import Toolbar
from memcli.cli.session import writing
from memcli.cli.talk import Talk
from memcli.config import Settings
from memcli.errors import NotFound
from tests.agent.scripted import Reply, ScriptedChat, scripted

WHY = "the test says so"


def a_talk_with(chat: ScriptedChat, *, wanted: Wanted = Wanted(), can_call_tools: bool = True, **flags: object) -> Talk:  # noqa: B008
    """Begin a talk in which `chat` answers, whatever model is asked for; the model `nowhere` is not there."""

    def connect(settings: Settings, wanted: Wanted) -> Connection:
        if settings.model == "nowhere":
            raise NotFound("there is no model 'nowhere'", "there are: scripted")
        name = settings.model or "scripted"
        backend: Literal["embedded", "provider"] = "embedded" if name == "embedded" else "provider"
        limit = settings.limit_tokens or 8192
        return Connection(ModelChoice(name, backend, WHY, None, limit, can_call_tools, chat), wanted)

    return Talk(writing(**flags), wanted, connector=connect)  # type: ignore[arg-type]


@dataclass
class Screen:
    """A REPL without a terminal: what is typed is given, what is shown is text."""

    talk: Talk
    width: int = 100
    shown: StringIO = field(default_factory=StringIO)
    drafts: list[str] = field(default_factory=list)
    """What each prompt began with."""

    def __post_init__(self) -> None:
        console = Console(file=self.shown, width=self.width, markup=False, emoji=False, highlight=False)
        self.desk = Desk(self.talk, console, Loading(self.talk.connect))

    def type(self, *lines: str) -> str:
        """Type one text after another, then leave; give what was shown since."""
        left = list(lines)

        def ask(draft: str) -> str:
            self.drafts.append(draft)
            if not left:
                raise EOFError
            return left.pop(0)

        start = self.shown.tell()
        Repl(self.desk, ask, registry(), Toolbar(self.talk)).run()
        return self.shown.getvalue()[start:]


def a_screen(*replies: Reply, otherwise: Reply | None = None, width: int = 100, **flags: object) -> Screen:
    """Open a REPL whose model says these, one a call."""
    return Screen(a_talk_with(scripted(*replies, otherwise=otherwise), **flags), width)  # type: ignore[arg-type]
