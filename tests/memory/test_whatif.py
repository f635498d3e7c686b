"""What a conversation would look like under other policies, without touching it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memcli.config import Settings
from memcli.errors import UsageError
from memcli.memory.context import Policy, Request
from memcli.memory.model import memory_of
from memcli.memory.whatif import Alternative, Outcome, alternative, compare
from memcli.store import Store
from tests.memory.talks import SMALL, begin, keep, turn_of

SETTINGS = Settings(max_tokens=220, output_reserve=200)


def limit_of(settings: Settings) -> int:
    """Know two models."""
    return settings.limit_tokens or {"tiny": 1000}.get(settings.model, 8192)


def told(text: str) -> Alternative:
    return alternative(text, SETTINGS, "window", limit_of=limit_of)


def test_a_change_is_read_with_the_settings_names_and_checks() -> None:
    base = Policy.of(SETTINGS, limit_tokens=8192)

    assert told("") == Alternative("as it is", "window", base)
    assert told("max_tokens=1_000") == Alternative("max_tokens=1_000", "window", replace(base, max_tokens=1000))
    assert told("max_tokens=1000, memory=turns") == Alternative(
        "max_tokens=1000, memory=turns", "turns", replace(base, max_tokens=1000)
    )
    assert told("limit=2000").policy == replace(base, limit_tokens=2000)
    assert told("model=tiny").policy == replace(base, limit_tokens=1000)
    assert told("compact-every=3,step=100,on_full=clear").policy == replace(
        base, compact_every=3, window_step=100, on_full="clear"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_tokens", "--compare 'max_tokens' is not KEY=VALUE"),
        ("=3", "--compare '=3' is not KEY=VALUE"),
        ("max_token=3", "no setting is called 'max_token' (in --compare)"),
        ("max_tokens=many", "max_tokens = 'many' is not a whole number"),
        ("memory=perfect", "memory = 'perfect' is not known"),
        ("compact_every=0", "compact_every = 0 is too small"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        told(text)

    assert refused.value.message == message


def test_each_policy_has_its_context_and_nothing_changes(store: Store) -> None:
    talk = begin(store)
    keep(store, talk, [turn_of(number) for number in range(1, 12)])
    now = store.conversations.get(talk.id)
    before = store.summaries.list(talk.id), store.calls.newest_first(talk.id)
    plans = [
        Alternative("as it is", "window", SMALL),
        Alternative("memory=turns", "turns", SMALL),
        Alternative("max_tokens=60", "window", replace(SMALL, max_tokens=60)),
    ]

    outcomes = compare(store, now, plans)

    assert [outcome.alternative for outcome in outcomes] == plans
    for outcome in outcomes:
        plan = outcome.alternative
        assert outcome == Outcome(
            plan,
            memory_of(plan.memory).context(store, now, plan.policy, Request()),
            memory_of(plan.memory).due(store, now, plan.policy, Request()),
        )
    forgotten = [outcome.context.ledger.forgotten.count for outcome in outcomes if outcome.context]
    assert forgotten[0] == 0 < forgotten[1]
    assert (store.summaries.list(talk.id), store.calls.newest_first(talk.id)) == before
    assert store.conversations.get(talk.id) == now


def test_tokens_add_up_by_source(store: Store) -> None:
    talk = begin(store)
    keep(store, talk, [turn_of(number) for number in range(1, 12)])

    (outcome,) = compare(store, store.conversations.get(talk.id), [Alternative("", "window", SMALL)])

    assert outcome.context is not None
    assert [source for source, _ in outcome.tokens_by_source] == ["system", "summary", "values", "message", "reserve"]
    assert sum(tokens for _, tokens in outcome.tokens_by_source) == outcome.context.tokens


def test_a_policy_that_cannot_hold_what_must_be_there_says_so(store: Store) -> None:
    talk = begin(store)
    keep(store, talk, [turn_of(1)])
    low = Alternative("limit=201", "window", replace(SMALL, limit_tokens=201))

    (outcome,) = compare(store, store.conversations.get(talk.id), [low])

    assert (outcome.context, outcome.tokens_by_source) == (None, ())
    assert outcome.overflow is not None
    assert outcome.overflow.message == "what is always sent needs 8 tokens and 0 are available"
