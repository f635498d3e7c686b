"""Shortening messages in the view: the store keeps the whole, the view shows head, tail and a marker with its id.

It refuses to know which messages are in a window; `window` and `turns` ask it to make some fit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from memcli.memory.tokens import count_message_tokens
from memcli.records import Role, StoredMessage

LEAST_CLIP_TOKENS = 40
"""A clipped message is never shorter: its marker, and enough of its head and tail to tell what it was."""
HEAD_SHARE = 0.7
"""The share of a clipped text's characters that come from its beginning."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A message as a view shows it."""

    message: StoredMessage
    tokens: int
    clipped_text: str | None = None
    """None means whole."""

    @classmethod
    def whole(cls, message: StoredMessage) -> Shown:
        """Show a message as it is."""
        return cls(message, message.tokens)


def fit(
    shown: Sequence[Shown], max_tokens: int, roles: tuple[Role, ...], *, but: Collection[int] = ()
) -> list[Shown]:  # fmt: skip
    """Clip the largest messages of these roles, all to one level, until the whole fits or nothing more can be cut.

    The level is the highest that fits, so that no small message is cut before a large one. `but` names by their ids
    what is never cut.
    """
    if sum(item.tokens for item in shown) <= max_tokens:
        return list(shown)
    can_be_cut = {item.message.id for item in shown if item.message.role in roles and item.message.id not in but}
    sizes = [item.tokens for item in shown if item.message.id in can_be_cut]
    low, high = LEAST_CLIP_TOKENS, max(sizes, default=LEAST_CLIP_TOKENS)
    while low < high:
        level = (low + high + 1) // 2
        cut = (min(item.tokens, level) if item.message.id in can_be_cut else item.tokens for item in shown)
        if sum(cut) <= max_tokens:
            low = level
        else:
            high = level - 1
    return [clip(item, low) if item.message.id in can_be_cut and item.tokens > low else item for item in shown]


def clip(shown: Shown, max_tokens: int) -> Shown:
    """Shorten one message to at most this many tokens; one that asks for tools keeps its calls and is left as it is.

    A message whose text is not what makes it large is left as it is too.
    """
    message = shown.message
    if message.tool_calls:
        return shown
    left_out = max(message.tokens - max_tokens, 1)
    marker = f"\n[… about {left_out:,} tokens of #{message.id} left out; recall finds them …]\n"
    characters = (max_tokens - _frame_tokens(message)) * 4 - len(marker)
    if characters <= 0 or len(message.text) <= characters:
        return shown
    head = int(characters * HEAD_SHARE)
    text = message.text[:head] + marker + message.text[len(message.text) - (characters - head) :]
    return replace(shown, tokens=_tokens(message, text), clipped_text=text)


def _tokens(message: StoredMessage, text: str) -> int:
    name = message.data.get("name")
    return count_message_tokens(
        role={"human": "user", "ai": "assistant"}.get(message.role, message.role),
        content=text,
        name=name if isinstance(name, str) else None,
        tool_call_id=message.tool_call_id,
    )


def _frame_tokens(message: StoredMessage) -> int:
    return _tokens(message, "") + 1
