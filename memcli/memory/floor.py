"""The least that a server can have counted of a prompt that it read whole, from all that is known about it.

    the text          what no present-day tokenizer undercuts, without the tools' schemas: not every server counts them
    the model         the same, raised by what its server made of other prompts
    the conversation  what its server counted of an earlier prompt, and the least of what was appended since: a server
                      that cuts to one size is caught as soon as the counts stop growing with the prompt

It knows nothing of what the server allots (`allotted`), and refuses to know what a smaller count means (`alarm`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memcli.memory.context import Context
from memcli.memory.estimate import LEAST_CREDIBLE, corrected, spoken, tools_estimate, wire_estimate
from memcli.memory.tokens import foreign_tokens, least_tokens
from memcli.memory.wire import WireMessage, wire
from memcli.records import Call, PartRef

LEAST_FRAME_TOKENS = 2
"""The least a chat template puts around a message, with the tokenizers that make the least of its text."""
TRUSTED_CALLS = 3
"""Credible past calls from which on a model's ratio is trusted."""
MOST_LATIN = 1.15
"""The highest ratio that is believed of text in Latin script: a higher one was learnt on another script."""
SAME_SCRIPT = 0.92
"""How far below its usual ratio one tokenizer comes in Latin script."""
SAME_CONVERSATION = 0.85
"""How far below the conversation's own ratio a later prompt of it comes: more JSON, fewer digits."""
OTHER_SCRIPT = 0.72
"""How far below its usual ratio one tokenizer comes where scripts differ: Russian after Chinese."""
LEAST_COMPARED_TOKENS = 200
"""A shorter prompt's ratio says nothing: fixed costs weigh too much."""
MOST_REMOVED = 0.25
"""The largest share of an earlier prompt that may have left it: beyond, the two are not compared."""
REMOVED_COST = 1.5
"""How much dearer what left a prompt may be than its estimate."""
SLACK_TOKENS = 16
"""What a template may write differently from call to call: a date, an end mark."""
TOOLS_PREAMBLE_TOKENS = 150
"""What a template says about tools beside their schemas; a last round goes without them."""


@dataclass(frozen=True, slots=True)
class Floor:
    """What a server that reads a whole prompt counts."""

    tokens: int
    """The least."""
    expected: int
    """As best we know."""
    of_text: int
    """The least by the text alone."""


def floor_of(
    context: Context, by_script: int, pairs: Sequence[tuple[int, int]], before: Sequence[Call]
) -> Floor:  # fmt: skip
    """Work out the least count of a prompt.

    `by_script` is its estimate, with the tools' schemas; `pairs` are the (estimated, reported) counts of the model's
    other calls; `before` are the conversation's calls to the same model before this one, whose parts and counts are
    recorded. Both may be empty.
    """
    messages = wire(context)
    spoken_tokens = max(1, by_script - tools_estimate(context))
    known = corrected(by_script, pairs, None)
    of_text = max(least_estimate(messages), int(spoken_tokens * LEAST_CREDIBLE))
    ratio = known.tokens / by_script if known.calls >= TRUSTED_CALLS and by_script else 0.0
    latin = 1 - min(1.0, sum(foreign_tokens(spoken(message)) for message in messages) / spoken_tokens)
    tokens = max(
        of_text,
        int(of_text * _believed(ratio, latin) * _mixed(latin, SAME_SCRIPT)),
        *(_grown(context, messages, by_script, call) for call in before),
        *(_usual(context, by_script, call, latin) for call in before),
    )
    return Floor(tokens, max(known.tokens if ratio else by_script, tokens), of_text)


def least_estimate(messages: Sequence[WireMessage]) -> int:
    """Count the least that messages take. 0 for none."""
    return sum(LEAST_FRAME_TOKENS + least_tokens(spoken(message)) for message in messages)


def _believed(ratio: float, latin: float) -> float:
    """Hold a ratio learnt on other prompts to what a prompt's script allows; `latin` is its share in Latin script."""
    return latin * min(ratio, MOST_LATIN) + (1 - latin) * ratio


def _mixed(latin: float, share: float) -> float:
    return latin * share + (1 - latin) * OTHER_SCRIPT


def _usual(context: Context, by_script: int, before: Call, latin: float) -> int:
    """Count the least by an earlier prompt's ratio, whatever both share; 0 where that prompt was too short to tell."""
    if before.estimated_tokens < max(LEAST_COMPARED_TOKENS, by_script // 3):
        return 0
    ratio = (before.input_tokens or 0) / before.estimated_tokens
    return int(by_script * _believed(ratio, latin) * _mixed(latin, SAME_CONVERSATION)) - _tools_slack(context)


def _grown(context: Context, messages: Sequence[WireMessage], by_script: int, before: Call) -> int:
    """Count the least by an earlier prompt's count; 0 where too little of that prompt is in this one."""
    counted, estimated = before.input_tokens or 0, before.estimated_tokens
    was = {_identity(reference) for reference in before.seen}
    new = {part.first_message_id for part in context.parts if _identity(part.reference()) not in was}
    added = [message for message in messages if message.message_id in new and message.message_id is not None]
    removed = max(0, estimated + wire_estimate(added) - by_script)
    if not counted or not estimated or removed > estimated * MOST_REMOVED:
        return 0
    lost = removed * REMOVED_COST * max(1.0, counted / estimated)
    return int(counted + least_estimate(added) - lost - SLACK_TOKENS - _tools_slack(context))


def _identity(reference: PartRef) -> tuple[object, ...]:
    """Tell parts apart by what they show: the ongoing turn's messages are another source on the next turn."""
    return (
        reference.first_message_id, reference.last_message_id, reference.tokens, reference.state,
        reference.summary_id, reference.text,
    )  # fmt: skip


def _tools_slack(context: Context) -> int:
    tools = tools_estimate(context)
    return int(tools * REMOVED_COST) + TOOLS_PREAMBLE_TOKENS if tools else 0
