"""The one interface both memory models sit behind, and the table that finds a model by its name."""

from __future__ import annotations

from typing import Protocol

from memcli.memory import rolling, running, turns, window
from memcli.memory.context import Context, Policy, Request
from memcli.memory.due import Due
from memcli.memory.fold import FoldResult
from memcli.memory.summarizer import Summarizer
from memcli.records import Conversation, MemoryModel, SummaryKind
from memcli.store import Store

HEADS: tuple[SummaryKind, ...] = ("running", "compaction")
"""The kinds of summary that have a head, whichever model a conversation is kept under now."""


class Memory(Protocol):
    """How a conversation is remembered. Nothing here but `settle`, `prepare` and `undo` writes or asks a summarizer."""

    name: MemoryModel

    def context(self, store: Store, conversation: Conversation, policy: Policy, request: Request) -> Context:
        """Build the context of a call. Raises ContextOverflow when what must be there does not fit the limit."""
        ...

    def due(self, store: Store, conversation: Conversation, policy: Policy, request: Request) -> Due:
        """Tell whether something is to be folded."""
        ...

    def settle(
        self, store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer, request: Request,
        *, if_needed: bool = True, instructions: str | None = None,
    ) -> FoldResult:  # fmt: skip
        """Fold what is due, or everything with `if_needed` off. Twice is once."""
        ...

    def prepare(
        self, store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer, turn_id: int
    ) -> FoldResult:
        """See to an ongoing turn that outgrows its bounds, before a call."""
        ...

    def undo(self, store: Store, conversation: Conversation, steps: int = 1) -> FoldResult:
        """Put the summary before the one in force back in force. Raises NotFound when there is none to undo."""
        ...


class WindowMemory:
    """Model A: the newest messages within a budget, after a running summary."""

    name: MemoryModel = "window"

    def context(self, store: Store, conversation: Conversation, policy: Policy, request: Request) -> Context:
        return window.context(store, conversation, policy, request)

    def due(self, store: Store, conversation: Conversation, policy: Policy, request: Request) -> Due:
        return running.due(store, conversation, policy, request)

    def settle(
        self, store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer, request: Request,
        *, if_needed: bool = True, instructions: str | None = None,
    ) -> FoldResult:  # fmt: skip
        return running.settle(
            store, conversation, policy, summarizer, if_needed=if_needed, instructions=instructions, request=request
        )

    def prepare(
        self, store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer, turn_id: int
    ) -> FoldResult:
        return FoldResult(conversation.id, "nothing", error="the window makes no recaps")

    def undo(self, store: Store, conversation: Conversation, steps: int = 1) -> FoldResult:
        return running.undo(store, conversation, steps)


class TurnsMemory:
    """Model B: rolling turn summaries, a folded compaction, the ongoing turn in full."""

    name: MemoryModel = "turns"

    def context(self, store: Store, conversation: Conversation, policy: Policy, request: Request) -> Context:
        return turns.context(store, conversation, policy, request)

    def due(self, store: Store, conversation: Conversation, policy: Policy, request: Request) -> Due:
        return rolling.due(store, conversation, policy)

    def settle(
        self, store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer, request: Request,
        *, if_needed: bool = True, instructions: str | None = None,
    ) -> FoldResult:  # fmt: skip
        return rolling.settle(store, conversation, policy, summarizer, if_needed=if_needed, instructions=instructions)

    def prepare(
        self, store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer, turn_id: int
    ) -> FoldResult:
        return rolling.prepare(store, conversation, policy, summarizer, turn_id)

    def undo(self, store: Store, conversation: Conversation, steps: int = 1) -> FoldResult:
        return rolling.undo(store, conversation, steps)


_MEMORIES: dict[MemoryModel, Memory] = {"window": WindowMemory(), "turns": TurnsMemory()}


def memory_of(name: MemoryModel) -> Memory:
    """Find a memory model by its name."""
    return _MEMORIES[name]


def move_heads_before(store: Store, conversation_id: str, first_message_id: int) -> None:
    """Put back in force, for each kind, the newest summary that covers nothing from this message on."""
    for kind in HEADS:
        head = store.summaries.head(conversation_id, kind)
        target = head
        while target is not None and target.last_message_id >= first_message_id:
            target = store.summaries.get(conversation_id, target.parent_id) if target.parent_id else None
        if head is not None and target is not head:
            store.summaries.move_head(conversation_id, kind, target.id if target else None, expected_head=head.id)
