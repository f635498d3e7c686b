"""What a window that slides every turn costs a server that keeps prompts, and what a step costs in recency.

A conversation of a hundred turns, each prompt compared with the one before. With the embedded model's real prompt cache
at a small budget, every prompt evaluated and its own counts read: llama.cpp also shifts what a sliding window still has
in common with the last prompt, so it keeps more than the beginning. And by comparing the prompts as they are sent, at
the default budget, with the running summary and without: what a server keeps that reuses the beginning alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import mean

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from memcli.agent.codec import encode
from memcli.agent.embedded import EmbeddedChat
from memcli.agent.outgoing import to_langchain
from memcli.config import MAX_HISTORY_TOKENS
from memcli.memory import window
from memcli.memory.context import Context, Policy, Request
from memcli.memory.prefix import reuse
from memcli.memory.running import settle
from memcli.memory.summarizer import ExtractiveSummarizer
from memcli.memory.wire import wire
from memcli.store import Store
from tests.benchmarks.conversations import Stage, turn
from tests.benchmarks.figures import Bound, Figure

TURNS = 100
SETTLED = 20
"""Turns that are left out of the means: the window is not full yet."""
SMALL_BUDGET = 240
"""Seven short turns: small enough that the embedded model evaluates a hundred prompts in two minutes."""
SMALL_QUESTION, SMALL_ANSWER = 50, 70
"""Characters of a short turn."""
CHEAPER = Bound("at least", 1.5)

Evaluate = Callable[[Context, Context | None], tuple[float, float]]
"""Tell how many tokens of a prompt are evaluated and how many are kept from the one before it."""


@dataclass(slots=True)
class Walk:
    """What a hundred turns came to, a turn an entry."""

    evaluated: list[float] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)
    history: list[int] = field(default_factory=list)
    """Verbatim history in the context, in budget tokens."""

    def told(self) -> str:
        """Say the means."""
        evaluated, kept, history = (mean(row[SETTLED:]) for row in (self.evaluated, self.kept, self.history))
        return f"{evaluated:,.0f} evaluated, {kept:,.0f} kept, {history:,.0f} of history"

    @property
    def cost(self) -> float:
        """Tell the tokens evaluated a turn."""
        return mean(self.evaluated[SETTLED:])


def figures(stage: Stage) -> Iterator[Figure]:
    """Compare each step with step 0, the default: prompt tokens evaluated a turn, and the history that is left."""
    yield from _compared(stage, "embedded model's cache", SMALL_BUDGET, (SMALL_BUDGET // 2,), _with_model())
    for folds, what in ((False, "prompts compared"), (True, "prompts compared, folding")):
        steps = (MAX_HISTORY_TOKENS // 4, MAX_HISTORY_TOKENS // 2)
        yield from _compared(stage, what, MAX_HISTORY_TOKENS, steps, by_comparing, folds=folds)


def by_comparing(context: Context, before: Context | None) -> tuple[float, float]:
    """Estimate from what is sent what a server keeps."""
    if before is None:
        return 0.0, 0.0
    shared = reuse(before, context)
    return shared.total_tokens - shared.shared_tokens, shared.shared_tokens


def walk(stage: Stage, budget: int, step: int, evaluate: Evaluate, *, folds: bool = False) -> Walk:
    """Hold the conversation under one step."""
    policy = Policy(max_tokens=budget, window_step=step)
    found = Walk()
    before: Context | None = None
    with Store(stage.folder / f"prefix-{budget}-{step}-{folds}-{id(evaluate)}.db") as store:
        talk = store.conversations.create(system_prompt="You help with flights.").id
        for number in range(TURNS):
            question, *rest = _exchange(number, is_short=budget == SMALL_BUDGET)
            begun = store.turns.start(talk)
            store.messages.append(talk, [encode(question)], turn_id=begun.id)
            context = window.context(store, store.conversations.get(talk), policy, Request(turn_id=begun.id))
            evaluated, kept = evaluate(context, before)
            found.evaluated.append(evaluated)
            found.kept.append(kept)
            found.history.append(context.window_tokens)
            before = context
            store.messages.append(talk, [encode(message) for message in rest], turn_id=begun.id)
            store.turns.close(talk, begun.id, "done")
            if folds:
                settle(store, store.conversations.get(talk), policy, ExtractiveSummarizer())
    return found


def _compared(
    stage: Stage, what: str, budget: int, steps: tuple[int, ...], evaluate: Evaluate, *, folds: bool = False
) -> Iterator[Figure]:
    base = walk(stage, budget, 0, evaluate, folds=folds)
    for step in steps:
        ours = walk(stage, budget, step, evaluate, folds=folds)
        bound = CHEAPER if step == steps[-1] else None
        title = f"prompt tokens a turn, budget {budget:,}, window_step {step:,} ({what})"
        yield Figure(title, ours.told(), f"step 0: {base.told()}", base.cost / ours.cost, bound)


def _with_model() -> Evaluate:
    chat = EmbeddedChat(n_ctx=2048, max_tokens=1)

    def evaluate(context: Context, before: Context | None) -> tuple[float, float]:
        metadata = chat.invoke(to_langchain(wire(context))).response_metadata
        return float(metadata["prompt_tokens_evaluated"]), float(metadata["prompt_tokens_cached"])

    return evaluate


def _exchange(number: int, *, is_short: bool) -> list[BaseMessage]:
    """Take a turn's messages; what is stored stands for what the model would have said."""
    messages = turn(number)
    if not is_short:
        return list(messages)
    question, answer = str(messages[0].content)[:SMALL_QUESTION], str(messages[-1].content)[:SMALL_ANSWER]
    return [HumanMessage(question), AIMessage(answer)]
