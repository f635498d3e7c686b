"""`memcli context --compare KEY=VALUE`: one conversation under several policies, side by side. Nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memcli.cli.alternatives import alternatives
from memcli.cli.asked import Asked
from memcli.cli.outlet import Outlet
from memcli.cli.picture import next_request
from memcli.cli.session import Session
from memcli.memory.context import Context, Policy
from memcli.memory.estimate import Estimate, estimate
from memcli.memory.spans import Spans
from memcli.memory.whatif import Outcome, compare
from memcli.records import Conversation, MemoryModel
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


def show_compare(
    session: Session, conversation: Conversation, memory: MemoryModel, asked: Asked, outlet: Outlet
) -> None:  # fmt: skip
    """Show what is in force, and beside it each policy that is asked about."""
    listed = alternatives(session, conversation, memory, asked.compare)
    request = next_request(session.store, conversation)
    shown = sides(session.store, conversation, compare(session.store, conversation, listed, request))
    if outlet.as_json:
        outlet.write(
            {"conversation": conversation.id, "name": conversation.name, "sides": [_side_json(side) for side in shown]}
        )
        return
    from memcli.cli.render.compare import CompareView

    view = CompareView(conversation, shown, outlet.detail)
    outlet.show(view, title=f"memcli context --compare {' '.join(asked.compare)}")


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


def _side_json(side: Side) -> Mapping[str, object]:
    outcome, context = side.outcome, side.context
    policy, due = outcome.alternative.policy, outcome.due
    body: dict[str, object] = {
        "label": side.label,
        "memory": outcome.alternative.memory,
        "model": outcome.alternative.model or None,
        "policy": policy_json(policy),
        "fits": context is not None,
        "overflow": None,
        "next_fold": {"reason": due.reason, "user_messages_left": due.turns_left} if due is not None else None,
    }
    if outcome.overflow is not None:
        needed, available = outcome.overflow.needed_tokens, outcome.overflow.available_tokens
        body["overflow"] = {
            "message": outcome.overflow.message, "needed_tokens": needed, "available_tokens": available,
        }  # fmt: skip
    return body if context is None or side.estimate is None else {**body, **_context_json(side, context, side.estimate)}


def _context_json(side: Side, context: Context, known: Estimate) -> Mapping[str, object]:
    ledger = context.ledger
    return {
        "tokens": context.tokens,
        "prompt_tokens": context.prompt_tokens,
        "estimate": {"tokens": known.tokens, "method": known.method},
        "sources": dict(side.outcome.tokens_by_source),
        "messages": {
            "total": ledger.total,
            "verbatim": ledger.verbatim.count,
            "clipped": ledger.clipped.count,
            "summarised": ledger.summarised.count,
            "forgotten": ledger.forgotten.count,
            "excluded": ledger.excluded.count,
        },
        "forgotten": [[first, last] for first, last in ledger.forgotten],
        "newly_forgotten": [[first, last] for first, last in side.newly_forgotten],
        "out_of_context_tokens": {"summarised": side.summarised_tokens, "forgotten": side.forgotten_tokens},
        "departures": list(context.departures),
    }


def policy_json(policy: Policy) -> Mapping[str, object]:
    """Describe a policy by the names of its settings."""
    return {
        "max_tokens": policy.max_tokens,
        "limit_tokens": policy.limit_tokens,
        "output_reserve": policy.output_reserve,
        "compact_every": policy.compact_every,
        "compact_on_overflow": policy.compact_on_overflow,
        "window_step": policy.window_step,
        "max_summaries": policy.max_summaries,
        "on_full": policy.on_full,
    }
