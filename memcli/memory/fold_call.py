"""What a compaction's call saw: its words are recorded around the transcript, the transcript by reference to messages.

Put together again it is checked against a sum of what was sent, so that it never passes for something else. It refuses
to know how a summarizer hands a prompt on; one that can keep to a schema gets `schema_system` in place of `system`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from memcli.errors import NotFound
from memcli.memory.checksum import checksum
from memcli.memory.prompts import Prompt, transcript_lines
from memcli.memory.spans import Spans
from memcli.memory.tokens import estimate_tokens
from memcli.records import Call, PartRef, StoredMessage
from memcli.store import Store

PROMPT = "prompt"
"""The source of the part that holds a compaction's words."""
_WHY_PROMPT = "what the summarizer is told around the transcript"
_WHY_SHOWN = "shown to the summarizer as lines of a transcript"


@dataclass(frozen=True, slots=True)
class FoldCall:
    """A recorded call of a compaction, and the prompt it saw."""

    call: Call
    system: str
    user: str
    schema_system: str | None
    """What a model that keeps to a schema was told in place of `system`; None where no schema was asked for."""
    shown: Spans
    """The messages in the transcript; empty where summaries stand in it."""
    is_exact: bool
    """It is what was sent. False where messages of it are no longer stored as they were."""


def references(prompt: Prompt) -> tuple[PartRef, ...]:
    """Describe a prompt by reference: its own words in one part, then the spans of messages in its transcript."""
    transcript = _transcript(prompt.messages, prompt.body_tokens) if prompt.body_tokens is not None else ""
    before, found, behind = prompt.user.partition(transcript) if transcript else (prompt.user, "", "")
    words = {
        "system": prompt.system, "schema_system": prompt.schema_system, "before": before, "behind": behind,
        "body_tokens": prompt.body_tokens if found else None, "check": checksum(prompt.user),
    }  # fmt: skip
    own = estimate_tokens(prompt.system + before + behind)
    parts = [PartRef(PROMPT, None, None, own, None, _WHY_PROMPT, text=json.dumps(words))]
    if found:
        for first, last in Spans.ids(message.id for message in prompt.messages):
            lines = _transcript([item for item in prompt.messages if first <= item.id <= last], prompt.body_tokens or 0)
            parts.append(PartRef("message", first, last, estimate_tokens(lines), "summarised", _WHY_SHOWN))
    return tuple(parts)


def fold_call(store: Store, conversation_id: str, call_id: int) -> FoldCall:
    """Put together again what a compaction's call saw.

    Raises NotFound without such a call, and for one of a chat or of a time when compactions recorded nothing.
    """
    call = store.calls.get(conversation_id, call_id)
    own = next((part for part in call.parts if part.source == PROMPT and part.text), None)
    if own is None or own.text is None:
        raise NotFound(f"call {call_id} recorded no prompt", "name another; `memcli context --calls` lists them")
    words = json.loads(own.text)
    shown = Spans.of((part.first_message_id or 0, part.last_message_id or 0) for part in call.parts if part != own)
    user = words["before"]
    if words["body_tokens"] is not None:
        user += _transcript(_messages(store, conversation_id, shown), words["body_tokens"]) + words["behind"]
    return FoldCall(call, words["system"], user, words["schema_system"], shown, checksum(user) == words["check"])


def _transcript(messages: Sequence[StoredMessage], body_tokens: int) -> str:
    return "\n".join(transcript_lines(messages, body_tokens=body_tokens))


def _messages(store: Store, conversation_id: str, shown: Spans) -> list[StoredMessage]:
    """Read the messages that were shown; what was taken back since then is among them."""
    return [
        message
        for first, last in shown
        for message in store.messages.oldest_first(conversation_id, after=first - 1, up_to=last, excluded=True)
    ]
