"""The parts of a context that both memory models put in it: system prompt, tools, plan, the ongoing turn.

It refuses to know how the rest of the history is represented; `window` and `turns` do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from memcli.errors import ContextOverflow
from memcli.memory.clip import Shown, fit
from memcli.memory.context import Part, Request, system_tokens
from memcli.records import Conversation, StoredMessage
from memcli.store import Store


def system_parts(store: Store, conversation: Conversation, last_id: int | None = None) -> list[Part]:
    """Describe the system prompt: the conversation's own, else a leading system message; [] without either.

    `last_id` is the last message that exists for the context; None means all do.
    """
    if conversation.system_prompt:
        text = conversation.system_prompt
        return [Part("system", system_tokens(text), "the conversation's system prompt", text)]
    lead = store.messages.leading_system(conversation.id)
    if lead is None or (last_id is not None and lead.id > last_id):
        return []
    return [
        Part(
            "system",
            lead.tokens,
            "its first message is a system message",
            lead.text,
            lead.id,
            lead.id,
            "verbatim",
            lead,
        )
    ]


def tools_parts(request: Request) -> list[Part]:
    """Describe the tools' schemas as a part; [] without tools."""
    if not request.tools_tokens:
        return []
    return [Part("tools", request.tools_tokens, "the tools' schemas go along with every call", request.tools_text)]


def ongoing_turn(store: Store, conversation_id: str, request: Request) -> list[StoredMessage]:
    """Read the ongoing turn as far as the request goes, oldest first; [] when none is under way."""
    if request.coming is not None:
        return [request.coming]
    if request.turn_id is None:
        return []
    turn: list[StoredMessage] = []
    for message in store.messages.newest_first(conversation_id, up_to=request.up_to):
        if message.turn_id is not None and message.turn_id < request.turn_id:
            break
        if message.turn_id == request.turn_id and not message.is_excluded:
            turn.append(message)
    return turn[::-1]


def fit_turn(turn: list[StoredMessage], available: int, pins: Iterable[StoredMessage] = ()) -> list[Shown]:
    """Make the ongoing turn fit: its tool results are clipped, the user's message and what is pinned never.

    Raises ContextOverflow naming what is needed and what is available.
    """
    shown = fit([Shown.whole(message) for message in turn], available, ("tool",), but={item.id for item in pins})
    needed = sum(item.tokens for item in shown)
    if needed > max(available, 0) or (available < 0 and not turn):
        what = "the message" if len(turn) == 1 else "this turn" if turn else "what is always sent"
        raise ContextOverflow(
            what, max(needed, -available if not turn else needed), max(available, 0),
            "shorten it, raise --limit-tokens, or lower --output-reserve",
        )  # fmt: skip
    return shown


def turn_part(item: Shown) -> Part:
    """Describe one message of the ongoing turn."""
    is_first_human = item.message.role == "human"
    why = "the new message" if is_first_human else "the ongoing turn is always in full"
    part = message_part(item)
    return replace(part, source="new" if is_first_human else "message", why=why if not item.clipped_text else part.why)


def ids_of(parts: Iterable[Part]) -> set[int]:
    """Collect the ids of the messages that parts show themselves, whole or clipped."""
    return {part.message.id for part in parts if part.message is not None}


def message_part(item: Shown) -> Part:
    """Describe one message of the verbatim history, whole or clipped."""
    message = item.message
    if item.clipped_text is None:
        why, state = "within the newest messages of the window", "verbatim"
    else:
        why, state = f"clipped from {message.tokens:,} tokens to fit", "clipped"
    return Part(
        "message", item.tokens, why, item.clipped_text or message.text, message.id, message.id,
        "clipped" if state == "clipped" else "verbatim", message, item.clipped_text,
    )  # fmt: skip


def units_of(messages: list[StoredMessage]) -> list[list[StoredMessage]]:
    """Group messages into units: an AI message with calls and the tool results behind it, or one message alone."""
    units: list[list[StoredMessage]] = []
    for message in messages:
        if message.role == "tool" and units and (units[-1][0].tool_calls or units[-1][-1].role == "tool"):
            units[-1].append(message)
        else:
            units.append([message])
    return units
