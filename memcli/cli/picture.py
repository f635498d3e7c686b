"""What `memcli context` shows: a Context, and the numbers around it that the store knows.

Taking a picture reads the window's rows and one more, whatever the conversation's length: the tokens of what is out of
the context come from the conversation's running total by subtraction. It refuses to know how a picture is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from memcli.cli.memories import context_under, due_under
from memcli.memory.context import Context, Policy, Request
from memcli.memory.due import Due
from memcli.memory.estimate import LEAST_CREDIBLE, Estimate, estimate
from memcli.memory.spans import Spans
from memcli.records import Call, Conversation, MemoryModel, Summary
from memcli.store import Store

if TYPE_CHECKING:
    from memcli.memory.alarm import Alarm
    from memcli.memory.lacking import Lacks
    from memcli.memory.prefix import Reuse
    from memcli.memory.summarizer import Summarizer

PARTING = 1.25
"""Two counts of one prompt that differ by more than this factor are worth a warning."""
LEAST_PARTING = 100
"""Tokens below which two counts that differ are near enough."""


@dataclass(frozen=True, slots=True)
class Outside:
    """What the messages take that are not in the context word for word, in budget tokens."""

    summarised: int
    forgotten: int
    excluded: int


@dataclass(frozen=True, slots=True)
class Picture:
    """One context of one conversation, with what a person needs to judge it."""

    conversation: Conversation
    context: Context
    summary: Summary | None
    """The running summary or the compaction that stands in the context; None without one."""
    outside: Outside
    due: Due
    estimate: Estimate
    reported: Call | None
    """The last call to a model whose server reported its prompt's count; None when there is none."""
    lacks: Lacks | None = None
    """The turn summaries that are not there yet, and what they would cost; None under a model that has none."""
    reuse: Reuse | None = None
    """What the next prompt shares with the last call's, from its beginning; None before the first call."""
    alarm: Alarm | None = None
    """What the server did to the last call's prompt; None when nothing is known."""

    @property
    def is_elsewhere(self) -> bool:
        """Tell whether the conversation is kept under another memory model than it is looked at under."""
        return self.context.memory != self.conversation.memory

    @property
    def free_tokens(self) -> int:
        """Tell what is left of the limit when every part is in."""
        return max(self.context.limit_tokens - self.context.tokens, 0)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say where the counts part, and where the prompt would not really fit."""
        return tuple(_warnings(self))


def take(
    store: Store, conversation: Conversation, policy: Policy, *, memory: MemoryModel | None = None,
    summarizer: Summarizer | None = None,
) -> Picture:  # fmt: skip
    """Build the context the agent would see next, the ongoing turn included, and gather what stands around it.

    `memory` None is the conversation's own model. `summarizer` is the one whose cost is told; it is never asked, and
    None stands for a model with the policy's limit. Raises ContextOverflow when what must be there does not fit.
    """
    memory = memory or conversation.memory
    request = next_request(store, conversation)
    context = context_under(memory, store, conversation, policy, request)
    fixed = takewhile(lambda part: part.source != "new", context.parts)
    summary_id = next((part.summary_id for part in fixed if part.source in ("summary", "compaction")), None)
    shared, alarm = _since_last_call(store, conversation, context)
    return Picture(
        conversation=conversation,
        context=context,
        summary=store.summaries.get(conversation.id, summary_id) if summary_id else None,
        outside=_outside(store, conversation, context),
        due=due_under(memory, store, conversation, policy, request, seen=context),
        estimate=estimate(store, context, conversation.model),
        reported=_reported(store, conversation.id),
        lacks=_lacks(store, conversation, policy, summarizer) if memory == "turns" else None,
        reuse=shared,
        alarm=alarm,
    )


def next_request(store: Store, conversation: Conversation) -> Request:
    """Ask for the next call's context: the ongoing turn and the tools that the last chat recorded are in it."""
    tools = conversation.settings.get("tools_tokens")
    turn = store.turns.last(conversation.id)
    ongoing = turn.id if turn is not None and turn.status == "open" else None
    return Request(None, ongoing, tools if isinstance(tools, int) else 0)


def _lacks(store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer | None) -> Lacks:
    from memcli.cli.summarizers import silent
    from memcli.memory.lacking import lacks

    return lacks(store, conversation, policy, summarizer or silent("the model", policy.limit_tokens))


def _outside(store: Store, conversation: Conversation, context: Context) -> Outside:
    """Add up what is out of the context: the smaller of two sets is read, the other is what remains of the total."""
    ledger = context.ledger
    excluded = _tokens_of_rows(store, conversation.id, ledger.excluded)
    inside = sum(part.message.tokens for part in context.parts if part.message is not None)
    rest = conversation.tokens - excluded - inside
    if not ledger.forgotten or not ledger.summarised:
        return Outside(rest if ledger.summarised else 0, rest if ledger.forgotten else 0, excluded)
    smaller = min(ledger.forgotten, ledger.summarised, key=lambda spans: spans.count)
    tokens = store.messages.token_sum(conversation.id, smaller)
    if smaller is ledger.forgotten:
        return Outside(rest - tokens, tokens, excluded)
    return Outside(tokens, rest - tokens, excluded)


def _tokens_of_rows(store: Store, conversation_id: str, spans: Spans) -> int:
    return sum(
        message.tokens
        for first, last in spans
        for message in store.messages.newest_first(conversation_id, up_to=last, down_to=first, excluded=True)
    )


def _since_last_call(
    store: Store, conversation: Conversation, context: Context
) -> tuple[Reuse | None, Alarm | None]:  # fmt: skip
    """Compare the next prompt with the last call's, and judge what the server did to that one."""
    calls = store.calls.newest_first(conversation.id, purpose="chat", limit=1)
    if not calls or not calls[0].seen:
        return None, None
    from memcli.memory.alarm import alarm_of
    from memcli.memory.prefix import reuse
    from memcli.memory.travel import of_call

    seen = of_call(store, conversation, calls[0].id).context
    return reuse(seen, context), alarm_of(store, conversation.id, calls[0].id, seen)


def _reported(store: Store, conversation_id: str) -> Call | None:
    calls = store.calls.newest_first(conversation_id, purpose="chat", limit=1)
    return calls[0] if calls and calls[0].input_tokens is not None else None


def _warnings(picture: Picture) -> list[str]:
    budget, estimate = picture.context.prompt_tokens, picture.estimate.tokens
    room = picture.context.limit_tokens - picture.context.policy.output_reserve
    found: list[str] = []
    if estimate > room:
        found.append(
            f"a tokenizer would make about {estimate:,} tokens of this prompt and {room:,} fit: lower --max-tokens"
        )
    elif estimate > budget * PARTING and estimate - budget >= LEAST_PARTING:
        found.append(f"a tokenizer would make about {estimate:,} tokens of this prompt; the budget counts {budget:,}")
    call = picture.reported
    if picture.alarm is not None:
        found.append(f"on the last call {picture.alarm.text}")
    elif call is not None and call.input_tokens is not None and call.estimated_tokens > 0:
        share = call.input_tokens / call.estimated_tokens
        if share < LEAST_CREDIBLE and not call.seen:
            found.append(
                f"on call {call.id} the server counted {call.input_tokens:,} prompt tokens and we sent about"
                f" {call.estimated_tokens:,}: it may have cut the prompt"
            )
        elif share > PARTING and call.input_tokens - call.estimated_tokens >= LEAST_PARTING:
            found.append(
                f"on call {call.id} the server counted {call.input_tokens:,} prompt tokens and we expected"
                f" {call.estimated_tokens:,}"
            )
    return found
