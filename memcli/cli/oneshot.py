"""One turn and out: the answer on standard output, everything else on standard error, the outcome as an exit code.

It refuses to know how a turn is run.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text

from memcli.cli.busy import busy
from memcli.cli.output import ReportedError, document, error_body
from memcli.cli.partner import Connected
from memcli.cli.talk import Talk
from memcli.cli.terminal import Terminal
from memcli.cli.views import PlainView, View
from memcli.errors import Interrupted, MemcliError, UsageError

if TYPE_CHECKING:
    from memcli.agent.agent import TurnResult
    from memcli.agent.events import CallFinished, Event


def one_turn(talk: Talk, text: str, *, as_json: bool) -> None:
    """Say one thing and show the answer.

    Raises the turn's error, or Interrupted, after the part of the answer that had arrived was shown.
    """
    terminal = talk.session.terminal
    is_first = talk.conversation_id is None
    connected = talk.connect()
    announce(terminal, connected, is_first=is_first)
    partner = talk.partner()
    shown = _Shown(terminal, _view(terminal, as_json=as_json))
    with busy(), shown:
        result = partner.run_turn(text, shown.take)
    if shown.broken is not None:
        raise shown.broken
    error = _error(result) or shown.alarm
    if error is None and not result.answer.strip():
        note(terminal, Text("the model answered nothing", "yellow"))
    if as_json:
        body = _body(talk, connected, result, shown.call)
        terminal.write(document({**body, "error": error_body(error)} if error else body))
        if error is not None:
            raise ReportedError(error.exit_code)
    if error is not None:
        raise error


def announce(terminal: Terminal, connected: Connected, *, is_first: bool) -> None:
    """Say on standard error which model answers, through which backend, and why; on first use also what a toy is."""
    from memcli.cli.render.turn import TOY, model_line

    note(terminal, model_line(connected.name, connected.backend, connected.why))
    if connected.is_toy and is_first:
        note(terminal, Text(TOY, "yellow"))


def note(terminal: Terminal, text: Text) -> None:
    """Say one line beside the answer, on standard error; silent with --quiet."""
    if not terminal.is_quiet:
        terminal.err.print(text, soft_wrap=not terminal.err.is_terminal)


def piped_text() -> str:
    """Read what is piped into this process; "" when nothing is. Bytes that are no text are replaced."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return ""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, io.UnsupportedOperation):
        return sys.stdin.read()
    if stat.S_ISCHR(mode) or stat.S_ISDIR(mode):
        return ""
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def said(message: str | None, piped: str) -> str:
    """Put together what is said: the message is the instruction, what was piped is its context."""
    parts = [part for part in ((message or "").strip(), piped.strip()) if part]
    if not parts:
        raise UsageError("there is nothing to say: the message is empty", 'run `memcli chat "your question"`')
    return "\n\n".join(parts)


@dataclass(slots=True)
class _Shown:
    """Follow one turn: the answer goes to standard output as it comes, the rest to standard error."""

    terminal: Terminal
    view: View
    call: CallFinished | None = None
    alarm: MemcliError | None = None
    """What the server did to a prompt; the answer there is, is shown all the same."""
    broken: OSError | None = None
    """Why standard output takes no more. The turn is finished and stored all the same."""

    def __enter__(self) -> None:
        self.view.begin()

    def __exit__(self, *_: object) -> None:
        self._guarded(self.view.end)

    def take(self, event: Event) -> None:
        from memcli.agent.events import Alarmed, CallFinished

        if isinstance(event, Alarmed):
            self.alarm = self.alarm or event.error
            return
        if isinstance(event, CallFinished):
            self.call = event
        self._guarded(partial(self.view.take, event))

    def _guarded(self, show: Callable[[], None]) -> None:
        """Keep a reader who left, or a full disk, from ending the turn: the answer is stored first."""
        if self.broken is not None:
            return
        try:
            show()
        except OSError as err:
            self.broken = err


def _view(terminal: Terminal, *, as_json: bool) -> View:
    if as_json or terminal.is_piped:
        return PlainView(None if as_json else terminal.write, lambda text: note(terminal, text))
    from memcli.cli.live import LiveView

    return LiveView(terminal.out, lambda text: note(terminal, text))


def _error(result: TurnResult) -> MemcliError | None:
    if result.error is not None:
        return result.error
    if result.status == "interrupted":
        kept = "what had arrived of the answer is kept" if result.answer else "nothing of the answer had arrived"
        return Interrupted(f"interrupted; {kept}")
    return None


def _body(talk: Talk, connected: Connected, result: TurnResult, call: CallFinished | None) -> Mapping[str, object]:
    return {
        "conversation": talk.conversation_id,
        "turn": result.turn_id,
        "answer": result.answer,
        "status": result.status,
        "model": connected.name,
        "backend": connected.backend,
        "why": connected.why,
        "input_tokens": call.input_tokens if call else None,
        "output_tokens": call.output_tokens if call else None,
        "finish_reason": call.finish_reason if call else None,
        "call": call.call_id if call else None,
    }
