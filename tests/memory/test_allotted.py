"""A server that says it allots less than it was asked for: which of its counts are of a prompt that it cut."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.memory.alarm import Alarm, judge, shortage
from memcli.memory.context import Context, Policy, Request
from memcli.memory.estimate import prompt_estimate, spoken
from memcli.memory.model import memory_of
from memcli.memory.wire import wire
from memcli.records import ALLOTTED, Call, PartRef
from memcli.store import Store
from tests import ollama_counts
from tests.cli.conversations import add_turn, said
from tests.memory.first_calls import a_first_call
from tests.memory.held_out import HELD_OUT
from tests.memory.talks import begin, record

ASKED = 16_384
ROOMY = Policy(max_tokens=6000, limit_tokens=ASKED)
LATIN, FOREIGN = (0.8, 0.9, 1.0, 1.15, 1.3), (0.5, 0.7, 1.0, 1.5, 2.2)
"""What a tokenizer makes of a text, as a share of what the mean of three makes."""


def sizes(context: Context, kind: str, factor: float) -> list[int]:
    """Count each message as a tokenizer does that nobody knows."""
    known = {text: tokens for text, tokens, _ in HELD_OUT.get(kind, ())}
    texts = [spoken(message) for message in wire(context)]
    return [math.ceil(factor * known.get(text, ollama_counts.tokens(text))) + 5 for text in texts]


def cut_by_messages(counted: list[int], allotted: int) -> int:
    """Drop the oldest messages, but the system's, until the rest fits."""
    kept = list(counted)
    while sum(kept) > allotted and len(kept) > 2:
        del kept[1]
    return min(sum(kept), allotted)


def judged(call: Call, context: Context, reported: int | None, allotted: int | None) -> Alarm | None:
    parts = call.parts if allotted is None else (*call.parts, PartRef(ALLOTTED, None, None, allotted, None, "said"))
    return judge(replace(call, input_tokens=reported, parts=parts), context, [])


@pytest.mark.parametrize("kind", ["english", "code", "json", "tool calls", "russian", "chinese", "japanese"])
def test_every_cut_is_caught_on_the_first_call(store: Store, kind: str) -> None:
    call, context = a_first_call(store, kind, ROOMY)
    missed = []
    for factor in FOREIGN if kind in ("russian", "chinese", "japanese") else LATIN:
        counted = sizes(context, kind, factor)
        for share in (0.99, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.5, 0.3):
            allotted = int(sum(counted) * share)
            for reported in (cut_by_messages(counted, allotted), allotted, allotted // 2 + 2):
                if judged(call, context, reported, allotted) is None:
                    missed.append((factor, share, reported))

    assert missed == []


@pytest.mark.parametrize("kind", ["english", "code", "json", "tool calls", "chinese"])
@pytest.mark.parametrize("factor", [0.9, 1.0, 1.15, 1.3])
def test_a_whole_prompt_that_leaves_room_for_an_answer_raises_no_alarm(store: Store, kind: str, factor: float) -> None:
    call, context = a_first_call(store, kind, ROOMY)
    whole = sum(sizes(context, kind, factor))

    assert [judged(call, context, whole, int(whole * room)) for room in (1.25, 1.5, 1.9, 2.5)] == [None] * 4


def test_a_server_that_allots_all_is_judged_as_one_that_says_nothing(store: Store) -> None:
    call, context = a_first_call(store, "english", ROOMY)
    estimate = prompt_estimate(context)

    @settings(max_examples=60, deadline=None)
    @given(share=st.floats(0.3, 1.5), more=st.integers(0, 100_000))
    def holds(share: float, more: int) -> None:
        reported = int(estimate * share)
        assert judged(call, context, reported, ASKED + more) == judged(call, context, reported, None)

    holds()


def test_the_words_name_what_is_allotted_and_the_hint_sets_it(store: Store) -> None:
    call, context = a_first_call(store, "english", ROOMY)
    estimate = prompt_estimate(context)
    allotted = int(estimate * 0.9)

    alarm = judged(call, context, allotted - 30, allotted)

    text = (
        f"fake read {allotted - 30:,} of about {estimate:,} prompt tokens: its server cut the oldest off silently;"
        f" it allots {allotted:,} of the 16,384 asked for"
    )
    assert alarm == Alarm("truncated", text, estimate, allotted - 30, allotted)
    assert alarm.error.hint == f"set `limit_tokens` to {allotted}, or raise the server's own context length"


def test_a_turn_that_alone_does_not_fit_is_told_as_cut_itself(store: Store) -> None:
    talk = begin(store)
    add_turn(store, talk, said("human", "which of them was sent back to where it came from? " * 100), status="open")
    context = memory_of("window").context(store, store.conversations.get(talk.id), ROOMY, Request(turn_id=1))
    call = store.calls.get(talk.id, record(store, context, 1))

    alarm = judged(call, context, 1000, 1000)

    assert alarm is not None
    assert alarm.kind == "cut_turn"
    assert "read 1,000 of " in alarm.text


def test_a_whole_that_our_estimate_would_have_fitted_is_told_as_more_than_fits(store: Store) -> None:
    call, context = a_first_call(store, "english", ROOMY)
    allotted = int(prompt_estimate(context) * 1.05)

    alarm = judged(call, context, allotted, allotted)

    assert alarm is not None
    assert alarm.text.startswith(f"fake read {allotted:,} of more than {allotted:,} prompt tokens: ")


def test_a_prompt_too_long_for_what_is_allotted_is_cut_whether_or_not_it_was_counted(store: Store) -> None:
    call, context = a_first_call(store, "english", ROOMY)

    alarm = judged(call, context, None, 500)

    assert alarm is not None
    assert (alarm.kind, alarm.reported) == ("truncated", None)
    assert alarm.text.startswith("fake read a part of about ")


def test_a_count_above_what_is_allotted_belies_it(store: Store) -> None:
    call, context = a_first_call(store, "english", ROOMY)

    assert judged(call, context, prompt_estimate(context), 500) is None


def test_less_than_asked_is_told_once_a_conversation_and_again_when_it_changes(store: Store) -> None:
    call, context = a_first_call(store, "english", ROOMY)
    store.calls.note_allotted(call.conversation_id, call.id, 4096)
    told = [shortage(store, call.conversation_id, call.id)]
    for allotted in (4096, 2048, ASKED, 2048):
        id = record(store, context, 1)
        store.calls.note_allotted(call.conversation_id, id, allotted)
        told.append(shortage(store, call.conversation_id, id))

    def line(allotted: int) -> str:
        asked = f"the server of fake allots {allotted:,} of the 16,384 tokens asked for, and will cut longer prompts"
        return f"{asked}; set `limit_tokens` to {allotted}, or raise the server's own context length"

    assert told == [line(4096), None, line(2048), None, line(2048)]
