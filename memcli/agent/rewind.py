"""Taking turns back: the rows stay, marked; everything derived from them is put out of force. It runs no model."""

from __future__ import annotations

from memcli.errors import NotFound
from memcli.memory.model import forget_turn
from memcli.records import Turn
from memcli.store import Store


def rewind_turn(store: Store, conversation_id: str, *, keep_user_message: bool = False) -> Turn:
    """Take the last turn back, with the summaries made from it or since it began, and the plan it changed.

    With `keep_user_message` the turn stays with that message alone, and can be run again. Raises NotFound without a
    turn. Source: the OpenDataSci design's rewind.
    """
    turn = store.turns.last(conversation_id, counted=True)
    if turn is None:
        raise NotFound("there is no turn to undo", "the conversation is empty")
    with store.transaction(durable=True):
        forget(store, turn)
        store.turns.close(conversation_id, turn.id, "rewound")
        if keep_user_message:
            store.turns.reopen(conversation_id, turn.id)
            store.turns.close(conversation_id, turn.id, "interrupted")
    return turn


def reopen_turn(store: Store, turn: Turn) -> None:
    """Make the last turn ready to run again: what its earlier attempt left is excluded, the user's message is not."""
    with store.transaction(durable=True):
        forget(store, turn)
        store.turns.close(turn.conversation_id, turn.id, "failed")
        store.turns.reopen(turn.conversation_id, turn.id)


def forget(store: Store, turn: Turn) -> None:
    """Put everything derived from the last turn out of force. Part of the transaction that takes it back."""
    forget_turn(store, turn.conversation_id, turn.id)
    _restore_plan(store, turn)


def _restore_plan(store: Store, turn: Turn) -> None:
    """Put the plan from before the turn in force again if the turn changed it; what a person did since stays."""
    versions = store.plans.list(turn.conversation_id)
    if not versions or versions[0].created_at < turn.started_at:
        return
    if turn.ended_at is not None and versions[0].created_at > turn.ended_at:
        return
    earlier = next((plan for plan in versions if plan.created_at < turn.started_at), None)
    store.plans.save(
        turn.conversation_id, earlier.text if earlier else "", created_at=earlier.created_at if earlier else None
    )
