"""Turns of any ending, put into a store in one line, and a summarizer that answers Model B's requests."""

from __future__ import annotations

from memcli.memory.context import Context, Policy, Request
from memcli.memory.fold import FoldResult
from memcli.memory.model import memory_of
from memcli.memory.prompts import Prompt
from memcli.memory.summarizer import ExtractiveSummarizer, Summarizer
from memcli.records import Conversation, NewMessage, Summary, TurnStatus
from memcli.store import Store
from tests.cli.conversations import said
from tests.memory.summarizers import Reply, ScriptedSummarizer, answering

LINES = "REQUEST: The user asked {ids}.\nACTIONS: N/A\nRESPONSE: The assistant answered {ids}."


def exchange(number: int, words: int = 12) -> list[NewMessage]:
    """Make a turn of two messages."""
    return [
        said("human", " ".join(f"question{number}" for _ in range(words))),
        said("ai", " ".join(f"answer{number}" for _ in range(words))),
    ]


def hold(store: Store, talk: Conversation, messages: list[NewMessage], status: TurnStatus = "done") -> int:
    """Store one turn and give its id."""
    turn = store.turns.start(talk.id)
    store.messages.append(talk.id, messages, turn_id=turn.id)
    if status != "open":
        store.turns.close(talk.id, turn.id, status)
    return turn.id


def begin(store: Store, turns: int = 0) -> Conversation:
    """Begin a conversation under Model B with so many completed turns."""
    talk = store.conversations.create(memory="turns")
    for number in range(1, turns + 1):
        hold(store, talk, exchange(number))
    return talk


def see(store: Store, talk: Conversation, policy: Policy | None = None, turn_id: int | None = None) -> Context:
    """Build its next context."""
    now = store.conversations.get(talk.id)
    return memory_of("turns").context(store, now, policy or Policy(), Request(turn_id=turn_id))


def settle(
    store: Store, talk: Conversation, summarizer: Summarizer | None = None, policy: Policy | None = None, *,
    if_needed: bool = True,
) -> FoldResult:  # fmt: skip
    """See to its memory."""
    now = store.conversations.get(talk.id)
    return memory_of("turns").settle(
        store, now, policy or Policy(), summarizer or ExtractiveSummarizer(), Request(), if_needed=if_needed
    )


def model(*replies: Reply, window_tokens: int = 8192) -> ScriptedSummarizer:
    """Make a summarizer that gives these replies, then proper ones to whatever is asked."""
    scripted = answering(*replies, window_tokens=window_tokens)
    scripted.otherwise = proper
    return scripted


def proper(prompt: Prompt) -> str:
    """Answer a request as it asks: three lines for a turn, a short text for everything else."""
    ids = " ".join(f"#{message.id}" for message in prompt.messages[:3])
    return LINES.format(ids=ids) if prompt.schema else f"Talk of {ids}."


def told(context: Context) -> list[tuple[str, int | None, int | None]]:
    """Name a context's parts that stand for messages or speak for the harness, in order."""
    return [
        (part.source, part.first_message_id, part.last_message_id)
        for part in context.parts
        if part.source not in ("tools", "reserve")
    ]


def of_turns(store: Store, talk: Conversation) -> list[Summary]:
    """List the turn summaries in force, oldest first."""
    return store.summaries.newest_of_turns(talk.id)[::-1]
