"""The policy one conversation is kept under: what was said for this run, else its own, else defaults.

It refuses to know what a policy does.
"""

from __future__ import annotations

from dataclasses import fields, replace

from memcli.config import DEFAULT_LIMIT_TOKENS, Resolved, Settings, parse
from memcli.memory.context import Policy
from memcli.records import Conversation


def settings_for(resolved: Resolved, conversation: Conversation) -> Settings:
    """Put the conversation's own settings under what a flag, the environment or a file says, and over the defaults.

    The model is the one it is held with, unless it was imported: such a model may be nowhere near. Raises
    UsageError for a value that cannot be.
    """
    own: dict[str, object] = {}
    if conversation.model and conversation.source is None:
        own["model"] = conversation.model
    known = {setting.name for setting in fields(Settings)}
    where = f"conversation {conversation.name or conversation.id[:8]}"
    for name, value in conversation.settings.items():
        if name in known:
            own[name] = parse(name, value, where)
    implied = {name: value for name, value in own.items() if resolved.came_from(name) == "default"}
    return replace(resolved.settings, **implied)  # type: ignore[arg-type]


def policy_for(resolved: Resolved, conversation: Conversation) -> Policy:
    """Make the policy; the limit is the one set, or the one the conversation's last chat recorded, or the default."""
    settings = settings_for(resolved, conversation)
    return Policy.of(settings, limit_tokens=settings.limit_tokens or DEFAULT_LIMIT_TOKENS)
