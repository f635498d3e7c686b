"""The policies a command line puts side by side: what is in force first, then one for each KEY=VALUE.

It refuses to know what a context would be under them. Only a policy that names another model asks that model's server,
for what it can carry.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from memcli.cli.policy import settings_for
from memcli.cli.session import Session
from memcli.config import DEFAULT_LIMIT_TOKENS, Settings
from memcli.memory.whatif import Alternative, alternative
from memcli.records import Conversation, MemoryModel

AS_IT_IS = "as it is"


def alternatives(
    session: Session, conversation: Conversation, memory: MemoryModel, texts: Sequence[str]
) -> list[Alternative]:  # fmt: skip
    """Read every KEY=VALUE,… as a change to what is in force, which stands first.

    Raises UsageError for a key or a value that is not known, and for another model what choosing it raises.
    """
    settings = settings_for(session.resolved, conversation)
    asked = settings.limit_tokens if session.resolved.came_from("limit_tokens") != "default" else 0
    limit_of = _limit_of(settings.model, settings.limit_tokens, asked)
    return [alternative(text, settings, memory, limit_of=limit_of) for text in ("", *texts)]


def _limit_of(model: str, limit_tokens: int, asked: int) -> Callable[[Settings], int]:
    """Tell the limit settings come to: what they say, else what their model can carry where it is another."""

    def limit_of(changed: Settings) -> int:
        if changed.model == model or changed.limit_tokens != limit_tokens:
            return changed.limit_tokens or DEFAULT_LIMIT_TOKENS
        from memcli.agent.models import choose

        return choose(replace(changed, limit_tokens=asked), os.environ).limit_tokens

    return limit_of
