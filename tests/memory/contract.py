"""What the contract suite of both memory models works with: one verb a promise, and a store whose process dies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from hypothesis import strategies as st

from memcli.memory.context import Context, Policy, Request
from memcli.memory.fold import FoldResult
from memcli.memory.model import memory_of
from memcli.memory.spans import Spans
from memcli.memory.summarizer import ExtractiveSummarizer, Summarizer
from memcli.records import Conversation, MemoryModel, NewMessage, TurnStatus
from memcli.store import Store
from tests.cli.conversations import said
from tests.memory.talks import SMALL

STATUSES: tuple[TurnStatus, ...] = ("done", "done", "done", "interrupted", "failed", "rewound")
TEXTS = ("", "short", "{braces} [[user | x]]", "a longer line with PX-1234 in it " * 3, "你好" * 20, "word " * 300)


def context_of(
    store: Store, talk: Conversation, memory: MemoryModel, policy: Policy = SMALL, request: Request | None = None
) -> Context:  # fmt: skip
    return memory_of(memory).context(store, store.conversations.get(talk.id), policy, request or Request())


def settle(
    store: Store, talk: Conversation, memory: MemoryModel, summarizer: Summarizer | None = None,
    policy: Policy = SMALL, *, if_needed: bool = True,
) -> FoldResult:  # fmt: skip
    now = store.conversations.get(talk.id)
    writer = summarizer or ExtractiveSummarizer()
    return memory_of(memory).settle(store, now, policy, writer, Request(), if_needed=if_needed)


def written(context: Context) -> str:
    """Write a context's parts as JSON."""
    return json.dumps([asdict(part) for part in context.parts], default=str)


def state(store: Store, talk: Conversation) -> str:
    """Write everything that a settle could change."""
    heads = [store.summaries.head(talk.id, kind) for kind in ("running", "compaction")]
    return json.dumps(
        [[asdict(item) for item in store.summaries.list(talk.id)], [h and h.id for h in heads]], default=str
    )


def files(store: Store) -> dict[str, bytes]:
    """Read every byte of a store."""
    return {path.name: path.read_bytes() for path in store.path.parent.iterdir() if not path.name.endswith("-shm")}


@st.composite
def random_turns(draw: st.DrawFn) -> list[tuple[list[NewMessage], TurnStatus]]:
    """Turns of any ending: tool rounds with all, some or none of their results, long texts, empty ones."""
    turns: list[tuple[list[NewMessage], TurnStatus]] = []
    for number in range(draw(st.integers(1, 6))):
        messages = [said("human", draw(st.sampled_from(TEXTS)))]
        for round in range(draw(st.integers(0, 2))):
            ids = [f"{number}-{round}-{place}" for place in range(draw(st.integers(1, 2)))]
            messages.append(said("ai", "", tool_calls=[{"id": id, "name": "look", "args": {}} for id in ids]))
            answered = ids[: draw(st.integers(0, len(ids)))]
            messages += [said("tool", draw(st.sampled_from(TEXTS)), tool_call_id=id) for id in answered]
        messages += [said("ai", draw(st.sampled_from(TEXTS)))] * draw(st.integers(0, 1))
        turns.append((messages, draw(st.sampled_from(STATUSES))))
    return turns


def assert_adds_up(context: Context, last_id: int) -> None:
    """Check: every message in exactly one place, and every shown one among the parts."""
    ledger = context.ledger
    places = (ledger.verbatim, ledger.clipped, ledger.summarised, ledger.forgotten, ledger.excluded)
    assert sum(place.count for place in places) == last_id
    union = Spans()
    for place in places:
        union = union | place
    assert union == Spans.of([(1, last_id)])
    shown = [part for part in context.parts if part.message is not None]
    assert Spans.ids(part.first_message_id or 0 for part in shown) == ledger.verbatim | ledger.clipped
    assert sum(part.tokens for part in context.parts) == context.tokens <= context.limit_tokens


class DyingStore(Store):
    """A store whose process dies at its n-th transaction, before or after that is committed."""

    def __init__(self, path: Path, dies_at: int, *, after: bool) -> None:
        super().__init__(path)
        self.left = dies_at
        self.dies_after = after

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[None]:
        self.left -= 1
        if self.left == 0 and not self.dies_after:
            raise Died
        with super().transaction(durable=durable):
            yield
        if self.left == 0:
            raise Died


class Died(BaseException):
    """The process is gone."""
