"""The recap of an ongoing turn's middle: when it is made, what it never touches, and that it is made once."""

from __future__ import annotations

import pytest

from memcli.errors import ModelError, ModelUnreachable
from memcli.memory.context import Policy
from memcli.memory.fold import FoldResult
from memcli.memory.model import memory_of
from memcli.memory.spans import Spans
from memcli.memory.summarizer import Summarizer, request_tokens
from memcli.memory.wire import wire
from memcli.records import Conversation, NewMessage
from memcli.store import Store
from tests.cli.conversations import said
from tests.memory.sendable import assert_sendable
from tests.memory.turning import begin, hold, model, of_turns, see, settle, told

SMALL = Policy(max_tokens=400)


def round_of(number: int, words: int = 100) -> list[NewMessage]:
    """Make one round of a turn: two calls with their results."""
    calls = [{"id": f"c{number}{letter}", "name": "look", "args": {"at": number}} for letter in "ab"]
    results = [said("tool", f"row{number} " * words, tool_call_id=f"c{number}{letter}") for letter in "ab"]
    return [said("ai", "", tool_calls=calls), *results]


def prepare(
    store: Store, talk: Conversation, summarizer: Summarizer, turn_id: int, policy: Policy = SMALL
) -> FoldResult:  # fmt: skip
    now = store.conversations.get(talk.id)
    return memory_of("turns").prepare(store, now, policy, summarizer, turn_id)


def working(store: Store, talk: Conversation, rounds: int) -> int:
    """Open a turn of so many rounds."""
    messages = [said("human", "find it")]
    for number in range(rounds):
        messages += round_of(number)
    return hold(store, talk, messages, "open")


def test_the_middle_becomes_one_recap_between_the_users_message_and_the_newest_unit(store: Store) -> None:
    talk = begin(store)
    turn = working(store, talk, 3)
    before = list(store.messages.oldest_first(talk.id))
    result = prepare(store, talk, model(), turn)
    context = see(store, talk, SMALL, turn)
    assert (result.status, result.calls) == ("compacted", 1)
    assert told(context) == [
        ("new", 1, 1), ("compaction", 2, 7), ("message", 8, 8), ("message", 9, 9), ("message", 10, 10)
    ]  # fmt: skip
    assert context.ledger.summarised == Spans.of([(2, 7)])
    assert list(store.messages.oldest_first(talk.id)) == before
    assert_sendable(wire(context))
    assert wire(context)[1].content.startswith("[[harness recap | ")


def test_a_turn_within_its_bounds_is_left_alone(store: Store) -> None:
    talk = begin(store)
    turn = working(store, talk, 1)
    summarizer = model()
    assert prepare(store, talk, summarizer, turn).status == "nothing"
    assert summarizer.prompts == []


def test_a_recap_is_made_once_and_extended_only_when_the_rest_outgrows_the_bounds_again(store: Store) -> None:
    talk = begin(store)
    turn = working(store, talk, 3)
    summarizer = model()
    prepare(store, talk, summarizer, turn)
    prepare(store, talk, summarizer, turn)
    assert len(summarizer.prompts) == 1
    store.messages.append(talk.id, round_of(3), turn_id=turn)
    prepare(store, talk, summarizer, turn)
    assert summarizer.shown_ids == [[2, 3, 4, 5, 6, 7], [8, 9, 10]]
    assert summarizer.prompts[1].previous == "Talk of #2 #3 #4."
    assert told(see(store, talk, SMALL, turn))[1] == ("compaction", 2, 10)


def test_a_long_middle_is_recapped_in_requests_that_fit(store: Store) -> None:
    talk = begin(store)
    turn = working(store, talk, 30)
    summarizer = model(window_tokens=2500)
    prepare(store, talk, summarizer, turn)
    assert len(summarizer.prompts) > 1
    assert max(request_tokens(prompt) + prompt.max_tokens for prompt in summarizer.prompts) <= 2500
    assert sorted(id for ids in summarizer.shown_ids for id in ids) == list(range(2, 89))


@pytest.mark.parametrize("answer", ["", "Error: x", ModelError("no")])
def test_a_recap_that_fails_leaves_the_turn_whole(store: Store, answer: str | ModelError) -> None:
    talk = begin(store)
    turn = working(store, talk, 3)
    before = see(store, talk, SMALL, turn)
    assert prepare(store, talk, model(answer, answer), turn).status in ("rejected", "failed")
    assert see(store, talk, SMALL, turn) == before


def test_a_model_that_cannot_be_reached_is_said(store: Store) -> None:
    talk = begin(store)
    turn = working(store, talk, 3)
    with pytest.raises(ModelUnreachable):
        prepare(store, talk, model(ModelUnreachable("gone")), turn)


def test_a_model_that_keeps_failing_is_not_asked_on_every_round(store: Store) -> None:
    talk = begin(store)
    turn = working(store, talk, 3)
    summarizer = model(*[ModelError("down")] * 6)
    for _ in range(3):
        assert prepare(store, talk, summarizer, turn).status == "failed"
    result = prepare(store, talk, summarizer, turn)
    assert (result.status, len(summarizer.prompts)) == ("compacted", 6)
    assert result.summary is not None
    assert (result.summary.model, result.summary.fallback) == ("extractive", True)


def test_an_attempt_that_was_run_again_takes_its_recap_with_it(store: Store) -> None:
    talk = begin(store)
    turn = working(store, talk, 3)
    prepare(store, talk, model(), turn)
    store.turns.close(talk.id, turn, "failed")
    store.turns.reopen(talk.id, turn)
    store.messages.append(talk.id, round_of(9), turn_id=turn)
    assert told(see(store, talk, SMALL, turn)) == [
        ("new", 1, 1), ("message", 11, 11), ("message", 12, 12), ("message", 13, 13)
    ]  # fmt: skip


def test_when_the_turn_is_over_its_summary_stands_for_all_of_it(store: Store) -> None:
    talk = begin(store)
    turn = working(store, talk, 3)
    prepare(store, talk, model(), turn)
    store.messages.append(talk.id, [said("ai", "found")], turn_id=turn)
    store.turns.close(talk.id, turn, "done")
    settle(store, talk, model(), SMALL)
    assert [(item.first_message_id, item.last_message_id) for item in of_turns(store, talk)] == [(1, 11)]
    assert see(store, talk, SMALL).ledger.summarised == Spans.of([(1, 11)])
