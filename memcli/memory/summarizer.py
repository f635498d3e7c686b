"""Who writes a summary: the protocol a model is reached through, and the extractive summarizer that needs none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from memcli.memory.extract import NO_ACTIONS, extractive_summary, extractive_turn
from memcli.memory.prompts import Prompt
from memcli.memory.recalls import NOT_AVAILABLE
from memcli.memory.tokens import text_tokens
from memcli.memory.turn_prompts import TurnFields, write_turn

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
    is_quoted: bool = False
    """The text quotes messages word for word: a reasoning tag in it is what somebody said."""


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
        if prompt.schema is not None:
            request, actions, answer = extractive_turn(prompt.messages)
            fields = TurnFields(
                request or NOT_AVAILABLE, actions.replace(NO_ACTIONS, NOT_AVAILABLE), answer or NOT_AVAILABLE
            )
            return Completion(write_turn(fields), 0, 0, "stop", is_quoted=True)
        text = extractive_summary(previous=prompt.previous, messages=prompt.messages, max_tokens=prompt.max_tokens)
        return Completion(text, 0, 0, "stop", is_quoted=True)


def request_tokens(prompt: Prompt) -> int:
    """Count a prompt in budget tokens: what a model without counts of its own is taken to have read."""
    return text_tokens(prompt.system) + text_tokens(prompt.user) + 6
