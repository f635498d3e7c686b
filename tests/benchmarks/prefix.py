"""What a window that slides every turn costs a server that keeps prompts, and what a step costs in recency.

A conversation of a hundred turns, each prompt compared with the one before. At a small budget every prompt is evaluated
with the embedded model's real prompt cache, its own counts are read, and what comparing the prompts says is set beside
them. At the default budget, with the running summary and without, they are only compared: the first shows how far that
can be believed. The best step is half the budget: a larger one is taken as half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
SETTLED = 15
"""Turns that are left out of the means, and that no model evaluates: the window is not full yet."""
SMALL_BUDGET = 120
"""Six short turns: so few that one thread evaluates the prompts of all three walks in about five minutes."""
SMALL_QUESTION, SMALL_ANSWER = 20, 24
"""Characters of a short turn."""
CHEAPER = Bound("at least", 1.5)
AGREES = Bound("at most", 1.1)
"""How much more the model may evaluate than comparing the prompts says."""

Evaluate = Callable[[Context], tuple[float, float]]
"""Tell how many tokens of a prompt were evaluated, and how many were kept from the ones before it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One turn's prompt."""

    evaluated: float
    kept: float
    """What was not evaluated again."""
    history: int
    """Verbatim history in the context, in budget tokens."""
    compared: float
    """What was evaluated, by comparing the prompt with the one before."""


@dataclass(frozen=True, slots=True)
class Walk:
    """What a hundred turns came to, those left out in which the window fills."""

    turns: tuple[Measured, ...]

    @property
    def evaluated(self) -> float:
        """Tell the prompt tokens evaluated a turn."""
        return mean(turn.evaluated for turn in self.turns)

    @property
    def compared(self) -> float:
        """Tell the same by comparing the prompts."""
        return mean(turn.compared for turn in self.turns)

    @property
    def history(self) -> float:
        """Tell the history a turn, in budget tokens."""
        return mean(turn.history for turn in self.turns)

    def told(self) -> str:
        """Say the means."""
        kept = mean(turn.kept for turn in self.turns)
        return f"{self.evaluated:,.0f} evaluated, {kept:,.0f} kept, {self.history:,.0f} of history"


def figures(stage: Stage) -> Iterator[Figure]:
    """Compare each step with step 0, the default: prompt tokens evaluated a turn, and the history that is left."""
    walks = {step: walk(stage, SMALL_BUDGET, step, _with_model()) for step in _steps(SMALL_BUDGET)}
    yield from _compared("embedded model's cache", SMALL_BUDGET, walks)
    yield _agreement(walks)
    for folds, what in ((False, "prompts compared"), (True, "prompts compared, folding")):
        walks = {step: walk(stage, MAX_HISTORY_TOKENS, step, folds=folds) for step in _steps(MAX_HISTORY_TOKENS)}
        yield from _compared(what, MAX_HISTORY_TOKENS, walks)


def walk(stage: Stage, budget: int, step: int, evaluate: Evaluate | None = None, *, folds: bool = False) -> Walk:
    """Hold the conversation under one step. Without `evaluate` the prompts are only compared.

    Each walk has a system prompt of its own: a server that remembers another walk's prompts must not find them here.
    """
    policy = Policy(max_tokens=budget, window_step=step)
    found: list[Measured] = []
    before: Context | None = None
    with Store(stage.folder / f"prefix-{budget}-{step}-{folds}.db") as store:
        talk = store.conversations.create(system_prompt=f"Step {step}: you help with flights.").id
        for number in range(TURNS):
            question, *rest = _exchange(number, is_short=budget == SMALL_BUDGET)
            begun = store.turns.start(talk)
            store.messages.append(talk, [encode(question)], turn_id=begun.id)
            context = window.context(store, store.conversations.get(talk), policy, Request(turn_id=begun.id))
            if before is not None and number >= SETTLED - 1:
                found.append(_measured(context, before, evaluate))
            before = context
            store.messages.append(talk, [encode(message) for message in rest], turn_id=begun.id)
            store.turns.close(talk, begun.id, "done")
            if folds:
                settle(store, store.conversations.get(talk), policy, ExtractiveSummarizer())
    return Walk(tuple(found[1:]))


def _measured(context: Context, before: Context, evaluate: Evaluate | None) -> Measured:
    shared = reuse(before, context)
    compared = shared.total_tokens - shared.shared_tokens
    evaluated, kept = evaluate(context) if evaluate else (compared, shared.shared_tokens)
    return Measured(evaluated, kept, context.window_tokens, compared)


def _steps(budget: int) -> tuple[int, ...]:
    return 0, budget // 4, budget // 2


def _compared(what: str, budget: int, walks: Mapping[int, Walk]) -> Iterator[Figure]:
    base = walks[0]
    best = min(walks, key=lambda step: walks[step].evaluated)
    for step, ours in walks.items():
        if step == 0:
            continue
        title = f"prompt tokens a turn, budget {budget:,}, window_step {step:,} ({what})"
        lost = f"{ours.told()} ({1 - ours.history / base.history:.0%} less)"
        bound = CHEAPER if step == best else None
        yield Figure(title, lost, f"step 0: {base.told()}", base.evaluated / ours.evaluated, bound)


def _agreement(walks: Mapping[int, Walk]) -> Figure:
    """Set what the model evaluated beside what comparing says; the ratio is that of the step where they differ most."""
    ratios = {step: ours.evaluated / ours.compared for step, ours in walks.items()}
    worst = max(ratios.values(), key=lambda ratio: abs(ratio - 1))
    return Figure(
        f"evaluated by the model, steps {', '.join(map(str, walks))}",
        ", ".join(f"{ours.evaluated:,.0f}" for ours in walks.values()),
        "comparing the prompts: " + ", ".join(f"{ours.compared:,.0f}" for ours in walks.values()),
        worst,
        AGREES,
    )


def _with_model() -> Evaluate:
    chat = EmbeddedChat(n_ctx=2048, max_tokens=1)

    def evaluate(context: Context) -> tuple[float, float]:
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
