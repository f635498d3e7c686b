"""What Model A's running summary does not cover yet, and whether folding it is due.

It refuses to fold (`running` does), and loads nothing that folding needs: `memcli context` starts through here.
"""

from __future__ import annotations

from memcli.errors import ContextOverflow
from memcli.memory import window
from memcli.memory.context import Context, Policy, Request
from memcli.memory.due import Due
from memcli.memory.spans import Spans
from memcli.records import Conversation
from memcli.store import Store


def due(
    store: Store,
    conversation: Conversation,
    policy: Policy,
    request: Request | None = None,
    *,
    seen: Context | None = None,
) -> Due:
    """Tell whether the running summary is due. Reads a window's worth of rows, whatever the conversation's length.

    `seen` is the conversation's next context where the caller has it already: then the window is not read again.
    """
    head = store.summaries.head(conversation.id, "running")
    covered = head.last_message_id if head else 0
    last = foldable_up_to(store, conversation)
    humans = store.messages.humans_after(conversation.id, covered, at_most=policy.compact_every, up_to=last)
    reason = None
    if last > covered:
        if humans >= policy.compact_every:
            reason = f"{policy.compact_every} messages from the user since the last fold"
        elif policy.compact_on_overflow:
            try:
                seen = seen or window.context(store, conversation, policy, _at_rest(last, request))
                reason = _overflow(seen, last)
            except ContextOverflow as err:
                reason = f"the context does not fit: {err.message}"
    left = 0 if reason else max(0, policy.compact_every - humans)
    return Due(reason, humans, covered + 1, last, left)


def foldable_up_to(store: Store, conversation: Conversation) -> int:
    """Tell the last message a fold may cover: the ongoing turn is left alone."""
    last = store.turns.last(conversation.id)
    if last is None or last.status != "open":
        return conversation.last_message_id
    ongoing = store.messages.of_turn(conversation.id, last.id, excluded=True)
    return ongoing[0].id - 1 if ongoing else conversation.last_message_id


def _at_rest(last: int, request: Request | None) -> Request:
    return Request(last, None, request.tools_tokens if request else 0)


def _overflow(seen: Context, last: int) -> str | None:
    out = seen.ledger.forgotten & Spans.of([(1, last)])
    return f"{out.count} messages left the window uncovered" if out else None
