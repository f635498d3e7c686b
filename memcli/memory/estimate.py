"""What a model's tokenizer makes of a context, and the three numbers that must not be confused.

- the budget: characters / 4, + 3 a message; what every part is counted in and every limit is kept by
- the estimate: by script, over what is really sent; corrected by what the model's server reported on past calls
- the reported count: the server's own word, for calls that were made

It refuses to know tokenizers, and what is wrong when the numbers part (`alarm`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from memcli.memory.context import Context
from memcli.memory.tokens import calibrated, estimate_tokens
from memcli.memory.wire import WireMessage, wire
from memcli.records import Call
from memcli.store import Store

FRAME_TOKENS = 5
"""What a chat template puts around a message: its start, role and end marks and two line ends. Source: ChatML."""
CALIBRATION_CALLS = 10
"""Past calls that correct an estimate, the newest."""
LEAST_CREDIBLE = 0.65
"""The least reported / estimated that a tokenizer accounts for; below it the prompt was cut, and nothing is learnt.

Measured against ten tokenizers: at least 0.89 on tool-calling conversations, 0.93 on long dialogues, 0.77 on Python
sources, 0.66 on tables of numbers.
"""
PINNED_BELOW = 0.95
"""A count is doubted below this share of its estimate, when a clearly shorter prompt had no smaller count."""
PINNED_BY = 1.3
"""The most reported / estimated of such a shorter prompt: above it the two were in different scripts."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a tokenizer makes of a prompt."""

    tokens: int
    """Corrected by past calls, where there are any."""
    by_script: int
    """Before the correction."""
    calls: int
    """Past calls it was corrected by; 0 means it was not."""
    model: str | None

    @property
    def method(self) -> str:
        """Say in words how it was come by."""
        if not self.calls:
            return "by script"
        return f"by script, corrected by {self.calls} call{'s' if self.calls > 1 else ''} of {self.model}"


@dataclass(frozen=True, slots=True)
class Counts:
    """The three numbers of one prompt."""

    budget: int
    estimate: Estimate
    reported: int | None
    """None where no call was made, or the server gave no count."""


def counts(store: Store, context: Context, model: str | None, call: Call | None = None) -> Counts:
    """Count a context all three ways; `call` is the one that saw it."""
    return Counts(context.prompt_tokens, estimate(store, context, model), call.input_tokens if call else None)


def estimate(store: Store, context: Context, model: str | None) -> Estimate:
    """Estimate a context for a model, corrected by the newest credible counts its server reported."""
    pairs = store.calls.reported(model, limit=CALIBRATION_CALLS) if model else []
    return corrected(prompt_estimate(context), pairs, model)


def corrected(by_script: int, pairs: Sequence[tuple[int, int]], model: str | None) -> Estimate:
    """Correct an estimate by past (estimated, reported) counts; those of a prompt that was cut teach nothing."""
    credible = [pair for pair in pairs if _is_credible(pair, pairs)]
    return Estimate(calibrated(by_script, credible), by_script, len(credible), model)


def prompt_estimate(context: Context) -> int:
    """Estimate the prompt by script: every message's text, calls and frame, and the tools' schemas."""
    return tools_estimate(context) + wire_estimate(wire(context))


def tools_estimate(context: Context) -> int:
    """Count the tools' schemas, which some templates send in a shorter form, and some not at all. 0 without tools."""
    return sum(part.tokens for part in context.parts if part.source == "tools")


def wire_estimate(messages: Sequence[WireMessage]) -> int:
    """Estimate messages as a provider gets them. 0 for none."""
    return sum(message_estimate(message) for message in messages)


def message_estimate(message: WireMessage) -> int:
    """Estimate one message with its calls and its frame."""
    return FRAME_TOKENS + estimate_tokens(spoken(message))


def spoken(message: WireMessage) -> str:
    """Write what a message says, its calls' names and arguments as JSON behind it."""
    calls = [
        f"{call.name}{json.dumps(dict(call.args), ensure_ascii=False, default=str)}" for call in message.tool_calls
    ]
    return "\n".join([message.content, *calls])


def _is_credible(pair: tuple[int, int], pairs: Sequence[tuple[int, int]]) -> bool:
    """Tell whether a count is of a whole prompt: a server that cuts to one size counts long and short prompts alike."""
    estimated, reported = pair
    if reported < estimated * LEAST_CREDIBLE:
        return False
    if reported >= estimated * PINNED_BELOW:
        return True
    return not any(was < estimated * 0.9 and reported * 0.98 <= of <= was * PINNED_BY for was, of in pairs)
