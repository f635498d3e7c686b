"""Model B's records and how they are told to a model: turn summaries, the folded compaction, and their metadata lines.

A recall begins with one metadata line that says who speaks and when. Text that imitates such a line is escaped, so that
nobody can forge one (a defect of the source). Names and fields are those of the OpenDataSci design.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from memcli.memory.carried import render_values as compact_values
from memcli.memory.prompts import render_values
from memcli.records import NewSummary, StoredMessage, Summary

Origin = Literal["user", "harness", "agent"]

NOT_AVAILABLE = "N/A"
"""What stands for a summary's field that holds nothing. Source: the design's own fallback."""
INTERRUPTED_NOTE = "The user interrupted this turn."
FAILED_NOTE = "This turn failed and was not answered."

ORIGINS: Mapping[str, Origin] = {
    "compaction": "harness", "summary": "harness", "plan": "harness", "agent_to_agent": "agent"
}  # fmt: skip
"""Who speaks in a stored message of a human's role, by its kind; the user where the kind is not here."""
RECAP_HEADING = "The middle of the ongoing turn, in short:"

_HIDDEN = "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
"""Characters nobody sees: a line is no less an imitation behind them."""
_IMITATION = re.compile(rf"^((?:[^\S\n]|[{_HIDDEN}])*)(\\*)\[\[", re.MULTILINE)
_LINE_BREAKS = re.compile("[\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
_METADATA = re.compile(r"\[\[(?:user|harness|agent)(?: [a-z ]+)? \| [0-9T:+.-]+(?: to [0-9T:+.-]+)?\]\]")


class LLMDigestibleMixin:
    """Give a record's plain text, as a model reads it."""

    def to_content(self) -> str:
        """Write the record as plain text, without metadata."""
        raise NotImplementedError


@dataclass(frozen=True)
class ChatTurnSummary(LLMDigestibleMixin):
    """What one completed turn came to."""

    turn_start_timestamp: datetime
    turn_end_timestamp: datetime
    user_message_summary: str
    """One sentence: what was asked, with its specifics."""
    actions_summary: str
    """Terse, concrete outcomes of what was done; `N/A` when nothing was."""
    agent_response_summary: str
    """One or two sentences: what was answered."""

    def to_content(self) -> str:
        """Write the three fields, one a line."""
        return (
            f"Request: {self.user_message_summary}\nActions: {self.actions_summary}\n"
            f"Response: {self.agent_response_summary}"
        )


@dataclass(frozen=True)
class ChatHistoryCompaction(LLMDigestibleMixin):
    """Everything older, folded into one text."""

    compacted_at: datetime
    timespan: tuple[datetime, datetime] | None
    """Earliest start and latest end of what it folds; None when unknown."""
    content: str

    def to_content(self) -> str:
        """Give the text."""
        return self.content


@dataclass(frozen=True)
class ChatTurnContext:
    """What a turn is answered with: the ongoing messages, the summaries of turns before, and the compaction."""

    messages: Sequence[object]
    turn_summaries: Sequence[ChatTurnSummary]
    chat_history_compaction: ChatHistoryCompaction | None


def metadata_line(origin: Origin, moment: datetime, *, what: str = "", until: datetime | None = None) -> str:
    """Write the one line a rendered message begins with: its origin and local time (ISO 8601 with offset)."""
    span = f"{_local(moment)} to {_local(until)}" if until is not None else _local(moment)
    return f"[[{origin}{f' {what}' if what else ''} | {span}]]"


def is_metadata_line(line: str) -> bool:
    """Tell whether a line is one of ours."""
    return _METADATA.fullmatch(line.strip()) is not None


def escaped(text: str) -> str:
    """Escape every line of a text that would begin like metadata, whatever a reader takes for a line break."""
    return _IMITATION.sub(r"\1\\\2[[", _LINE_BREAKS.sub("\n", text))


def rendered(origin: Origin, moment: datetime, text: str, *, what: str = "", until: datetime | None = None) -> str:
    """Write a message with its metadata line in front and nothing in it that could pass for another."""
    return f"{metadata_line(origin, moment, what=what, until=until)}\n{escaped(text)}"


def rendered_message(message: StoredMessage, text: str) -> str:
    """Write what is shown of a stored message in a human's role, with its metadata line in front."""
    return rendered(ORIGINS.get(message.kind, "user"), message.created_at, text)


def turn_summary_of(summary: NewSummary) -> ChatTurnSummary:
    """Read a stored turn summary as the design's record."""
    details = summary.details
    return ChatTurnSummary(
        _moment(details.get("started_at")),
        _moment(details.get("ended_at")),
        str(details.get("user") or NOT_AVAILABLE),
        str(details.get("actions") or NOT_AVAILABLE),
        str(details.get("response") or NOT_AVAILABLE),
    )


def compaction_of(summary: Summary) -> ChatHistoryCompaction:
    """Read a stored compaction as the design's record."""
    span = summary.details.get("timespan")
    timespan = (_moment(span[0]), _moment(span[1])) if isinstance(span, list) and len(span) == 2 else None
    return ChatHistoryCompaction(summary.created_at, timespan, summary.text)


def render_turn_summary(summary: NewSummary) -> str:
    """Write a turn summary as the recall a model gets."""
    record = turn_summary_of(summary)
    start, end = record.turn_start_timestamp, record.turn_end_timestamp
    content = record.to_content()
    if summary.values:
        content += f"\nExact values: {compact_values(summary.values)}"
    return rendered("harness", start, content, what="turn summary", until=end)


def render_compaction(summary: Summary) -> str:
    """Write the compaction as the recall a model gets."""
    record = compaction_of(summary)
    first, last = record.timespan or (record.compacted_at, None)
    return rendered("harness", first, record.to_content(), what="compaction", until=last)


def render_carried(summary: Summary) -> str:
    """Write the values a compaction carries as the recall a model gets."""
    return rendered("harness", summary.created_at, render_values(summary.values), what="values")


def render_recap(recap: Summary) -> str:
    """Write the recap of an ongoing turn's middle as the recall a model gets."""
    return rendered("harness", recap.created_at, f"{RECAP_HEADING}\n{recap.text}", what="recap")


def render_plan(text: str, moment: datetime) -> str:
    """Write the current plan as the recall a model gets."""
    return rendered("harness", moment, text, what="plan")


def _local(moment: datetime) -> str:
    return moment.astimezone().isoformat(timespec="seconds")


def _moment(text: object) -> datetime:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
