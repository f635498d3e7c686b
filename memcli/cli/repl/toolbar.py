"""The line below the prompt: the model, how full the context is, and when the next fold comes.

It reads the conversation when it is told to, not while it is drawn. It refuses to draw itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from memcli.cli.cleaning import clean_line
from memcli.cli.talk import Talk
from memcli.errors import ContextOverflow, MemcliError

LEAST_MODEL = 12
"""Columns the model's name has at least."""
LEAVE_HINT = "Ctrl-C again leaves"


@dataclass(frozen=True, slots=True)
class Gauge:
    """What the line says."""

    used_tokens: int
    limit_tokens: int
    turns_to_fold: int
    problem: str = ""
    """Stands for the numbers where there are none."""


class Toolbar:
    """The line as it was when the conversation was last read."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._gauge = Gauge(0, 0, 0)
        self.is_leaving = False
        """Whether one more Ctrl-C leaves."""

    def read(self) -> None:
        """Read how full the context is now. Raises nothing a user can cause: that becomes the line."""
        self._gauge = measure(self._talk)

    def text(self, width: int) -> str:
        """Write the line, as many columns as there are at most."""
        connected = self._talk.connected
        name = clean_line(connected.name) if connected is not None else "loading the model…"
        if connected is not None and connected.is_toy:
            name += " (toy)"
        return line(name, self._gauge, width, is_leaving=self.is_leaving)


def measure(talk: Talk) -> Gauge:
    """Read how full the context is now."""
    try:
        policy, conversation = talk.policy(), talk.conversation
        if conversation is None:
            return Gauge(0, policy.limit_tokens, policy.compact_every)
        from memcli.memory.context import Request
        from memcli.memory.model import memory_of

        tools = conversation.settings.get("tools_tokens")
        request = Request(tools_tokens=tools if isinstance(tools, int) else 0)
        memory = memory_of(talk.memory)
        context = memory.context(talk.store, conversation, policy, request)
        due = memory.due(talk.store, conversation, policy, request)
    except ContextOverflow:
        return Gauge(0, 0, 0, "the context does not fit its limit")
    except MemcliError as err:
        return Gauge(0, 0, 0, clean_line(err.message))
    return Gauge(context.prompt_tokens, policy.limit_tokens, 0 if due.reason else due.turns_left)


def line(name: str, gauge: Gauge, width: int, *, is_leaving: bool) -> str:
    """Lay the line out: the numbers whole, and of the model's name what fits beside them."""
    if is_leaving:
        return f" {LEAVE_HINT}"
    if gauge.problem:
        numbers = gauge.problem
    else:
        share = f"{gauge.used_tokens / max(gauge.limit_tokens, 1):.0%}"
        turns = f"{gauge.turns_to_fold} turn{'' if gauge.turns_to_fold == 1 else 's'}"
        fold = f"fold in {turns}" if gauge.turns_to_fold else "fold due"
        numbers = f"context {gauge.used_tokens:,} / {gauge.limit_tokens:,} ({share}) · {fold}"
    room = max(width - len(numbers) - 5, LEAST_MODEL)
    shown = name if len(name) <= room else f"{name[: room - 1]}…"
    return f" {shown} · {numbers}"[:width]
