"""Who writes a summary: the protocol a model is reached through, and the extractive summarizer that needs none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from memcli.memory.extract import extractive_summary

from memcli.memory.context import text_tokens
from memcli.memory.prompts import Prompt

EXTRACTIVE = "extractive"
"""The label of the extractive summarizer, as settings and summaries name it."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back for a prompt."""

    text: str
    input_tokens: int
    """As the model reported them; the estimate when it did not."""
    output_tokens: int
    finish_reason: str
    """`stop`, `length`, or what else the provider says."""
    asked_for_tools: bool = False


class Summarizer(Protocol):
    """Write a summary for a prompt. The only thing `memory` needs a model for."""

    @property
    def label(self) -> str:
        """Name it as summaries record it: a model's name, or `extractive`."""
        ...

    @property
    def window_tokens(self) -> int:
        """Tell the most its request and answer may take together."""
        ...

    def complete(self, prompt: Prompt) -> Completion:
        """Answer the prompt. Raises a MemcliError when there is no answer."""
        ...


class ExtractiveSummarizer:
    """Quote the sentences that carry the span, with their message ids. Deterministic, and costs no call."""

    label = EXTRACTIVE
    window_tokens = 8192

    def complete(self, prompt: Prompt) -> Completion:
        """Pick sentences up to the prompt's cap."""
        text = extractive_summary(previous=prompt.previous, messages=prompt.messages, max_tokens=prompt.max_tokens)
        return Completion(text, 0, 0, "stop")


def request_tokens(prompt: Prompt) -> int:
    """Count a prompt in budget tokens: what a model without counts of its own is taken to have read."""
    return text_tokens(prompt.system) + text_tokens(prompt.user) + 6
