"""Completed turns that have no summary yet, shown in full as far as a budget goes; and how a user's message is told.

They are there when a process died before its summaries were made, and when a conversation that was kept under Model A
is looked at under Model B. It refuses to know what stands for the other turns (`in_force`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from memcli.memory.clip import Shown, fit
from memcli.memory.context import Part
from memcli.memory.parts import message_part
from memcli.memory.recalls import rendered_message
from memcli.memory.spans import Spans
from memcli.records import StoredMessage
from memcli.store import Store

WHY = "this turn has no summary yet"
LONGEST_TURN = 2000
"""Messages of one turn that are read; a longer one is not shown."""


def pending_parts(store: Store, conversation_id: str, gap: Spans, max_tokens: int) -> list[Part]:
    """Show the newest turns within `gap`, whole turns only, oldest first; [] when not even the newest fits."""
    newest_first: list[list[Part]] = []
    for turn in _turns(store, conversation_id, gap, max_tokens):
        shown = _turn_within(turn, max_tokens)
        if not shown:
            break
        newest_first.append(shown)
        max_tokens -= sum(part.tokens for part in shown)
    return [part for parts in reversed(newest_first) for part in parts]


def with_line(part: Part) -> Part:
    """Put the metadata line before a message in a human's role, in the view."""
    message = part.message
    if message is None or message.role != "human":
        return part
    text = rendered_message(message, part.text)
    return replace(part, text=text, shown_text=text, tokens=part.tokens + line_tokens(message))


def line_tokens(message: StoredMessage) -> int:
    """Tell what a user's message takes more with its metadata line and escapes; 0 for every other message."""
    if message.role != "human":
        return 0
    return max(0, len(rendered_message(message, message.text)) - len(message.text)) // 4 + 1


def _turns(store: Store, conversation_id: str, gap: Spans, max_tokens: int) -> Iterator[list[StoredMessage]]:
    """Read the gap's turns from the newest back, each oldest message first; what is beyond the budget ends it."""
    turn: list[StoredMessage] = []
    used = 0
    for first, last in reversed(gap.pairs):
        for message in store.messages.newest_first(conversation_id, up_to=last, down_to=first):
            if turn and message.turn_id != turn[0].turn_id:
                yield turn[::-1]
                turn = []
            turn.append(message)
            used += message.tokens
            if used > max_tokens and len(turn) >= LONGEST_TURN:
                return
    if turn:
        yield turn[::-1]


def _turn_within(turn: Sequence[StoredMessage], max_tokens: int) -> list[Part]:
    """Show one turn, its tool results and then its answers clipped if need be; [] when it cannot fit."""
    readable = [message for message in turn if not message.is_excluded]
    room = max_tokens - sum(line_tokens(message) for message in readable)
    shown = [Shown.whole(message) for message in readable]
    for role in ("tool", "ai"):
        shown = fit(shown, room, (role,))
    if sum(item.tokens for item in shown) > room:
        return []
    parts = [with_line(message_part(item)) for item in shown]
    return [replace(part, why=WHY) if part.state == "verbatim" else part for part in parts]
