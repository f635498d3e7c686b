"""Whether a memory model has something to fold, in the words both models use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Due:
    """Whether a fold is due, and what it would take."""

    reason: str | None
    """Why it is due, in words; None when it is not."""
    humans: int
    """The user's messages since the last fold, counted up to the policy's bound."""
    first_message_id: int
    last_message_id: int
    """The uncovered span; empty (first > last) when everything is covered."""
    turns_left: int = 0
    """The user's messages until the next fold by count; 0 when one is due."""
