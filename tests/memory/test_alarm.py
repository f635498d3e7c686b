"""The truncation alarm: on the first call, and each thing that goes wrong told apart from the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memcli.errors import ContextOverflow, ModelError, ModelTimeout, PromptTruncated
from memcli.memory.alarm import HINT, Alarm, alarm_of, is_overflow, judge, turn_estimate
from memcli.memory.context import Context, Policy, Request
from memcli.memory.estimate import prompt_estimate, spoken
from memcli.memory.model import memory_of
from memcli.memory.wire import wire
from memcli.records import Call
from memcli.store import Store
from tests import ollama_counts
from tests.cli.conversations import add_turn, said
from tests.memory.first_calls import a_first_call
from tests.memory.held_out import HELD_OUT
from tests.memory.talks import begin, record, turn_of

ROOMY = Policy(max_tokens=4000, limit_tokens=8192)


def a_call(store: Store, reported: int | None, *, error: str | None = None) -> tuple[Call, Context]:
    """Make the call of a long conversation's next turn."""
    talk = begin(store)
    for number in range(1, 40):
        add_turn(store, talk, *turn_of(number))
    add_turn(store, talk, said("human", "What became of all of them, and which were sent last? " * 8), status="open")
    now = store.conversations.get(talk.id)
    context = memory_of("window").context(store, now, ROOMY, Request(turn_id=40))
    call = store.calls.get(talk.id, record(store, context, 40))
    return replace(call, input_tokens=reported, status="failed" if error else "done", error=error), context


def kind(alarm: Alarm | None) -> str | None:
    return alarm.kind if alarm else None


SHARES = (1.0, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.3)


@pytest.mark.parametrize(
    ("kind", "caught_from"),
    [
        ("english", 0.8),
        ("code", 0.8),
        ("json", 0.7),
        ("tool calls", 0.7),
        ("russian", 0.6),
        ("chinese", 0.6),
        ("japanese", 0.6),
        ("emoji", 0.6),
    ],
)
def test_a_first_call_is_caught_from_a_cut_on_that_no_tokenizer_explains(
    store: Store, kind: str, caught_from: float
) -> None:
    """The server's tokenizer is the mean of three; nothing is known of it, and shares are of what it makes of all."""
    call, context = a_first_call(store, kind, ROOMY)
    whole = counted_whole(context, kind)

    caught = [share for share in SHARES if judge(replace(call, input_tokens=int(whole * share)), context, [])]

    assert caught == [share for share in SHARES if share <= caught_from]


def counted_whole(context: Context, kind: str) -> int:
    """Tell what a server counts of a prompt of one kind of text."""
    tokens = {text: tokens for text, tokens, _ in HELD_OUT.get(kind, ())}
    messages = wire(context)
    return sum(5 + tokens.get(spoken(message), ollama_counts.tokens(spoken(message))) for message in messages)


@pytest.mark.parametrize(("share", "expected"), [(0.3, "truncated"), (0.02, "cut_turn")])
def test_a_cut_into_the_user_s_turn_is_told_from_one_before_it(store: Store, share: float, expected: str) -> None:
    call, context = a_call(store, 1)

    assert kind(judge(replace(call, input_tokens=int(prompt_estimate(context) * share)), context, [])) == expected


@pytest.mark.parametrize(
    ("ratio", "reported", "expected"),
    [
        (1.0, 0.9, None),
        (1.0, 0.64, "truncated"),
        (1.15, 1.0, None),
        (1.15, 0.68, "truncated"),
        (1.15, 0.03, "cut_turn"),
        (3.0, 0.9, None),
    ],
)
def test_later_calls_are_judged_by_what_the_server_counted_before(
    store: Store, ratio: float, reported: float, expected: str | None
) -> None:
    call, context = a_call(store, 1)
    estimate = prompt_estimate(context)
    before = [(1000, int(1000 * ratio))] * 3

    assert kind(judge(replace(call, input_tokens=int(estimate * reported)), context, before)) == expected


def test_cut_prompts_do_not_teach_the_alarm_to_be_silent(store: Store) -> None:
    call, context = a_call(store, 1)
    estimate = prompt_estimate(context)
    cut = [(estimate, estimate // 3)] * 10

    assert kind(judge(replace(call, input_tokens=estimate // 3), context, cut)) == "truncated"


def test_the_words_name_the_model_and_the_numbers(store: Store) -> None:
    call, context = a_call(store, 600)
    estimate = prompt_estimate(context)

    alarm = judge(call, context, [])

    text = f"fake read 600 of about {estimate:,} prompt tokens: its server cut the oldest off silently"
    assert alarm == Alarm("truncated", text, estimate, 600)
    assert isinstance(alarm.error, PromptTruncated)
    assert (alarm.error.message, alarm.error.hint, alarm.error.exit_code) == (text, HINT, 4)


def test_a_cut_turn_says_that_what_was_asked_was_cut(store: Store) -> None:
    call, context = a_call(store, 50)
    estimate, turn = prompt_estimate(context), turn_estimate(context)

    alarm = judge(call, context, [])

    assert alarm is not None
    assert alarm.text == (
        f"fake read 50 of about {estimate:,} prompt tokens: its server cut what was asked now, which alone takes {turn}"
    )
    assert isinstance(alarm.error, PromptTruncated)


@pytest.mark.parametrize(
    ("error", "expected", "raised"),
    [
        ("the prompt needs 9,000 tokens and 8,192 are available", "refused", ModelError),
        ("the prompt does not fit the model's context: too long", "refused", ModelError),
        ("the model server at http://x sent nothing in time", "silent", ModelTimeout),
        ("the model server sent no answer at all", "silent", ModelTimeout),
        ("fake broke off in the middle of its answer", "silent", ModelTimeout),
        ("the model server failed with 500: out of memory", None, None),
    ],
)
def test_a_call_that_failed_is_told_apart_by_its_error(
    store: Store, error: str, expected: str | None, raised: type[ModelError] | None
) -> None:
    call, context = a_call(store, None, error=error)

    alarm = judge(call, context, [])

    assert kind(alarm) == expected
    assert (type(alarm.error) if alarm else None) == raised


def test_nobody_can_tell_without_a_count_or_on_a_short_prompt(store: Store) -> None:
    call, context = a_call(store, None)
    assert judge(call, context, []) is None
    talk = begin(store, name="short")
    add_turn(store, talk, said("human", "hello"), status="open")
    short = memory_of("window").context(store, store.conversations.get(talk.id), ROOMY, Request(turn_id=1))

    assert judge(replace(call, estimated_tokens=prompt_estimate(short), input_tokens=3), short, []) is None


def test_a_recorded_call_is_judged_by_the_others_and_not_by_itself(store: Store) -> None:
    call, context = a_call(store, 1)
    estimate = prompt_estimate(context)
    ids = []
    for reported in (estimate, estimate, estimate, int(estimate * 0.8)):
        ids.append(record(store, context, 40, reported=reported))

    assert [kind(alarm_of(store, call.conversation_id, id, context)) for id in ids] == [None, None, None, "truncated"]


def test_an_overflow_is_known_by_class_or_words() -> None:
    assert is_overflow(ContextOverflow("the prompt", 9, 8))
    assert is_overflow(ModelError("the prompt does not fit the model's context: x"))
    assert not is_overflow(ModelError("something else"))
