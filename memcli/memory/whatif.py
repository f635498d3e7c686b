"""One conversation under several policies, side by side, without changing anything.

A policy is told as `KEY=VALUE`, several of them separated by commas, with the names and checks of the settings. It
refuses to know models: what a model can carry is asked of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from memcli.config import Settings, parse
from memcli.errors import ContextOverflow, UsageError
from memcli.memory.context import Context, Policy, Request
from memcli.memory.due import Due
from memcli.memory.model import memory_of
from memcli.records import Conversation, MemoryModel
from memcli.store import Store

SHORT_NAMES = {"limit": "limit_tokens", "step": "window_step"}
"""What a setting may also be called in `KEY=VALUE`."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A memory model and a policy to look at a conversation under."""

    label: str
    memory: MemoryModel
    policy: Policy
    model: str = ""
    """The model whose tokenizer counts; "" where none is known."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a conversation's next context would be under one policy, with the summaries there are now."""

    alternative: Alternative
    context: Context | None
    """None when what must be in it does not fit the limit."""
    due: Due | None
    """Whether something would be folded at once."""
    overflow: ContextOverflow | None = None

    @property
    def tokens_by_source(self) -> tuple[tuple[str, int], ...]:
        """Add up the parts by source, in the order the model sees them; () without a context."""
        parts = self.context.parts if self.context else ()
        sources = dict.fromkeys(part.source for part in parts)
        return tuple((source, sum(part.tokens for part in parts if part.source == source)) for source in sources)


def alternative(
    text: str,
    settings: Settings,
    memory: MemoryModel,
    *,
    limit_of: Callable[[Settings], int],
) -> Alternative:
    """Read `max_tokens=1000,memory=turns` as changes to what is in force.

    `settings` and `memory` are in force now; `limit_of` tells the limit that settings come to, asked of the model where
    it is not set. An empty text is what is in force. Raises UsageError naming what is wrong and what is accepted.
    """
    changed = settings
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        key, separator, value = (word.strip() for word in piece.partition("="))
        if not separator or not key:
            raise UsageError(f"--compare {piece!r} is not KEY=VALUE", "try --compare max_tokens=1000")
        name = SHORT_NAMES.get(key, key).replace("-", "_")
        changed = replace(changed, **{name: parse(name, value, "--compare")})  # type: ignore[arg-type]
        if name == "memory":
            memory = cast("MemoryModel", changed.memory)
    policy = Policy.of(changed, limit_tokens=limit_of(changed))
    return Alternative(text.strip() or "as it is", memory, policy, changed.model)


def compare(
    store: Store, conversation: Conversation, alternatives: Sequence[Alternative], request: Request | None = None
) -> list[Outcome]:
    """Build the conversation's next context under each policy, in order. Nothing is written, no model is called."""
    return [_outcome(store, conversation, item, request or Request()) for item in alternatives]


def _outcome(store: Store, conversation: Conversation, item: Alternative, request: Request) -> Outcome:
    memory = memory_of(item.memory)
    try:
        context = memory.context(store, conversation, item.policy, request)
    except ContextOverflow as err:
        return Outcome(item, None, memory.due(store, conversation, item.policy, request), err)
    return Outcome(item, context, memory.due(store, conversation, item.policy, request))
