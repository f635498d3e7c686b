"""Which conversation changed most recently, by counting changes: clocks go back, a count does not."""

from __future__ import annotations

from memcli.store.engine import Engine

NEXT_CHANGE = "(select coalesce(max(changed), 0) + 1 from conversations)"
"""The number a new conversation gets."""


def note_change(engine: Engine, conversation_id: str) -> None:
    """Make a conversation the most recently changed one; costs nothing when it is that already."""
    engine.execute(_NOTE, (conversation_id,))


_NOTE = (
    f"update conversations set changed = {NEXT_CHANGE} where id = ?"
    " and changed < (select max(changed) from conversations)"
)
