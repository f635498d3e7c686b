"""What both memory models promise, each promise held against both."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import ContextOverflow, NotFound
from memcli.memory.context import Policy, Request
from memcli.memory.lacking import lacks
from memcli.memory.model import forget_turn, memory_of
from memcli.memory.prompts import Prompt
from memcli.memory.spans import Spans
from memcli.memory.wire import wire
from memcli.records import Conversation, MemoryModel, NewMessage, TurnStatus
from memcli.store import Store
from tests.cli.conversations import said
from tests.memory.contract import (
    Died,
    DyingStore,
    assert_adds_up,
    context_of,
    files,
    random_turns,
    settle,
    state,
    written,
)
from tests.memory.sendable import assert_sendable
from tests.memory.summarizers import answering
from tests.memory.talks import SMALL, begin, keep, turn_of
from tests.memory.turning import hold, proper

MODELS: tuple[MemoryModel, ...] = ("window", "turns")
pytestmark = pytest.mark.parametrize("memory", MODELS)


@settings(max_examples=60)
@given(
    turns=random_turns(), budget=st.integers(1, 900), limit=st.integers(400, 2500), settles=st.booleans(),
    is_open=st.booleans(),
)  # fmt: skip
def test_every_message_is_accounted_for_and_what_is_sent_is_valid_at_every_budget(
    store: Store, memory: MemoryModel, turns: list[tuple[list[NewMessage], TurnStatus]], budget: int, limit: int,
    settles: bool, is_open: bool,
) -> None:  # fmt: skip
    talk = store.conversations.create(memory=memory, system_prompt="You look things up.")
    policy = Policy(
        max_tokens=budget, limit_tokens=limit, output_reserve=100, compact_every=2, max_summaries=2,
        summary_tokens=60, values_tokens=20,
    )  # fmt: skip
    for messages, status in turns:
        hold(store, talk, messages, status)
        if settles:
            settle(store, talk, memory, policy=policy)
    turn_id = hold(store, talk, [said("human", "and now?")], "open") if is_open else None
    last_id = store.messages.last_id(talk.id)
    context = context_of(store, talk, memory, policy, Request(turn_id=turn_id))
    assert_adds_up(context, last_id)
    assert_sendable(wire(context))


@pytest.mark.parametrize("turns", [1, 5, 9, 14])
def test_inspecting_under_either_model_writes_nothing(store: Store, memory: MemoryModel, turns: int) -> None:
    talk = begin(store, memory=memory)
    keep(store, talk, [turn_of(number) for number in range(1, turns + 1)])
    before = files(store)
    now = store.conversations.get(talk.id)
    for other in MODELS:
        model = memory_of(other)
        model.context(store, now, SMALL, Request())
        model.due(store, now, SMALL, Request())
    lacks(store, now, SMALL, answering(AssertionError("a model was asked")))
    assert files(store) == before


@pytest.mark.parametrize("if_needed", [True, False])
def test_settling_twice_is_settling_once(store: Store, memory: MemoryModel, if_needed: bool) -> None:
    talk = begin(store, memory=memory)
    for number in range(1, 13):
        hold(store, talk, turn_of(number))
    settle(store, talk, memory, if_needed=if_needed)
    before = state(store, talk)
    assert settle(store, talk, memory, if_needed=if_needed).status == "nothing"
    assert state(store, talk) == before
    assert context_of(store, talk, memory).ledger.forgotten == Spans()


def test_undoing_a_compaction_restores_the_context_byte_for_byte(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    for number in range(1, 14):
        keep(store, talk, [turn_of(number)])
        before = written(context_of(store, talk, memory))
        if settle(store, talk, memory, if_needed=False).status == "compacted":
            assert written(context_of(store, talk, memory)) != before
            memory_of(memory).undo(store, store.conversations.get(talk.id))
        assert written(context_of(store, talk, memory)) == before


def test_undoing_more_than_there_is_says_so(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    with pytest.raises(NotFound, match="there is no compaction to undo"):
        memory_of(memory).undo(store, store.conversations.get(talk.id))


def test_taking_a_turn_back_restores_the_context_byte_for_byte_across_a_fold(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    for number in range(1, 16):
        before = written(context_of(store, talk, memory))
        keep(store, talk, [turn_of(number)])
        after = written(context_of(store, talk, memory))
        turn = store.turns.last(talk.id)
        assert turn is not None
        forget_turn(store, talk.id, turn.id)
        store.turns.close(talk.id, turn.id, "rewound")
        assert written(context_of(store, talk, memory)) == before
        keep(store, talk, [turn_of(number)])
        assert len(written(context_of(store, talk, memory))) == pytest.approx(len(after), abs=400)


@pytest.mark.parametrize("answer", ["", "Error: no", "<think>hm", RuntimeError("boom"), "user: go on"])
def test_a_compaction_that_fails_changes_nothing(
    store: Store, memory: MemoryModel, answer: str | RuntimeError
) -> None:  # fmt: skip
    talk = begin(store, memory=memory)
    keep(store, talk, [turn_of(number) for number in range(1, 6)])
    before = written(context_of(store, talk, memory))
    result = settle(store, talk, memory, answering(answer, answer), if_needed=False)
    assert result.status in ("rejected", "failed")
    assert result.error
    assert written(context_of(store, talk, memory)) == before


def test_messages_that_arrive_while_a_compaction_is_made_are_not_covered_by_it(
    store: Store, memory: MemoryModel
) -> None:
    talk = begin(store, memory=memory)
    for number in range(1, 7):
        hold(store, talk, turn_of(number))
    settle(store, talk, memory)
    last = store.messages.last_id(talk.id)

    def meanwhile(prompt: Prompt) -> str:
        hold(store, talk, turn_of(7))
        return proper(prompt)

    settle(store, talk, memory, answering(meanwhile), if_needed=False)
    head = store.summaries.head(talk.id, "running" if memory == "window" else "compaction")
    assert head is not None
    assert head.last_message_id <= last
    assert context_of(store, talk, memory).ledger.verbatim.count >= 2


def test_two_compactions_at_once_leave_one_in_force_and_lose_nothing(
    store: Store, store_file: Path, memory: MemoryModel
) -> None:  # fmt: skip
    talk = begin(store, memory=memory)
    keep(store, talk, [turn_of(number) for number in range(1, 8)])
    with Store(store_file) as other:

        def overtaken(prompt: Prompt) -> str:
            settle(other, talk, memory, if_needed=False)
            return proper(prompt)

        result = settle(store, talk, memory, answering(overtaken), if_needed=False)
    assert (result.status, result.error) == ("nothing", "another compaction of this conversation finished first")
    assert context_of(store, talk, memory).ledger.forgotten == Spans()


def in_force(store: Store, talk: Conversation, memory: MemoryModel) -> list[tuple[object, ...]]:
    """List what stands for the history: the same after a crash as without one."""
    parts = context_of(store, talk, memory).parts
    return [(part.source, part.first_message_id, part.last_message_id, part.tokens, part.state) for part in parts]


@pytest.mark.parametrize("after", [False, True])
def test_a_process_killed_at_any_step_of_settling_leaves_nothing_that_a_later_one_does_not_complete(
    store: Store, tmp_path: Path, memory: MemoryModel, after: bool
) -> None:
    turns = [turn_of(number) for number in range(1, 8)]
    whole = begin(store, memory=memory)
    for messages in turns:
        hold(store, whole, messages)
    settle(store, whole, memory)
    wanted = in_force(store, whole, memory)
    step = 0
    while True:
        step += 1
        path = tmp_path / f"{step}.db"
        with Store(path) as first:
            talk = begin(first, memory=memory)
            for messages in turns:
                hold(first, talk, messages)
        died = False
        with DyingStore(path, step, after=after) as dying:
            try:
                settle(dying, talk, memory)
            except Died:
                died = True
        with Store(path) as later:
            assert_adds_up(context_of(later, talk, memory), later.messages.last_id(talk.id))
            settle(later, talk, memory)
            assert in_force(later, talk, memory) == wanted
            assert [problem for problem in later.check() if problem.where != "search"] == []
        if not died:
            break
    assert step >= 2


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, Died])
def test_a_model_that_is_interrupted_leaves_a_state_that_settles(
    store: Store, memory: MemoryModel, interrupt: type[BaseException]
) -> None:
    talk = begin(store, memory=memory)
    for number in range(1, 8):
        hold(store, talk, turn_of(number))
    summarizer = answering(interrupt())
    summarizer.otherwise = proper
    with pytest.raises(interrupt):
        settle(store, talk, memory, summarizer)
    settle(store, talk, memory, summarizer)
    assert context_of(store, talk, memory).ledger.forgotten == Spans()


def test_changing_the_model_and_back_changes_nothing(store: Store, memory: MemoryModel) -> None:
    other: MemoryModel = "turns" if memory == "window" else "window"
    talk = begin(store, memory=memory)
    keep(store, talk, [turn_of(number) for number in range(1, 8)])
    before = written(context_of(store, talk, memory))
    store.conversations.set_memory(talk.id, other)
    settle(store, talk, other)
    assert_adds_up(context_of(store, talk, other), store.messages.last_id(talk.id))
    store.conversations.set_memory(talk.id, memory)
    assert written(context_of(store, talk, memory)) == before


def test_a_message_that_cannot_fit_is_refused(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    turn_id = hold(store, talk, [said("human", "word " * 4000)], "open")
    with pytest.raises(ContextOverflow):
        context_of(store, talk, memory, request=Request(turn_id=turn_id))


def test_a_plan_is_in_the_context_behind_what_is_summarised_and_before_the_message(
    store: Store, memory: MemoryModel
) -> None:  # fmt: skip
    talk = begin(store, memory=memory)
    keep(store, talk, [turn_of(number) for number in range(1, 8)])
    store.plans.save(talk.id, "1. find PX-1")
    store.plans.save(talk.id, "2. find PX-2")
    turn_id = hold(store, talk, [said("human", "go on")], "open")
    context = context_of(store, talk, memory, request=Request(turn_id=turn_id))
    sources = [part.source for part in context.parts]
    assert sources.count("plan") == 1
    place = sources.index("plan")
    assert all(
        sources.index(source) < place for source in ("summary", "compaction", "turn_summary") if source in sources
    )
    assert place < sources.index("new")
    sent = "\n".join(message.content for message in wire(context))
    assert "2. find PX-2" in sent
    assert "1. find PX-1" not in sent
    store.plans.save(talk.id, "")
    assert "plan" not in [part.source for part in context_of(store, talk, memory).parts]
