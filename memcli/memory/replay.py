"""A whole conversation under a policy, turn by turn, before the policy is adopted.

The turns are copied one by one into a throw-away store and kept there as a chat would keep them: every call's context
is built, every turn is settled. The same code runs, so the last row is what a chat under this policy would have come
to; the conversation itself is only read. It refuses to know how rows are shown.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memcli.errors import ContextOverflow
from memcli.memory.context import Context, Policy, Request
from memcli.memory.model import HEAD_OF, Memory, memory_of
from memcli.memory.summarizer import ExtractiveSummarizer, Summarizer
from memcli.records import Conversation, MemoryModel, NewMessage, StoredMessage, TurnStatus
from memcli.store import Store

STANDING_FOR = ("summary", "compaction", "turn_summary", "values")
"""The parts that stand for messages which are not shown."""


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """How things stand after one turn."""

    turn: int
    """Counted from 1, in order."""
    last_message_id: int
    tokens: int
    """What the next call would send before its message, when the turn is over; 0 when that does not fit."""
    peak_tokens: int
    """What the turn's largest call sent; 0 for a turn without a call that fits."""
    folds: int
    """Folds so far."""
    summary_tokens: int
    """What summaries and carried values take."""
    verbatim: int
    """Messages shown word for word when the turn is over."""
    forgotten: int
    """Messages in no form when the turn is over."""
    most_forgotten: int
    """Messages in no form on the turn's worst call."""
    problem: str | None = None
    """Why a call was refused, or why a fold failed; None when all went well."""


def replay(
    store: Store,
    conversation: Conversation,
    policy: Policy,
    *,
    memory: MemoryModel | None = None,
    summarizer: Summarizer | None = None,
    tools_tokens: int = 0,
) -> Iterator[ReplayRow]:
    """Walk the conversation from its first turn and give a row a turn, as they are made.

    `memory` None is the conversation's own; `summarizer` None the extractive one, which costs no call. The cost is
    linear in the conversation's length. A turn that failed or was taken back has a row, and no calls. Raises
    ModelUnreachable when the summarizer cannot be reached; a context that does not fit is a row's `problem`.
    """
    keeper = memory_of(memory or conversation.memory)
    with tempfile.TemporaryDirectory(prefix="memcli-replay-") as folder, Store(Path(folder) / "replay.db") as copy:
        walk = _Walk(copy, store, conversation, policy, keeper, summarizer or ExtractiveSummarizer(), tools_tokens)
        for number, messages in enumerate(_turns(store.messages.oldest_first(conversation.id, excluded=True)), start=1):
            yield walk.turn(number, messages)


class _Walk:
    """The copy of a conversation as it grows."""

    def __init__(
        self, copy: Store, original: Store, conversation: Conversation, policy: Policy, memory: Memory,
        summarizer: Summarizer, tools_tokens: int,
    ) -> None:  # fmt: skip
        self._store = copy
        self._policy = policy
        self._memory = memory
        self._summarizer = summarizer
        self._tools_tokens = tools_tokens
        self._original = original
        self._conversation = conversation
        self._pins = set(original.pins.list(conversation.id))
        self._folds = 0
        self.id = copy.conversations.create(
            model=conversation.model, system_prompt=conversation.system_prompt, memory=memory.name, id=conversation.id
        ).id
        plan = original.plans.current(conversation.id)
        if plan is not None:
            copy.plans.save(self.id, plan.text)

    def turn(self, number: int, messages: Sequence[StoredMessage]) -> ReplayRow:
        """Keep one more turn and tell how things stand."""
        status = self._status(messages)
        turn_id = self._store.turns.start(self.id).id if messages[0].turn_id is not None else None
        calls: list[Context] = []
        problem: str | None = None
        for message in messages:
            if message.role == "ai" and turn_id is not None and status not in ("failed", "rewound"):
                try:
                    calls.append(self._call(turn_id))
                except ContextOverflow as err:
                    problem = err.message
            self._append(message, turn_id)
        if turn_id is not None:
            self._store.turns.close(self.id, turn_id, status)
        if status == "done":
            problem = self._settle() or problem
        return self._row(number, messages[-1].id, calls, problem)

    def _status(self, messages: Sequence[StoredMessage]) -> TurnStatus:
        if messages[0].turn_id is None:
            return "done"
        status = self._original.turns.get(self.id, messages[0].turn_id).status
        return "done" if status == "open" else status

    def _append(self, message: StoredMessage, turn_id: int | None) -> None:
        new = NewMessage(
            message.kind, message.role, message.text, message.payload, message.tokens, message.uid, message.state,
            message.created_at,
        )  # fmt: skip
        self._store.messages.append(self.id, [new], turn_id=turn_id)
        if message.id in self._pins:
            self._store.pins.add(self.id, message.id)

    def _call(self, turn_id: int) -> Context:
        conversation = self._store.conversations.get(self.id)
        self._folds += (
            self._memory.prepare(self._store, conversation, self._policy, self._summarizer, turn_id).status
            == "compacted"
        )
        return self._memory.context(self._store, conversation, self._policy, self._request(turn_id))

    def _settle(self) -> str | None:
        conversation = self._store.conversations.get(self.id)
        before = self._head_id()
        result = self._memory.settle(self._store, conversation, self._policy, self._summarizer, self._request(None))
        self._folds += self._head_id() != before
        return result.error if result.status in ("rejected", "failed") else None

    def _head_id(self) -> int | None:
        head = self._store.summaries.head(self.id, HEAD_OF[self._memory.name])
        return head.id if head else None

    def _request(self, turn_id: int | None) -> Request:
        return Request(turn_id=turn_id, tools_tokens=self._tools_tokens)

    def _row(self, number: int, last_id: int, calls: Sequence[Context], problem: str | None) -> ReplayRow:
        peak = max((context.prompt_tokens for context in calls), default=0)
        worst = max((context.ledger.forgotten.count for context in calls), default=0)
        conversation = self._store.conversations.get(self.id)
        try:
            rest = self._memory.context(self._store, conversation, self._policy, self._request(None))
        except ContextOverflow as err:
            return ReplayRow(number, last_id, 0, peak, self._folds, 0, 0, last_id, worst, problem or err.message)
        standing = sum(part.tokens for part in rest.parts if part.source in STANDING_FOR)
        ledger = rest.ledger
        return ReplayRow(
            number, last_id, rest.prompt_tokens, peak, self._folds, standing, ledger.verbatim.count,
            ledger.forgotten.count, max(worst, ledger.forgotten.count), problem,
        )  # fmt: skip


def _turns(messages: Iterable[StoredMessage]) -> Iterator[list[StoredMessage]]:
    """Group messages by turn; those that belong to none begin a group at every user's message."""
    group: list[StoredMessage] = []
    for message in messages:
        is_next = bool(group) and (
            message.turn_id != group[-1].turn_id or (message.turn_id is None and message.role == "human")
        )
        if is_next:
            yield group
            group = []
        group.append(message)
    if group:
        yield group
