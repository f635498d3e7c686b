"""The plan in force, as a context holds it: bounded, so that no plan can keep a conversation from fitting its limit."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from memcli.memory.context import Part, system_tokens
from memcli.memory.tokens import CHARACTERS_PER_TOKEN
from memcli.records import Plan
from memcli.store import Store

MAX_PLAN_TOKENS = 500
"""The most of a plan that is shown; the store keeps the whole."""
PLAN_HEADING = "The current plan:"


def current_plan(store: Store, conversation_id: str, as_of: datetime | None = None) -> Plan | None:
    """Read the plan in force, clipped to what a context shows; None without one. `as_of` asks for the one of then."""
    versions = store.plans.list(conversation_id, limit=1 if as_of is None else None)
    plan = next((item for item in versions if as_of is None or item.created_at <= as_of), None)
    if plan is None or not plan.text.strip():
        return None
    from memcli.memory.text import clip

    return replace(plan, text=clip(plan.text, MAX_PLAN_TOKENS * CHARACTERS_PER_TOKEN))


def plan_parts(store: Store, conversation_id: str, as_of: datetime | None = None) -> list[Part]:
    """Describe the plan as a part of the system message; [] without one. Model B tells it as a message instead."""
    plan = current_plan(store, conversation_id, as_of)
    if plan is None:
        return []
    text = f"{PLAN_HEADING}\n{plan.text}"
    return [Part("plan", system_tokens(text), "the plan in force", text)]
