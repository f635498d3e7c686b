"""What went wrong between a prompt and the server that read it, told apart from a finished call's own record.

    truncated   it counted far fewer tokens than were sent: the oldest part of the prompt was cut off silently
    cut_turn    fewer even than the user's turn with the system message takes: what was asked now was cut too
    refused     it said that the prompt is too long
    silent      it stopped answering, or never began

A first call is judged by the estimate alone, with room for any tokenizer; later ones by what the server counted before.
It refuses to know what happens next: whoever made the call shows it, or ends with its error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memcli.errors import ContextOverflow, ModelError, ModelTimeout, PromptTruncated
from memcli.memory.context import Context
from memcli.memory.estimate import (
    CALIBRATION_CALLS,
    LEAST_CREDIBLE,
    corrected,
    message_estimate,
    prompt_estimate,
)
from memcli.memory.wire import wire
from memcli.records import Call
from memcli.store import Store

AlarmKind = Literal["truncated", "cut_turn", "refused", "silent"]

LEAST_JUDGED_TOKENS = 200
"""A shorter prompt is not judged: fixed costs weigh too much."""
TRUSTED_CALLS = 3
"""Credible past calls from which on the corrected estimate is trusted."""
TRUSTED_SHARE = 0.85
"""The least share of a trusted estimate that is not a cut."""
HINT = "set `limit_tokens` to what the server really allots, or raise the server's own context length"

_REFUSED = re.compile(r"needs [\d,]+ tokens and [\d,]+ are available|does not fit the model's context")
_SILENT = re.compile(r"(?:sent|said) nothing|no answer at all|broke off|stopped before its answer")


@dataclass(frozen=True, slots=True)
class Alarm:
    """One thing that went wrong with a call's prompt."""

    kind: AlarmKind
    text: str
    """One line for a person, naming the model and the numbers."""
    estimated: int
    """What the prompt takes by our estimate."""
    reported: int | None
    """What the server counted; None when it did not."""

    @property
    def error(self) -> ModelError:
        """Give the error that a one-shot command ends with."""
        if self.kind == "silent":
            return ModelTimeout(self.text, "run it again; the server's log says more")
        if self.kind == "refused":
            return ModelError(self.text, HINT)
        return PromptTruncated(self.text, HINT)


def judge(call: Call, context: Context, pairs: Sequence[tuple[int, int]]) -> Alarm | None:
    """Tell what went wrong with a finished call's prompt; None when nothing did, or nobody can tell.

    `context` is what it sent; `pairs` are the (estimated, reported) counts of the model's calls before it.
    """
    by_script = prompt_estimate(context)
    if call.status == "failed":
        return _failure(call, by_script)
    reported = call.input_tokens
    if not reported or by_script - _tools_tokens(context) < LEAST_JUDGED_TOKENS:
        return None
    known = corrected(by_script, pairs, call.model)
    is_trusted = known.calls >= TRUSTED_CALLS
    expected, share = (known.tokens, TRUSTED_SHARE) if is_trusted else (by_script, LEAST_CREDIBLE)
    if reported >= (expected if is_trusted else by_script - _tools_tokens(context)) * share:
        return None
    needed = int(turn_estimate(context) * expected / by_script)
    if reported < needed * share:
        text = (
            f"{call.model} read {reported:,} of about {expected:,} prompt tokens: its server cut what was asked now,"
            f" which alone takes {needed:,}"
        )
        return Alarm("cut_turn", text, expected, reported)
    text = f"{call.model} read {reported:,} of about {expected:,} prompt tokens: its server cut the oldest off silently"
    return Alarm("truncated", text, expected, reported)


def alarm_of(store: Store, conversation_id: str, call_id: int, context: Context) -> Alarm | None:
    """Judge a recorded call by its model's other calls. Raises NotFound without such a call."""
    call = store.calls.get(conversation_id, call_id)
    pairs = store.calls.reported(call.model, limit=CALIBRATION_CALLS + 1)
    own = (call.estimated_tokens, call.input_tokens or 0)
    if own in pairs:
        pairs.remove(own)
    return judge(call, context, pairs[:CALIBRATION_CALLS])


def turn_estimate(context: Context) -> int:
    """Estimate what no cut may touch: the system message, and everything from the newest user's message on."""
    messages = wire(context)
    newest = max((place for place, message in enumerate(messages) if message.role == "user"), default=0)
    kept = [message for place, message in enumerate(messages) if place >= newest or message.role == "system"]
    return sum(message_estimate(message) for message in kept)


def is_overflow(error: Exception) -> bool:
    """Tell whether an error is a server's or our own word that a prompt is too long."""
    return isinstance(error, ContextOverflow) or _REFUSED.search(str(error)) is not None


def _tools_tokens(context: Context) -> int:
    """Count the tools' schemas, which some templates send in a shorter form, and some not at all."""
    return sum(part.tokens for part in context.parts if part.source == "tools")


def _failure(call: Call, estimated: int) -> Alarm | None:
    error = call.error or ""
    if _REFUSED.search(error):
        return Alarm("refused", f"{call.model} refused the prompt as too long: {error}", estimated, call.input_tokens)
    if _SILENT.search(error):
        return Alarm("silent", f"{call.model} stopped answering: {error}", estimated, call.input_tokens)
    return None
