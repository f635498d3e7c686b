"""A Context: what the model sees on one call, part by part, and the ledger that says where every stored message is.

It holds the shapes both memory models fill in, and the request they are asked with. It refuses to know how a window is
chosen (`window`, `turns`) and what a provider accepts (`wire`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memcli.config import MAX_HISTORY_TOKENS, Settings
from memcli.memory.spans import Spans
from memcli.memory.tokens import count_message_tokens
from memcli.records import MemoryModel, PartRef, StoredMessage

Source = Literal[
    "system", "tools", "summary", "compaction", "turn_summary", "values", "plan", "pin", "message", "new", "reserve"
]
PartState = Literal["verbatim", "clipped", "summarised"]


@dataclass(frozen=True, slots=True)
class Policy:
    """How a context is built: the settings a memory model goes by. All amounts are budget tokens."""

    max_tokens: int = MAX_HISTORY_TOKENS
    limit_tokens: int = 8192
    output_reserve: int = 1024
    compact_every: int = 10
    compact_on_overflow: bool = True
    summary_tokens: int = 500
    values_tokens: int = 200
    max_summaries: int = 10
    on_full: str = "fold"
    window_step: int = 0
    keeps_units: bool = True
    """Never cut a tool call from its results. Off is the source's behaviour."""
    clips_newest: bool = True
    """Keep and clip a newest turn that alone exceeds the budget. Off is the source's behaviour: an empty window."""

    @classmethod
    def of(cls, settings: Settings, *, limit_tokens: int) -> Policy:
        """Take the policy from the settings; the limit is the model's affair and given."""
        return cls(
            max_tokens=settings.max_tokens,
            limit_tokens=limit_tokens,
            output_reserve=settings.output_reserve,
            compact_every=settings.compact_every,
            compact_on_overflow=settings.compact_on_overflow,
            summary_tokens=settings.summary_tokens,
            values_tokens=settings.values_tokens,
            max_summaries=settings.max_summaries,
            on_full=settings.on_full,
            window_step=settings.window_step,
        )


@dataclass(frozen=True, slots=True)
class Request:
    """What a context is asked for."""

    up_to: int | None = None
    """The last message that exists for it; None means all."""
    turn_id: int | None = None
    """The ongoing turn, which is in the context in full; None when no turn is under way."""
    tools_tokens: int = 0
    """What the tools' schemas take."""
    tools_text: str = ""
    """The tools' names, for people."""
    as_of: datetime | None = None
    """Summaries made later do not exist for it; None means all exist."""
    coming: StoredMessage | None = None
    """A message that is not stored yet and begins the next turn; its id is the next one. None means none is known."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a context, in the order the model sees them."""

    source: Source
    tokens: int
    why: str
    """Why it is there, in words a person reads."""
    text: str = ""
    first_message_id: int | None = None
    last_message_id: int | None = None
    state: PartState | None = None
    """What it makes of its messages in the ledger; None for a part that holds none."""
    message: StoredMessage | None = None
    shown_text: str | None = None
    """What replaces the message's content in the view: clipped, or with a metadata line."""
    summary_id: int | None = None

    def reference(self) -> PartRef:
        """Describe it by reference, for the record of a call; what nothing refers to is kept as it is."""
        is_kept = self.first_message_id is None and self.summary_id is None
        return PartRef(
            self.source, self.first_message_id, self.last_message_id, self.tokens, self.state, self.why,
            self.summary_id, self.text or None if is_kept else None,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ledger:
    """Where every stored message is: exactly one of four, or excluded."""

    verbatim: Spans = Spans()
    clipped: Spans = Spans()
    summarised: Spans = Spans()
    forgotten: Spans = Spans()
    excluded: Spans = Spans()

    @classmethod
    def of(cls, last_id: int, *, verbatim: Spans, clipped: Spans, covered: Spans, excluded: Spans) -> Ledger:
        """Place messages 1 to `last_id`: the first of verbatim, clipped, summarised that applies, else forgotten."""
        everything = Spans.of([(1, last_id)]) - excluded
        verbatim = verbatim & everything
        clipped = (clipped & everything) - verbatim
        summarised = ((covered & everything) - verbatim) - clipped
        forgotten = ((everything - verbatim) - clipped) - summarised
        return cls(verbatim, clipped, summarised, forgotten, excluded & Spans.of([(1, last_id)]))

    @property
    def total(self) -> int:
        """Count the messages it accounts for: the four added up."""
        return self.verbatim.count + self.clipped.count + self.summarised.count + self.forgotten.count


@dataclass(frozen=True, slots=True)
class Context:
    """What the model sees on one call."""

    conversation_id: str
    memory: MemoryModel
    policy: Policy
    parts: tuple[Part, ...]
    ledger: Ledger
    departures: tuple[str, ...] = ()
    """Where it departs from the published design, in words."""
    covered_up_to: int = 0
    """The last message the summary in it stands for; 0 without one."""

    @property
    def limit_tokens(self) -> int:
        """Tell the limit every part must fit in, the reserve included."""
        return self.policy.limit_tokens

    @property
    def tokens(self) -> int:
        """Add the parts up, the output reserve included."""
        return sum(part.tokens for part in self.parts)

    @property
    def prompt_tokens(self) -> int:
        """Add up what is sent: every part but the output reserve."""
        return sum(part.tokens for part in self.parts if part.source != "reserve")

    @property
    def answer_tokens(self) -> int:
        """Tell the room an answer has: what the prompt leaves of the limit, and never less than the reserve."""
        return max(self.policy.output_reserve, self.limit_tokens - self.prompt_tokens)

    @property
    def window_tokens(self) -> int:
        """Add up the verbatim history, clipped messages included."""
        return sum(part.tokens for part in self.parts if part.source == "message")


def system_tokens(text: str) -> int:
    """Count a text as a system message of its own."""
    return count_message_tokens(role="system", content=text)


def spans_of(parts: Iterable[Part], state: PartState) -> Spans:
    """Collect the messages of the parts in one state."""
    return Spans.of(
        (part.first_message_id, part.last_message_id or part.first_message_id)
        for part in parts
        if part.state == state and part.first_message_id is not None
    )
