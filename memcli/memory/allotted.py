"""Whether a prompt outgrew what its server allots, told from what the server says of itself and what it counted.

A server cuts a prompt that does not fit in one of these ways, and each leaves a count of its own:

    messages   the oldest go, one by one, until the rest fits: what is left lacks no more than the one that went last
    text       the oldest tokens go until what is left fits exactly
    half       of the text, as much is left as half of what fits

Where the count is none of these and near the estimate, the prompt was read whole. Within a message or two of what fits,
nobody can tell a whole prompt from a cut one; it is told as cut, for there is no room for an answer either.
Source: Ollama's server/prompt.go, its runners' `truncating input prompt`, and its issue 17889.
It refuses to know how one learns what a server allots, and what is said of it (`alarm`).
"""

from __future__ import annotations

from collections.abc import Iterator

from memcli.memory.context import Context
from memcli.memory.estimate import message_estimate, spoken, tools_estimate
from memcli.memory.tokens import foreign_tokens
from memcli.memory.wire import WireMessage, wire

MOST_LATIN = 1.5
"""The most that a tokenizer makes of a prompt's estimate in Latin script, with room for what a template adds."""
MOST_FOREIGN = 3.0
"""The same in other scripts, which small vocabularies spell out in bytes."""
DEARER_MESSAGE = 1.5
"""How much dearer one message may be than the others by its estimate: JSON among prose."""
NEARLY = 0.9
"""The least share of what is allotted that a prompt comes to, by our estimate, when it does not fit."""
PLAIN_SHARE = 0.85
"""A count of less than this share of an estimate that does not fit is doubted, wherever it is."""
MOST_KEPT_TOKENS = 4
"""What is kept of a prompt's beginning beside half of what fits; seen: 2 and 3."""
SLACK_TOKENS = 16
"""How far a count may be off a mark: begin and end marks, a template's last line."""


def whole_of(context: Context, *, reported: int, allotted: int, expected: int) -> int | None:
    """Estimate what the whole of a prompt takes that a server cut to what it allots; None where it was read whole.

    `reported` is the server's count, `expected` ours, with the tools' schemas.
    """
    if reported > allotted:
        return None
    messages, tools = wire(context), tools_estimate(context)
    most = expected * _most(messages)
    if reported >= allotted - SLACK_TOKENS or (_is_half(reported, allotted) and most > allotted):
        return max(expected, allotted + 1)
    if expected - tools > allotted and reported < (expected - tools) * PLAIN_SHARE:
        return expected
    for whole in _by_messages(messages, tools, reported, allotted):
        if allotted * NEARLY < whole <= most:
            return max(expected, int(whole), allotted + 1)
    return None


def _is_half(reported: int, allotted: int) -> bool:
    return 0 < reported - allotted // 2 <= MOST_KEPT_TOKENS


def _by_messages(messages: list[WireMessage], tools: int, reported: int, allotted: int) -> Iterator[float]:
    """Work out the whole from the count, for each number of dropped messages that would have made the rest fit."""
    whole = kept = sum(message_estimate(message) for message in messages)
    for message in messages[:-1]:
        if message.role == "system":
            continue
        size = message_estimate(message)
        kept -= size
        if reported * (1 + DEARER_MESSAGE * size / kept) > allotted:
            yield reported * (whole + tools) / (kept + tools)


def _most(messages: list[WireMessage]) -> float:
    """Tell the most that a tokenizer makes of an estimate, by the share that is not in Latin script."""
    whole = max(1, sum(message_estimate(message) for message in messages))
    foreign = min(1.0, sum(foreign_tokens(spoken(message)) for message in messages) / whole)
    return foreign * MOST_FOREIGN + (1 - foreign) * MOST_LATIN
