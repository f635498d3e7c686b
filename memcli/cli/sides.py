"""What policies come to, side by side: each outcome with the numbers that set it apart from the first.

It refuses to know how they are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memcli.memory.context import Context
from memcli.memory.estimate import Estimate, estimate
from memcli.memory.spans import Spans
from memcli.memory.whatif import Outcome
from memcli.records import Conversation
from memcli.store import Store


@dataclass(frozen=True, slots=True)
class Side:
    """What one policy comes to, with the numbers around it."""

    outcome: Outcome
    estimate: Estimate | None
    """None where the context does not fit."""
    forgotten_tokens: int
    summarised_tokens: int
    newly_forgotten: Spans
    """What it forgets, and the first of the sides does not."""

    @property
    def label(self) -> str:
        """Name it by what it changes."""
        return self.outcome.alternative.label

    @property
    def context(self) -> Context | None:
        """Give its context; None where it does not fit."""
        return self.outcome.context


def sides(store: Store, conversation: Conversation, outcomes: Sequence[Outcome]) -> tuple[Side, ...]:
    """Gather the numbers around every outcome; the first one is what the others are compared with."""
    first = outcomes[0].context
    known = first.ledger.forgotten if first is not None else Spans()
    return tuple(_side(store, conversation, outcome, known) for outcome in outcomes)


def _side(store: Store, conversation: Conversation, outcome: Outcome, known: Spans) -> Side:
    context = outcome.context
    if context is None:
        return Side(outcome, None, 0, 0, Spans())
    model = outcome.alternative.model or conversation.model
    forgotten, summarised = context.ledger.forgotten, context.ledger.summarised
    return Side(
        outcome,
        estimate(store, context, model),
        store.messages.token_sum(conversation.id, forgotten),
        store.messages.token_sum(conversation.id, summarised),
        forgotten - known,
    )
