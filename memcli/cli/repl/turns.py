"""One turn in the REPL: shown while it happens, and how it ended said in a line. It refuses to know how it is run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from memcli.cli.busy import busy
from memcli.cli.partner import Partner
from memcli.cli.repl.desk import Desk

if TYPE_CHECKING:
    from memcli.agent.agent import TurnResult
    from memcli.agent.stream import Emit

Act = Callable[[Partner, "Emit"], "TurnResult"]


def show_turn(desk: Desk, act: Act) -> None:
    """Run a turn and show it. Raises what makes storing impossible, and KeyboardInterrupt before it has begun."""
    with busy():
        desk.early.heed()
        partner = desk.partner()
        try:
            result = _watched(desk, partner, act)
        except KeyboardInterrupt:
            desk.say("interrupted while the turn was put away; /history shows what is stored", "yellow")
            return
    _tell_end(desk, result)


def _watched(desk: Desk, partner: Partner, act: Act) -> TurnResult:
    from memcli.cli.live import LiveView

    view = LiveView(desk.console, desk.show)
    desk.console.print()
    view.begin()
    try:
        return act(partner, view.take)
    finally:
        view.end()


def _tell_end(desk: Desk, result: TurnResult) -> None:
    from memcli.cli.render.turn import error_lines

    if result.error is not None:
        desk.show(error_lines(result.error))
    if result.status == "interrupted":
        kept = "what is above is kept and marked as cut off" if result.answer else "no answer had arrived"
        desk.say(f"interrupted: {kept}; /retry asks again, /undo takes the turn back", "yellow")
    elif result.status == "failed":
        desk.say("your message is stored, outside the memory; /retry sends it again", "yellow")
    elif not result.answer.strip():
        desk.say("the model answered nothing; /retry asks again", "yellow")
    desk.console.print()
