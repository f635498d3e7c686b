"""Talks kept as a chat keeps them: every call recorded, every turn settled, by the extractive summarizer."""

from __future__ import annotations

from collections.abc import Sequence

from memcli.memory.context import Context, Policy, Request
from memcli.memory.estimate import prompt_estimate
from memcli.memory.model import memory_of
from memcli.memory.summarizer import ExtractiveSummarizer
from memcli.records import Conversation, MemoryModel, NewMessage
from memcli.store import Store
from tests.cli.conversations import said

SMALL = Policy(
    max_tokens=220, limit_tokens=2000, output_reserve=200, compact_every=4, summary_tokens=120, values_tokens=40
)
"""A policy under which a dozen turns fold more than once."""


def asking(text: str, *calls: tuple[str, dict[str, object]]) -> NewMessage:
    """Make an answer that asks for tools, each an id and its arguments."""
    return said("ai", text, tool_calls=[{"id": id, "name": "look", "args": args} for id, args in calls])


def turn_of(number: int) -> list[NewMessage]:
    """Make a turn with values of its own; every third one calls a tool."""
    question = said(
        "human", f"Question {number}: what became of order PX-{number:04} from 2026-03-{number % 27 + 1:02}?"
    )
    answer = said(
        "ai", f"Order PX-{number:04} was sent with {number * 7} parcels and nothing was returned to depot {number}."
    )
    if number % 3:
        return [question, answer]
    result = said("tool", f'{{"order": "PX-{number:04}", "carrier": "TR{number:03}"}}', tool_call_id=f"c{number}")
    return [question, asking("", (f"c{number}", {"order": f"PX-{number:04}"})), result, answer]


def begin(store: Store, *, memory: MemoryModel = "window", name: str = "talk") -> Conversation:
    """Begin a talk with a system prompt."""
    return store.conversations.create(name=name, memory=memory, model="fake", system_prompt="You track parcels.")


def keep(
    store: Store, talk: Conversation, turns: Sequence[Sequence[NewMessage]], policy: Policy = SMALL
) -> list[Context]:
    """Hold turns and give the contexts of their calls, in order; each is recorded too."""
    memory = memory_of(talk.memory)
    seen: list[Context] = []
    for messages in turns:
        turn = store.turns.start(talk.id)
        for message in messages:
            if message.role == "ai":
                now = store.conversations.get(talk.id)
                memory.prepare(store, now, policy, ExtractiveSummarizer(), turn.id)
                seen.append(memory.context(store, now, policy, Request(turn_id=turn.id)))
                record(store, seen[-1], turn.id)
            store.messages.append(talk.id, [message], turn_id=turn.id)
        store.turns.close(talk.id, turn.id, "done")
        settle(store, talk, policy)
    return seen


def record(store: Store, context: Context, turn_id: int, *, reported: int = 100) -> int:
    """Record a call as an agent does."""
    call = store.calls.begin(
        context.conversation_id, turn_id=turn_id, purpose="chat", model="fake", limit_tokens=context.limit_tokens,
        parts=[part.reference() for part in context.parts], estimated_tokens=prompt_estimate(context),
    )  # fmt: skip
    store.calls.finish(context.conversation_id, call, status="done", input_tokens=reported, output_tokens=5)
    return call


def settle(store: Store, talk: Conversation, policy: Policy = SMALL) -> None:
    """See to the memory as a chat does after a turn."""
    now = store.conversations.get(talk.id)
    memory_of(talk.memory).settle(store, now, policy, ExtractiveSummarizer(), Request())


def next_context(store: Store, talk: Conversation, policy: Policy = SMALL) -> Context:
    """Build what comes next."""
    return memory_of(talk.memory).context(store, store.conversations.get(talk.id), policy, Request())
