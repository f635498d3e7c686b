"""What went wrong between a prompt and the server that read it, told apart from a finished call's own record.

    truncated   it counted far fewer tokens than were sent: the oldest part of the prompt was cut off silently
    cut_turn    fewer even than the user's turn with the system message takes: what was asked now was cut too
    refused     it said that the prompt is too long
    silent      it stopped answering, or never began

A count is a cut one where it is below the least that the whole prompt can have come to (`floor`). On the first call of
a conversation, how much must be missing depends on the tokenizer, which nobody tells. Measured with ten (o200k_base,
cl100k_base, Llama 3, Qwen2.5, Qwen3.5, DeepSeek V4, Mistral's v1, v3 and Tekken, SmolLM2), a cut is caught where the
server kept less than this share of the prompt, by tokenizer in the median, and at the worst:

    tool-calling conversations   67 to 90%   63%        Chinese prose    27 to 77%   25%
    long English dialogues       77 to 87%   71%        Japanese prose   25 to 75%   24%
    Python sources               66 to 83%   55%        Russian prose    28 to 74%   27%

A lesser cut is caught on the first call too where the server says that it allots less than it was asked for: what it
said is recorded with the call (`allotted`). Where it does not say (no Ollama, one from before 0.10, a proxy), or claims
more than is true, the conversation's own counts catch it: on the first cut call when the one before was whole, else on
the second. With tools offered, as much more must be missing as their schemas take: a turn's last round goes without
them, and no record says so. A server that counts characters / 4 is no tokenizer: English passes, mostly digits or
Chinese look cut.
It refuses to know what happens next: whoever made the call shows it, or ends with its error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from memcli.errors import ContextOverflow, ModelError, ModelTimeout, NotFound, PromptTruncated
from memcli.memory.allotted import whole_of
from memcli.memory.context import Context
from memcli.memory.estimate import CALIBRATION_CALLS, message_estimate, prompt_estimate, tools_estimate
from memcli.memory.floor import Floor, floor_of, least_estimate
from memcli.memory.wire import WireMessage, wire
from memcli.records import Call
from memcli.store import Store

AlarmKind = Literal["truncated", "cut_turn", "refused", "silent"]

LEAST_JUDGED_TOKENS = 200
"""A shorter prompt is not judged: fixed costs weigh too much."""
COMPARED_CALLS = 3
"""Earlier calls of the conversation that a count is compared with, the newest."""
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
    allotted: int | None = None
    """What the server allots, by its own word, where that is less than it was asked for; None where nobody said so."""

    @property
    def error(self) -> ModelError:
        """Give the error that a one-shot command ends with."""
        if self.kind == "silent":
            return ModelTimeout(self.text, "run it again; the server's log says more")
        if self.kind == "refused":
            return ModelError(self.text, HINT)
        return PromptTruncated(self.text, HINT if self.allotted is None else _hint(self.allotted))


def judge(
    call: Call, context: Context, pairs: Sequence[tuple[int, int]], before: Sequence[Call] = ()
) -> Alarm | None:  # fmt: skip
    """Tell what went wrong with a finished call's prompt; None when nothing did, or nobody can tell.

    `context` is what it sent; `pairs` are the (estimated, reported) counts of the model's other calls, `before` the
    conversation's own earlier calls to the model.
    """
    by_script = call.estimated_tokens or prompt_estimate(context)
    if call.status == "failed":
        return _failure(call, by_script)
    if by_script - tools_estimate(context) < LEAST_JUDGED_TOKENS:
        return None
    floor = floor_of(context, by_script, pairs, before)
    expected = _cut_from(call, context, floor)
    return _cut(call, context, floor, expected, by_script) if expected is not None else None


def alarm_of(store: Store, conversation_id: str, call_id: int, context: Context) -> Alarm | None:
    """Judge a recorded call by its model's and its conversation's others. Raises NotFound without such a call."""
    call = store.calls.get(conversation_id, call_id)
    pairs = store.calls.reported(call.model, limit=CALIBRATION_CALLS + 1)
    own = (call.estimated_tokens, call.input_tokens or 0)
    if own in pairs:
        pairs.remove(own)
    return judge(call, context, pairs[:CALIBRATION_CALLS], _before(store, call))


def shortage(store: Store, conversation_id: str, call_id: int) -> str | None:
    """Tell in one line that a call's server allots less than it is asked for; None when not, or when it was told.

    It was told when the conversation's call before had no more. Raises NotFound without such a call.
    """
    call = store.calls.get(conversation_id, call_id)
    room = _room(call)
    if room is None:
        return None
    before = [one for one in store.calls.newest_first(conversation_id, purpose="chat", limit=2) if one.id < call_id]
    if any(one.model == call.model and _room(one) == room for one in before):
        return None
    asked = f"{room:,} of the {call.limit_tokens:,} tokens asked for"
    return f"the server of {call.model} allots {asked}, and will cut longer prompts; {_hint(room)}"


def turn_estimate(context: Context) -> int:
    """Estimate what no cut may touch: the system message, and everything from the newest user's message on."""
    return sum(message_estimate(message) for message in _turn(context))


