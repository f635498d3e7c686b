"""What two prompts share from their beginning, and the window's steps that keep it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.memory import window
from memcli.memory.context import Context, Policy, Request
from memcli.memory.estimate import wire_estimate
from memcli.memory.prefix import Reuse, reusable_tokens, reuse
from memcli.memory.window import stepped
from memcli.memory.wire import WireMessage, wire
from memcli.store import Store
from tests.histories import exchange, opened, stored
from tests.memory.talks import begin, turn_of

PLAIN = Policy(max_tokens=300, limit_tokens=4000, output_reserve=200)
words = st.lists(st.sampled_from(["tea", "seat 14C", "京都", "\n"]), max_size=5).map(" ".join)
prompts = st.lists(
    st.builds(WireMessage, st.sampled_from(["user", "assistant"]), words), max_size=6
)  # fmt: skip


def test_the_shared_beginning_ends_where_two_prompts_part() -> None:
    system, hello = WireMessage("system", "You help."), WireMessage("user", "hello")
    one = [system, hello, WireMessage("assistant", "the same words to begin with, then these")]
    other = [system, hello, WireMessage("assistant", "the same words to begin with, but others")]

    assert reusable_tokens([], one) == reusable_tokens(one, []) == 0
    assert reusable_tokens(one, one) == wire_estimate(one)
    assert reusable_tokens(one[:2], one) == wire_estimate(one[:2])
    assert wire_estimate(one[:2]) < reusable_tokens(one, other) < wire_estimate(other)
    assert reusable_tokens([system], [WireMessage("user", "You help.")]) == 0


@given(prompts, prompts)
def test_what_is_shared_is_symmetric_in_kind_and_never_more_than_either(
    one: list[WireMessage], other: list[WireMessage]
) -> None:
    shared = reusable_tokens(one, other)

    assert shared == reusable_tokens(other, one)
    assert 0 <= shared <= min(wire_estimate(one), wire_estimate(other))
    assert reusable_tokens(one, [*one, *other]) >= wire_estimate(one)


def test_a_share_of_nothing_is_nothing() -> None:
    assert Reuse(0, 0).share == 0.0
    assert Reuse(30, 40).share == 0.75


@given(st.integers(1, 5000), st.integers(0, 20_000), st.integers(0, 6000))
def test_a_stepped_budget_is_within_the_budget_and_moves_the_start_by_whole_steps(
    max_tokens: int, behind: int, step: int
) -> None:
    budget = stepped(max_tokens, behind, step)

    assert max_tokens // 2 <= budget <= max_tokens
    if behind > max_tokens and min(step, max_tokens // 2) > 0:
        assert (behind - budget) % min(step, max_tokens // 2) == 0
    else:
        assert budget == max_tokens


def walked(store: Store, policy: Policy, turns: int) -> list[Context]:
    """Give the context of every turn's call."""
    talk = begin(store)
    seen: list[Context] = []
    for number in range(1, turns + 1):
        turn = store.turns.start(talk.id)
        question, *rest = turn_of(number)
        store.messages.append(talk.id, [question], turn_id=turn.id)
        seen.append(window.context(store, store.conversations.get(talk.id), policy, Request(turn_id=turn.id)))
        store.messages.append(talk.id, rest, turn_id=turn.id)
        store.turns.close(talk.id, turn.id, "done")
    return seen


def test_with_a_step_most_turns_only_append(store: Store) -> None:
    sliding = walked(store, PLAIN, 40)[15:]
    stepping = walked(store, replace(PLAIN, window_step=150), 40)[15:]

    def appended(contexts: list[Context]) -> int:
        return sum(wire(after)[: len(wire(before))] == wire(before) for before, after in pairwise(contexts))

    def kept(contexts: list[Context]) -> float:
        shares = [reuse(before, after).share for before, after in pairwise(contexts)]
        return sum(shares) / len(shares)

    assert (appended(sliding), appended(stepping)) == (0, 15)
    assert kept(sliding) < 0.1 < 0.5 < kept(stepping)


@settings(max_examples=40)
@given(st.integers(1, 25), st.integers(40, 400), st.integers(1, 400))
def test_a_stepped_window_is_a_suffix_of_the_sliding_one_and_keeps_the_newest_turn(
    tmp_path_factory: pytest.TempPathFactory, turns: int, max_tokens: int, step: int
) -> None:
    policy = replace(PLAIN, max_tokens=max_tokens)
    with opened(tmp_path_factory.mktemp("step")) as store:
        talk = stored(store, [message for number in range(turns) for message in exchange(number)])

        sliding = window.context(store, talk, policy, Request())
        stepping = window.context(store, talk, replace(policy, window_step=step), Request())

        whole, short = _messages(sliding), _messages(stepping)
        assert short == whole[len(whole) - len(short) :]
        assert bool(short) == bool(whole)
        assert stepping.window_tokens <= max_tokens
        assert not short or wire(stepping)[0].role == "user"


def test_the_start_is_a_function_of_the_log_alone(store: Store) -> None:
    policy = replace(PLAIN, window_step=150)
    contexts = walked(store, policy, 30)
    now = store.conversations.find("talk")
    asked = [max(part.last_message_id or 0 for part in context.parts) for context in contexts]

    again = [
        window.context(store, now, policy, Request(up_to=id, turn_id=store.messages.get(now.id, id).turn_id))
        for id in asked
    ]

    assert [context.parts for context in again] == [context.parts for context in contexts]


def _messages(context: Context) -> list[int]:
    return [part.message.id for part in context.parts if part.message is not None]
