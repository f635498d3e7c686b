"""What a window that slides every turn costs a server that keeps prompts, and what a step costs in recency.

A conversation of a hundred turns is held with the embedded model's real prompt cache: every turn's prompt is evaluated,
one token is generated, and what was evaluated and what came from the cache is the model's own count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from memcli.agent.codec import encode
from memcli.agent.embedded import EmbeddedChat
from memcli.agent.outgoing import to_langchain
from memcli.memory import window
from memcli.memory.context import Policy, Request
from memcli.memory.running import settle
from memcli.memory.summarizer import ExtractiveSummarizer
from memcli.memory.wire import wire
from memcli.store import Store
from tests.benchmarks.conversations import Stage, turn
from tests.benchmarks.figures import Bound, Figure

TURNS = 100
BUDGET = 1_000
"""The window's budget: small enough that the embedded model evaluates a hundred prompts in a minute or two."""
STEPS = (0, 250, 500)
"""Steps that are tried; a step is never more than half the budget."""
CHEAPER = Bound("at least", 1.3)


@dataclass(frozen=True, slots=True)
class Walk:
    """What one step came to."""

    step: int
    folds: bool
    """With the running summary, which stands at the prompt's beginning and changes at every fold."""
    evaluated: float
    """Prompt tokens the model evaluated a turn."""
    cached: float
    window_tokens: float
    """Verbatim history a turn, in budget tokens."""
    messages: float


def figures(stage: Stage) -> Iterator[Figure]:
    """Walk with each step, with and without the running summary, and compare what is evaluated a turn with step 0."""
    for folds in (True, False):
        walks = rows(stage, folds=folds)
        base = walks[0]
        best = min(walks, key=lambda walk: walk.evaluated)
        for walk in walks[1:]:
            what = f"prompt evaluated a turn, window_step {walk.step}, {'folding' if folds else 'window alone'}"
            ours = (
                f"{walk.evaluated:,.0f} tokens evaluated, {walk.cached:,.0f} cached, {walk.window_tokens:,.0f} of history"
                f" ({walk.messages:.1f} messages)"
            )
            against = (
                f"step 0 {base.evaluated:,.0f} evaluated, {base.cached:,.0f} cached, {base.window_tokens:,.0f} of history"
                f" ({base.messages:.1f} messages)"
            )
            ratio = base.evaluated / walk.evaluated
            yield Figure(what, ours, against, ratio, CHEAPER if walk is best else None)


def rows(stage: Stage, *, folds: bool, turns: int = TURNS, steps: Sequence[int] = STEPS) -> list[Walk]:
    """Walk the same conversation once with each step."""
    chat = EmbeddedChat(n_ctx=4096, max_tokens=1)
    return [_walk(stage, chat, step, turns, folds=folds) for step in steps]


def _walk(stage: Stage, chat: EmbeddedChat, step: int, turns: int, *, folds: bool) -> Walk:
    policy = Policy(max_tokens=BUDGET, limit_tokens=4096, output_reserve=256, window_step=step)
    evaluated: list[int] = []
    cached: list[int] = []
    shown: list[int] = []
    count: list[int] = []
    with Store(stage.folder / f"prefix-{step}-{folds}.db") as store:
        talk = store.conversations.create(system_prompt="You help with flights.").id
        for number in range(turns):
            question, answer = _exchange(number)
            begun = store.turns.start(talk)
            store.messages.append(talk, [encode(question)], turn_id=begun.id)
            now = store.conversations.get(talk)
            context = window.context(store, now, policy, Request(turn_id=begun.id))
            metadata = chat.invoke(to_langchain(wire(context))).response_metadata
            evaluated.append(metadata["prompt_tokens_evaluated"])
            cached.append(metadata["prompt_tokens_cached"])
            shown.append(context.window_tokens)
            count.append(context.ledger.verbatim.count)
            store.messages.append(talk, [encode(answer)], turn_id=begun.id)
            store.turns.close(talk, begun.id, "done")
            if folds:
                settle(store, store.conversations.get(talk), policy, ExtractiveSummarizer())
    settled = slice(turns // 5, None)
    return Walk(
        step, folds, mean(evaluated[settled]), mean(cached[settled]), mean(shown[settled]), mean(count[settled])
    )  # fmt: skip


def _exchange(number: int) -> tuple[BaseMessage, BaseMessage]:
    """Take a turn's question and answer; the stored answer stands for what the model would have said."""
    messages = turn(number)
    return HumanMessage(str(messages[0].content)), AIMessage(str(messages[-1].content))