def is_overflow(error: Exception) -> bool:
    """Tell whether an error is a server's or our own word that a prompt is too long."""
    return isinstance(error, ContextOverflow) or _REFUSED.search(str(error)) is not None


def _cut_from(call: Call, context: Context, floor: Floor) -> int | None:
    """Estimate what a prompt that was cut took whole; None when it was read whole, or nobody can tell."""
    reported, room = call.input_tokens, _room(call)
    if reported and reported < floor.tokens:
        return floor.expected
    if room is None:
        return None
    if not reported:
        return floor.expected if floor.tokens > room else None
    return whole_of(context, reported=reported, allotted=room, expected=floor.expected)


def _room(call: Call) -> int | None:
    """Tell what a server allots that allots less than it was asked for; None for any other."""
    return call.allotted if call.allotted is not None and call.allotted < call.limit_tokens else None


def _cut(call: Call, context: Context, floor: Floor, expected: int, by_script: int) -> Alarm:
    reported, room = call.input_tokens or None, _room(call)
    needed = int(turn_estimate(context) * expected / by_script)
    least = least_estimate(_turn(context)) * floor.tokens / floor.of_text
    is_turn_cut = (reported or least) < least or (room is not None and needed > room)
    whole = f"about {expected:,}" if room is None or expected > room + 1 else f"more than {room:,}"
    read = f"{call.model} read {f'{reported:,}' if reported else 'a part'} of {whole} prompt tokens"
    what = f"what was asked now, which alone takes {needed:,}" if is_turn_cut else "the oldest off silently"
    why = f"; it allots {room:,} of the {call.limit_tokens:,} asked for" if room is not None else ""
    text = f"{read}: its server cut {what}{why}"
    return Alarm("cut_turn" if is_turn_cut else "truncated", text, expected, reported, room)


def _turn(context: Context) -> list[WireMessage]:
    messages = wire(context)
    newest = max((place for place, message in enumerate(messages) if message.role == "user"), default=0)
    return [message for place, message in enumerate(messages) if place >= newest or message.role == "system"]


def _before(store: Store, call: Call) -> list[Call]:
    """Read the calls before one that it can be compared with. [] when there are none."""
    found: list[Call] = []
    for id in range(call.id - 1, max(0, call.id - 1 - COMPARED_CALLS), -1):
        with suppress(NotFound):
            found.append(store.calls.get(call.conversation_id, id))
    is_like = (call.model, "done", "chat")
    return [one for one in found if (one.model, one.status, one.purpose) == is_like and one.seen]


def _hint(room: int) -> str:
    return f"set `limit_tokens` to {room}, or raise the server's own context length"


def _failure(call: Call, estimated: int) -> Alarm | None:
    error = call.error or ""
    if _REFUSED.search(error):
        return Alarm("refused", f"{call.model} refused the prompt as too long: {error}", estimated, call.input_tokens)
    if _SILENT.search(error):
        return Alarm("silent", f"{call.model} stopped answering: {error}", estimated, call.input_tokens)
    return None
