"""A summarizer that answers what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from memcli.memory.prompts import Prompt
from memcli.memory.summarizer import Completion, request_tokens

Reply: TypeAlias = str | Completion | BaseException | Callable[[Prompt], str]


@dataclass
class ScriptedSummarizer:
    """Answer the replies in order, then `otherwise`."""

    replies: deque[Reply] = field(default_factory=deque)
    otherwise: Reply = "The user and the assistant talked."
    label: str = "scripted"
    window_tokens: int = 8192
    prompts: list[Prompt] = field(default_factory=list)

    def complete(self, prompt: Prompt) -> Completion:
        self.prompts.append(prompt)
        reply = self.replies.popleft() if self.replies else self.otherwise
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, Completion):
            return reply
        text = reply if isinstance(reply, str) else reply(prompt)
        return Completion(text, request_tokens(prompt), len(text) // 4, "stop")

    @property
    def shown_ids(self) -> list[list[int]]:
        """The messages each request showed."""
        return [[message.id for message in prompt.messages] for prompt in self.prompts]


def answering(*replies: Reply, window_tokens: int = 8192) -> ScriptedSummarizer:
    """Make a summarizer that gives these replies first."""
    return ScriptedSummarizer(deque(replies), window_tokens=window_tokens)
