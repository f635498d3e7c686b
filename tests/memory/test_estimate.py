"""The three counts of a prompt: kept apart, and the estimate corrected by what credible calls reported."""

from __future__ import annotations

import pytest

from memcli.memory.context import Request
from memcli.memory.estimate import Counts, Estimate, corrected, counts, estimate, message_estimate, prompt_estimate
from memcli.memory.model import memory_of
from memcli.memory.wire import WireMessage
from memcli.records import ToolCall
from memcli.store import Store
from tests.cli.conversations import add_turn, said
from tests.memory.talks import SMALL, begin, keep, next_context, turn_of


def test_a_message_s_estimate_has_its_words_its_calls_and_its_frame() -> None:
    call = ToolCall("c1", "look", {"order": "PX-0001", "名": "京都"})

    assert message_estimate(WireMessage("user", "")) == 5
    assert message_estimate(WireMessage("user", "hello there")) == 7
    assert message_estimate(WireMessage("assistant", "hello there", (call,))) > 20


def test_the_tools_count_and_the_reserve_does_not(store: Store) -> None:
    talk = begin(store)
    add_turn(store, talk, said("human", "hello there"), said("ai", "yes"))
    now = store.conversations.get(talk.id)
    bare = memory_of("window").context(store, now, SMALL, Request())
    tooled = memory_of("window").context(store, now, SMALL, Request(tools_tokens=50))

    assert prompt_estimate(bare) == sum((5 + 4, 5 + 2, 5 + 1))
    assert prompt_estimate(tooled) == prompt_estimate(bare) + 50


@pytest.mark.parametrize(
    ("pairs", "tokens", "calls"),
    [
        ([], 1000, 0),
        ([(100, 120)], 1200, 1),
        ([(100, 120), (100, 140), (100, 130)], 1300, 3),
        ([(100, 40)], 1000, 0),
        ([(100, 40), (100, 30), (100, 110)], 1100, 1),
        ([(100, 900)], 3000, 1),
        ([(2000, 2010), (2800, 2050), (3600, 2040)], 1005, 1),
        ([(1000, 2900), (3000, 3100), (2000, 1900)], 1034, 3),
    ],
)
def test_credible_counts_correct_it_and_those_of_a_cut_prompt_do_not(
    pairs: list[tuple[int, int]], tokens: int, calls: int
) -> None:
    assert corrected(1000, pairs, "m") == Estimate(tokens, 1000, calls, "m")


def test_how_it_was_come_by_is_said() -> None:
    methods = [corrected(10, [(100, 110)] * number, "m").method for number in (0, 1, 2)]

    assert methods == ["by script", "by script, corrected by 1 call of m", "by script, corrected by 2 calls of m"]


def test_the_three_numbers_are_kept_apart(store: Store) -> None:
    talk = begin(store)
    keep(store, talk, [turn_of(1), turn_of(2)])
    context = next_context(store, talk)
    call = store.calls.get(talk.id, 1)

    found = counts(store, context, "fake", call)

    assert found == Counts(context.prompt_tokens, estimate(store, context, "fake"), 100)
    assert found.estimate.calls == 2
    assert counts(store, context, None) == Counts(
        context.prompt_tokens, Estimate(prompt_estimate(context), prompt_estimate(context), 0, None), None
    )
