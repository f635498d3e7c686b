"""The cost of a compaction from the first to the thousandth: the tokens of its request and of its summary."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import mean

from langchain_core.messages import AIMessage, BaseMessage

from memcli.agent.history import PersistentChatHistory
from memcli.memory import running
from memcli.memory.context import Policy
from memcli.memory.prompts import Prompt
from memcli.memory.summarizer import Completion, ExtractiveSummarizer, Summarizer, request_tokens
from memcli.memory.tokens import text_tokens
from memcli.store import Store
from tests.benchmarks.conversations import DISTINCT_TURNS, Stage, turn
from tests.benchmarks.figures import Bound, Figure

FOLDS = 1_000
TURNS_A_FOLD = 10
SPAN = DISTINCT_TURNS // TURNS_A_FOLD
"""Folds after which the turns repeat: two spans of this many folds saw the same messages."""
FLAT = Bound("at most", 1.1)
LONGEST_ANSWER = 200
"""Characters."""


class FullSummarizer:
    """A fake model whose every summary is as long as it may be, so that growth would show."""

    label = "fake"
    window_tokens = 8192

    def complete(self, prompt: Prompt) -> Completion:
        """Answer with the longest text that is accepted; the words vary with the prompt."""
        words = f"The user asked about reservation {len(prompt.user)} and the assistant confirmed it. "
        text = (words * (prompt.max_tokens // text_tokens(words)))[: prompt.max_tokens * 4 - 8]
        return Completion(text, request_tokens(prompt), text_tokens(text), "stop")


@dataclass(slots=True)
class Recorder:
    """Pass prompts on to a summarizer and keep what went in and what came out."""

    inner: Summarizer
    tokens_in: list[int] = field(default_factory=list)
    tokens_out: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Name the summarizer."""
        return self.inner.label

    @property
    def window_tokens(self) -> int:
        """Tell its window."""
        return self.inner.window_tokens

    def complete(self, prompt: Prompt) -> Completion:
        """Answer as the summarizer does."""
        started = time.perf_counter()
        completion = self.inner.complete(prompt)
        self.seconds.append(time.perf_counter() - started)
        self.tokens_in.append(request_tokens(prompt))
        self.tokens_out.append(text_tokens(completion.text))
        return completion


def figures(stage: Stage) -> Iterator[Figure]:
    """Fold a thousand times with each summarizer and compare the last folds with the first ones over the same turns."""
    summarizers: tuple[Summarizer, ...] = (FullSummarizer(), ExtractiveSummarizer())
    for summarizer in summarizers:
        recorder = Recorder(summarizer)
        summary_tokens = _fold_often(stage, recorder)
        for what, tokens in (("prompt", recorder.tokens_in), ("summary and values", summary_tokens)):
            first, last = mean(tokens[1 : SPAN + 1]), mean(tokens[-SPAN:])
            yield Figure(
                f"compaction {FOLDS:,}, tokens of the {what} ({summarizer.label})",
                f"{last:,.0f} tokens",
                f"itself at compaction 2 to {SPAN + 1} {first:,.0f} tokens",
                last / first,
                FLAT,
            )


def _fold_often(stage: Stage, recorder: Recorder) -> list[int]:
    """Fold after every ten turns and return each summary's tokens in a context."""
    tokens: list[int] = []
    with Store(stage.folder / f"folds-{recorder.label}.db") as store:
        history = PersistentChatHistory(store, "bench")
        for fold in range(FOLDS):
            for number in range(TURNS_A_FOLD):
                history.add_messages(_short_turn((fold * TURNS_A_FOLD + number) % DISTINCT_TURNS))
            result = running.settle(store, store.conversations.get("bench"), Policy(), recorder)
            assert result.status == "compacted", result
            assert result.summary is not None
            tokens.append(result.summary.tokens)
    return tokens


def _short_turn(number: int) -> tuple[BaseMessage, ...]:
    """Give a turn's question and the beginning of its answer: a thousand folds of whole turns take many minutes."""
    question, *_, answer = turn(number)
    return question, AIMessage(str(answer.content)[:LONGEST_ANSWER])
