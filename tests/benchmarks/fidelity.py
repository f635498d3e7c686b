"""How much of what was exact survives a fold: real tool-calling conversations, the extractive summarizer.

Of the identifiers, amounts, dates, e-mails and codes of the folded span, the share that the summary says or the
carried values hold; with carrying and without, at several caps. Spans are the beginnings of conversations, cut at a
size between two messages; longer ones run through several conversations and are folded chunk by chunk. The data set is
not part of this repository: it lies in `shared/data` beside the checkout; without it there are no figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from memcli.memory.context import Policy
from memcli.memory.facts import survives, values_of
from memcli.memory.fold import Task, fold, value_texts
from memcli.memory.summarizer import ExtractiveSummarizer
from memcli.memory.values import Value, ValueKind
from memcli.records import NewMessage
from memcli.store import Store
from memcli.transcripts.imported import ImportedConversation
from memcli.transcripts.openai_reader import read_openai
from tests.benchmarks.conversations import Stage
from tests.benchmarks.figures import Bound, Figure
from tests.locomo import data_file

DATA = "airline-agent.jsonl"
SUMMARY_TOKENS = 500
CAPS = (0, 100, 200, 400)
"""Tokens of carried values; 0 is without carrying."""
SPANS = (2_000, 4_000, 6_000, 12_000, 24_000)
"""Tokens of the folded span, in budget units."""
BOUND_CAP, BOUND_SPAN = 200, 6_000
ENOUGH = Bound("at least", 0.9)
MEASURED: tuple[ValueKind, ...] = ("identifier", "amount", "date", "email", "code")


@dataclass(frozen=True, slots=True)
class Share:
    """How many of a span's values are still there."""

    kept: int
    of: int

    def __add__(self, other: Share) -> Share:
        return Share(self.kept + other.kept, self.of + other.of)

    @property
    def share(self) -> float:
        """Tell the share; 1 where there was nothing to keep."""
        return self.kept / self.of if self.of else 1.0


def figures(stage: Stage) -> Iterator[Figure]:
    """Fold spans of each size at each cap: identifiers first, then every kind at the size that is promised."""
    path = data_file(DATA)
    if path is None:
        print(f"fidelity: shared/data beside the checkout has no {DATA}; nothing measured", flush=True)
        return
    conversations = _conversations(path)
    for span in SPANS:
        shares = {cap: _folded(stage, conversations, span, cap) for cap in CAPS}
        bare = shares[0]["identifier"]
        for cap in CAPS[1:]:
            bound = ENOUGH if cap == BOUND_CAP and span <= BOUND_SPAN else None
            yield _figure(f"identifiers kept, span {span:,}, values {cap}", shares[cap]["identifier"], bare, bound)
        if span == BOUND_SPAN:
            for kind in MEASURED[1:]:
                for cap in CAPS[1:]:
                    yield _figure(
                        f"{kind}s kept, span {span:,}, values {cap}", shares[cap][kind], shares[0][kind], None
                    )


def _figure(what: str, kept: Share, bare: Share, bound: Bound | None) -> Figure:
    """Give the share itself as the ratio: what is promised is a share, not a multiple."""
    return Figure(
        what, f"{kept.kept:,} of {kept.of:,} ({kept.share:.0%})", f"without {bare.share:.0%}", kept.share, bound
    )


def _conversations(path: Path) -> list[tuple[NewMessage, ...]]:
    """Read the conversations without their system prompts, which stand in every context themselves."""
    with path.open("rb") as stream:
        read = [item for item in read_openai(stream, name=DATA) if isinstance(item, ImportedConversation)]
    return [tuple(message for message in item.messages if message.role != "system") for item in read]


def _folded(stage: Stage, conversations: Sequence[Sequence[NewMessage]], span: int, cap: int) -> dict[ValueKind, Share]:
    """Fold every span of a size and add up what is kept of each kind."""
    total = dict.fromkeys(MEASURED, Share(0, 0))
    policy = Policy(summary_tokens=SUMMARY_TOKENS, values_tokens=cap)
    with Store(stage.folder / f"fidelity-{span}-{cap}.db") as store:
        for messages in _spans(conversations, span):
            found, text, carried = _fold(store, messages, policy)
            for value, alive in zip(found, survives(found, text, carried), strict=True):
                if value.kind in total:
                    total[value.kind] += Share(int(alive), 1)
    return total


def _spans(conversations: Sequence[Sequence[NewMessage]], span: int) -> Iterator[list[NewMessage]]:
    """Cut conversations, joined until they are long enough, to the size; a rest too short is left out."""
    joined: list[NewMessage] = []
    for number, messages in enumerate(conversations):
        joined += [replace(message, uid=f"{number}-{place}") for place, message in enumerate(messages)]
        sizes = list(accumulate(message.tokens for message in joined))
        if sizes and sizes[-1] >= span:
            yield [message for message, size in zip(joined, sizes, strict=True) if size <= span]
            joined = []


def _fold(store: Store, messages: Sequence[NewMessage], policy: Policy) -> tuple[list[Value], str, tuple[str, ...]]:
    talk = store.conversations.create().id
    stored = store.messages.append(talk, messages)
    result = fold(Task(store, talk, "running", policy, ExtractiveSummarizer(), stored[-1].id))
    assert result.summary is not None, result
    found = values_of([words for _, _, words in value_texts(stored)])
    return found, result.summary.text, result.summary.values
