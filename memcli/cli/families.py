"""Conversations under the ones they come from: forks, and what sub-agents were given to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memcli.records import Conversation
from memcli.store import Store


@dataclass(frozen=True, slots=True)
class Member:
    """One conversation and how deep it stands under the first of its family."""

    conversation: Conversation
    depth: int


def families(conversations: Sequence[Conversation]) -> list[Member]:
    """Put each conversation behind its parent where that is among them, the oldest child first; the rest as given."""
    known = {item.id for item in conversations}
    below: dict[str | None, list[Conversation]] = {}
    for item in reversed(conversations):
        parent = item.parent_id if item.parent_id in known else None
        below.setdefault(parent, []).append(item)
    return _placed([(item, 0) for item in reversed(below.get(None, []))], below)


def descendants(store: Store, conversation: Conversation) -> list[Member]:
    """List a conversation and everything that comes from it, however deep. Reads one list a member."""
    below: dict[str | None, list[Conversation]] = {}
    waiting = [conversation]
    while waiting:
        parent = waiting.pop()
        below[parent.id] = store.conversations.list(parent_id=parent.id)[::-1]
        waiting += below[parent.id]
    return _placed([(conversation, 0)], below)


def _placed(roots: Sequence[tuple[Conversation, int]], below: dict[str | None, list[Conversation]]) -> list[Member]:
    waiting = list(reversed(roots))
    placed: list[Member] = []
    while waiting:
        item, depth = waiting.pop()
        placed.append(Member(item, depth))
        waiting += [(child, depth + 1) for child in reversed(below.get(item.id, []))]
    return placed
