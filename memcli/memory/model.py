"""The one interface both memory models sit behind, and the table that finds a model by its name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from memcli.memory import recap, rolling, running, turns, window
from memcli.memory.context import Context, Policy, Request
from memcli.memory.due import Due
from memcli.memory.fold import FoldResult
from memcli.memory.heads import head_at
from memcli.memory.summarizer import Summarizer
from memcli.memory.undo import undo
from memcli.records import Conversation, MemoryModel, SummaryKind
from memcli.store import Store

HEAD_OF: Mapping[MemoryModel, SummaryKind] = {"window": "running", "turns": "compaction"}
"""The kind of summary each model keeps in force."""
HEADS: tuple[SummaryKind, ...] = ("running", "compaction")
"""The kinds of summary that have a head, whichever model a conversation is kept under now."""
_OF_ONE_TURN: tuple[SummaryKind, ...] = ("turn", "recap")


class Memory(Protocol):
    """How a conversation is remembered. Only `settle`, `propose`, `prepare` and `undo` write or ask a summarizer."""

    name: MemoryModel

    def context(self, store: Store, conversation: Conversation, policy: Policy, request: Request) -> Context:
        """Build the context of a call. Raises ContextOverflow when what must be there does not fit the limit."""
        ...

    def due(self, store: Store, conversation: Conversation, policy: Policy, request: Request) -> Due:
        """Tell whether something is to be folded."""
        ...

    def settle(
        self, store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer, request: Request,
        *, if_needed: bool = True, instructions: str | None = None, min_fidelity: float | None = None,
    ) -> FoldResult:  # fmt: skip
        """Fold what is due, or everything with `if_needed` off. Twice is once.

        With `min_fidelity` a summary that keeps a smaller share of the exact values is rejected.
        """
        ...

    def propose(
        self, store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer,
        *, instructions: str | None = None, min_fidelity: float | None = None,
    ) -> FoldResult:  # fmt: skip
        """Make the summary a fold would make and store it as a proposal; nothing in force changes."""
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
        *, if_needed: bool = True, instructions: str | None = None, min_fidelity: float | None = None,
    ) -> FoldResult:  # fmt: skip
        return running.settle(
            store, conversation, policy, summarizer, if_needed=if_needed, instructions=instructions, request=request,
            min_fidelity=min_fidelity,
        )  # fmt: skip

    def propose(
        self, store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer,
        *, instructions: str | None = None, min_fidelity: float | None = None,
    ) -> FoldResult:  # fmt: skip
        return running.propose(
            store, conversation, policy, summarizer, instructions=instructions, min_fidelity=min_fidelity
        )

    def prepare(
        self, store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer, turn_id: int
    ) -> FoldResult:
        return FoldResult(conversation.id, "nothing", error="the window makes no recaps")

    def undo(self, store: Store, conversation: Conversation, steps: int = 1) -> FoldResult:
        return undo(store, conversation, "running", steps)


class TurnsMemory:
    """Model B: rolling turn summaries, a folded compaction, the ongoing turn in full."""

    name: MemoryModel = "turns"

    def context(self, store: Store, conversation: Conversation, policy: Policy, request: Request) -> Context:
        return turns.context(store, conversation, policy, request)

    def due(self, store: Store, conversation: Conversation, policy: Policy, request: Request) -> Due:
        return rolling.due(store, conversation, policy, request)

    def settle(
        self, store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer, request: Request,
        *, if_needed: bool = True, instructions: str | None = None, min_fidelity: float | None = None,
    ) -> FoldResult:  # fmt: skip
        return rolling.settle(
            store, conversation, policy, summarizer, request, if_needed=if_needed, instructions=instructions,
            min_fidelity=min_fidelity,
        )  # fmt: skip

    def propose(
        self, store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer,
        *, instructions: str | None = None, min_fidelity: float | None = None,
    ) -> FoldResult:  # fmt: skip
        return rolling.propose(
            store, conversation, policy, summarizer, instructions=instructions, min_fidelity=min_fidelity
        )

    def prepare(
        self, store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer, turn_id: int
    ) -> FoldResult:
        return recap.prepare(store, conversation, policy, summarizer, turn_id)

    def undo(self, store: Store, conversation: Conversation, steps: int = 1) -> FoldResult:
        return undo(store, conversation, "compaction", steps)


_MEMORIES: dict[MemoryModel, Memory] = {"window": WindowMemory(), "turns": TurnsMemory()}


def memory_of(name: MemoryModel) -> Memory:
    """Find a memory model by its name."""
    return _MEMORIES[name]


def forget_turn(store: Store, conversation_id: str, turn_id: int) -> None:
    """Put everything derived from the last turn out of force: its own summaries, and what was folded since it began.

    Each head moves back to the newest summary that covers nothing of the turn and was made before its first call. No
    row is deleted. Call it before the turn's messages change their state, in the same transaction.
    """
    messages = store.messages.of_turn(conversation_id, turn_id, excluded=True)
    if not messages:
        return
    calls = [call for call in store.calls.of_turn(conversation_id, turn_id) if call.purpose == "chat"]
    began = calls[-1].started_at if calls else None
    move_heads_before(store, conversation_id, messages[0].id, made_before=began)
    for kind in _OF_ONE_TURN:
        for message in messages:
            while (made := store.summaries.newest_of(conversation_id, kind, message.id)) is not None:
                store.summaries.set_state(conversation_id, made.id, "discarded")


def move_heads_before(
    store: Store, conversation_id: str, first_message_id: int, *, made_before: datetime | None = None
) -> None:
    """Put back in force, for each kind, the newest summary that covers nothing from this message on.

    With `made_before` it was also made before then.
    """
    for kind in HEADS:
        head = store.summaries.head(conversation_id, kind)
        target = head_at(store, conversation_id, kind, first_message_id - 1, made_before)
        if head is not None and (target is None or target.id != head.id):
            store.summaries.move_head(conversation_id, kind, target.id if target else None, expected_head=head.id)
