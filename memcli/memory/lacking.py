"""Which completed turns lack a turn summary, and what making them would cost. It reads and never writes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from memcli.memory.context import Policy
from memcli.memory.fold import CHUNK_TOKENS
from memcli.memory.in_force import Recalls, recalls_at
from memcli.memory.summarizer import EXTRACTIVE, Summarizer, request_tokens
from memcli.memory.turn_prompts import fold_prompt, turn_prompt
from memcli.memory.uncovered import foldable_up_to
from memcli.records import Conversation, Summary, TurnSpan
from memcli.store import Store

KEPT_SHARE = 0.5
"""The share of the window of turn summaries that is left when it overflowed: folding in batches keeps the compaction
from being rewritten every turn."""
SUMMARY_TOKENS = 150
"""What a turn summary is taken to come to before it is made."""


@dataclass(frozen=True, slots=True)
class Lack:
    """A completed turn that must be summarised."""

    span: TurnSpan
    previous: Summary | None
    """The summary that must be made again: a fallback, or one of fewer messages; None when there is none."""

    @property
    def messages(self) -> int:
        """Count what the turn holds."""
        return self.span.last_message_id - self.span.first_message_id + 1


@dataclass(frozen=True, slots=True)
class Lacks:
    """The turn summaries a conversation lacks under Model B."""

    turns: int
    messages: int
    """What those turns hold."""
    requests: int
    """Requests to a model that making them, and folding what then overflows, would take; 0 for the extractive one."""
    tokens: int
    """The most those requests would carry, in budget tokens; 0 for the extractive summarizer."""


def lacking(store: Store, conversation: Conversation, recalls: Recalls) -> list[Lack]:
    """List the completed turns behind the compaction without a summary, or with one that must be made again."""
    made = {summary.first_message_id: summary for summary in recalls.summaries}
    return [
        Lack(span, made.get(span.first_message_id))
        for span in store.turns.spans(conversation.id, after=recalls.boundary)
        if span.turn.status not in ("open", "rewound")
        and not _is_current(made.get(span.first_message_id), span)
        and not _is_system_only(store, span)
    ]


def lacks(store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer) -> Lacks:
    """Say which turn summaries a conversation lacks and what making them would cost. Nothing is written or asked.

    Reads one row a lacking turn, and no message.
    """
    recalls = recalls_at(store, conversation.id, foldable_up_to(store, conversation))
    found = lacking(store, conversation, recalls)
    messages = sum(item.messages for item in found)
    asked = [item.span for item in found if item.span.turn.status != "failed"]
    if summarizer.label == EXTRACTIVE or not asked:
        return Lacks(len(found), messages, 0, 0)
    frame = turn_prompt((), body_tokens=0)
    room = max(1, min(CHUNK_TOKENS, summarizer.window_tokens - request_tokens(frame) - 2 * frame.max_tokens))
    spans = [(span.first_message_id, span.last_message_id) for span in asked]
    content = [store.messages.token_sum(conversation.id, [span]) for span in spans]
    requests = sum(max(1, math.ceil(tokens / room)) for tokens in content)
    folds = _folds(len(recalls.summaries) + len(found), policy.max_summaries, room)
    fold_frame = request_tokens(fold_prompt(None, (), max_tokens=policy.summary_tokens, instructions=None))
    folded = folds * (fold_frame + policy.summary_tokens) + (len(found) * SUMMARY_TOKENS if folds else 0)
    return Lacks(len(found), messages, requests + folds, requests * request_tokens(frame) + sum(content) + folded)


def _is_current(summary: Summary | None, span: TurnSpan) -> bool:
    if summary is None or summary.fallback:
        return False
    return summary.last_message_id == span.last_message_id and summary.details.get("status") == span.turn.status


def _is_system_only(store: Store, span: TurnSpan) -> bool:
    """Tell whether a turn is nothing but the leading system message, which stands in every context itself."""
    if span.first_message_id != 1 or span.last_message_id != 1:
        return False
    return store.messages.leading_system(span.turn.conversation_id) is not None


def _folds(summaries: int, most: int, room: int) -> int:
    """Count the requests that folding what overflows comes to, when so many turn summaries are there at once."""
    leaving = summaries - max(1, int(most * KEPT_SHARE)) if summaries > most else 0
    return math.ceil(leaving * SUMMARY_TOKENS / room)
