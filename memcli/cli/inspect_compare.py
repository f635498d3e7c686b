"""`memcli context --compare KEY=VALUE`: one conversation under several policies, side by side. Nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping

from memcli.cli.alternatives import alternatives
from memcli.cli.asked import Asked
from memcli.cli.ledger_json import counts_json, pairs
from memcli.cli.outlet import Outlet
from memcli.cli.picture import next_request
from memcli.cli.session import Session
from memcli.cli.sides import Side, sides
from memcli.memory.context import Context, Policy
from memcli.memory.estimate import Estimate
from memcli.memory.whatif import compare
from memcli.records import Conversation, MemoryModel


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
        "messages": counts_json(ledger),
        "forgotten": pairs(ledger.forgotten),
        "newly_forgotten": pairs(side.newly_forgotten),
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
