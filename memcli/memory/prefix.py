"""How much of a prompt a server need not evaluate again: what it has in common with the one before, from its beginning.

Local servers keep the longest unchanged prefix of the previous prompt. It refuses to know how a window is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from memcli.memory.context import Context
from memcli.memory.estimate import FRAME_TOKENS, message_estimate, spoken, wire_estimate
from memcli.memory.tokens import estimate_tokens
from memcli.memory.wire import WireMessage, wire


@dataclass(frozen=True, slots=True)
class Reuse:
    """How two prompts that follow one another share their beginning, in estimated tokens."""

    shared_tokens: int
    total_tokens: int
    """What the second prompt takes."""

    @property
    def share(self) -> float:
        """Tell the share of the second prompt that need not be evaluated again, 0 to 1; 0 for an empty prompt."""
        return self.shared_tokens / self.total_tokens if self.total_tokens else 0.0


def reuse(before: Context, after: Context) -> Reuse:
    """Compare the prompts of two contexts. The tools' schemas stand before the messages and are left out."""
    messages = wire(after)
    return Reuse(reusable_tokens(wire(before), messages), wire_estimate(messages))


def reusable_tokens(before: Sequence[WireMessage], after: Sequence[WireMessage]) -> int:
    """Estimate what the second prompt has in common with the first: whole messages, and the beginning of the next."""
    pairs = zip(before, after, strict=False)
    same = [new for _, new in takewhile(lambda pair: _sent(pair[0]) == _sent(pair[1]), pairs)]
    shared = sum(message_estimate(message) for message in same)
    if len(same) == min(len(before), len(after)):
        return shared
    old, new = before[len(same)], after[len(same)]
    if old.role != new.role:
        return shared
    common = _common_length(spoken(old), spoken(new))
    return shared + (FRAME_TOKENS // 2 + estimate_tokens(spoken(new)[:common]) if common else 0)


def _sent(message: WireMessage) -> tuple[object, ...]:
    return message.role, spoken(message), message.tool_call_id, message.name


def _common_length(one: str, other: str) -> int:
    """Count the characters two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
