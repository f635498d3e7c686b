"""What happens during a turn, as plain data for whoever watches: a terminal, a log, a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from memcli.errors import MemcliError, ModelError
from memcli.memory.context import Context
from memcli.memory.fold import FoldResult


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A request is about to go to the model."""

    call_id: int
    context: Context


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Some more of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """Some more of the model's reasoning, which is no part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is about to run."""

    name: str
    args: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool has run and its result is stored."""

    name: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class CallFinished:
    """The model has answered; counts are its own, None where it gave none."""

    call_id: int
    input_tokens: int | None
    output_tokens: int | None
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Folded:
    """A compaction was made, or failed, after the turn."""

    result: FoldResult


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know, in one line."""

    text: str


@dataclass(frozen=True, slots=True)
class Alarmed(Notice):
    """The server cut a call's prompt and said nothing: the answer there is answers something else."""

    error: ModelError
    """What a one-shot command ends with, when all else went well."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended."""

    turn_id: int
    status: Literal["done", "failed", "interrupted"]
    answer: str
    """The final answer's text, or the part that arrived; "" when none did."""
    error: MemcliError | None = None


Event: TypeAlias = (
    CallStarted | TextDelta | ReasoningDelta | ToolStarted | ToolFinished | CallFinished | Folded | Notice
)
