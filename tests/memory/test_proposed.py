"""Proposals: made and kept out of force, then applied, rewritten or discarded; never over somebody else's head."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import CompactionRejected, NotFound, UsageError
from memcli.memory import fold
from memcli.memory.context import Context, Policy, Request
from memcli.memory.model import memory_of
from memcli.memory.prompts import Prompt
from memcli.memory.proposed import apply, discard, edit, proposals
from memcli.memory.summarizer import Completion, ExtractiveSummarizer
from memcli.records import Conversation, MemoryModel, Summary
from memcli.store import Store
from tests.cli.conversations import said
from tests.histories import opened
from tests.memory.talks import SMALL, begin, keep, next_context, turn_of

BOTH: tuple[MemoryModel, ...] = get_args(MemoryModel)
UNFOLDED = replace(
    SMALL, compact_every=1000, compact_on_overflow=False, max_summaries=1000, max_tokens=4000, limit_tokens=9000
)


class Vague:
    """A model whose summaries keep no value at all."""

    label = "vague"
    window_tokens = 8192

    def __init__(self) -> None:
        self.requests = 0

    def complete(self, prompt: Prompt) -> Completion:
        """Answer in general terms."""
        self.requests += 1
        return Completion("The user asked about an order and it was sent.", 100, 10, "stop")


def a_talk(store: Store, memory: MemoryModel, turns: int = 8) -> Conversation:
    """Keep a talk with nothing folded yet."""
    talk = begin(store, memory=memory)
    keep(store, talk, [turn_of(number) for number in range(1, turns + 1)], UNFOLDED)
    return store.conversations.get(talk.id)


def propose(store: Store, talk: Conversation, policy: Policy = SMALL) -> Summary:
    result = memory_of(talk.memory).propose(store, talk, policy, ExtractiveSummarizer())
    assert result.status == "proposed"
    assert result.summary is not None
    return result.summary


def settle_all(store: Store, talk: Conversation) -> fold.FoldResult:
    return memory_of(talk.memory).settle(store, talk, SMALL, ExtractiveSummarizer(), Request(), if_needed=False)


def likeness(context: Context) -> list[object]:
    return [(part.source, part.tokens, part.text.split("]]")[-1], part.first_message_id) for part in context.parts]


@pytest.mark.parametrize("memory", BOTH)
def test_a_proposal_changes_nothing_in_force(store: Store, memory: MemoryModel) -> None:
    talk = a_talk(store, memory)
    before = next_context(store, talk)

    proposal = propose(store, talk)

    assert (proposal.state, proposal.in_force) == ("proposed", False)
    assert next_context(store, talk) == before
    assert proposals(store, talk) == [proposal]


@pytest.mark.parametrize("memory", BOTH)
def test_applying_puts_it_in_force_and_twice_is_once(store: Store, memory: MemoryModel) -> None:
    talk = a_talk(store, memory)
    proposal = propose(store, talk)

    result = apply(store, talk, proposal.id)

    assert result == fold.FoldResult(
        talk.id, "compacted", replace(proposal, state="made", in_force=True), 1, talk.last_message_id,
        result.tokens_before, proposal.tokens,
    )  # fmt: skip
    assert result.tokens_before > result.tokens_after
    assert proposals(store, talk) == []
    assert apply(store, talk, proposal.id).status == "nothing"


@settings(max_examples=12)
@given(st.integers(2, 12), st.sampled_from(BOTH), st.booleans())
def test_propose_and_apply_is_settle(
    tmp_path_factory: pytest.TempPathFactory, turns: int, memory: MemoryModel, has_earlier: bool
) -> None:
    contexts: list[list[object]] = []
    for way in ("settle", "propose"):
        with opened(tmp_path_factory.mktemp(way)) as store:
            talk = a_talk(store, memory, turns)
            if has_earlier:
                settle_all(store, talk)
                keep(store, talk, [turn_of(number) for number in range(turns + 1, turns + 4)], UNFOLDED)
                talk = store.conversations.get(talk.id)
            if way == "settle":
                assert settle_all(store, talk).status == "compacted"
            else:
                apply(store, talk, propose(store, talk).id)
            contexts.append(likeness(next_context(store, talk)))

    assert contexts[0] == contexts[1]


def test_a_long_backlog_is_a_chain_applied_and_discarded_as_one(
    store: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    talk = begin(store)
    words = ["word " * 300 + f"PX-{number:04}" for number in range(60)]
    keep(store, talk, [[said("human", text), said("ai", f"noted {text}")] for text in words], UNFOLDED)
    talk = store.conversations.get(talk.id)

    proposal = propose(store, talk)
    chain = store.summaries.list(talk.id)
    assert len(chain) > 2
    assert {item.state for item in chain} == {"proposed"}
    assert proposals(store, talk) == [proposal]

    apply(store, talk, proposal.id)

    assert {item.state for item in store.summaries.list(talk.id)} == {"made"}
    head = store.summaries.head(talk.id, "running")
    assert head is not None
    assert (head.id, head.last_message_id) == (proposal.id, talk.last_message_id)


@pytest.mark.parametrize("memory", BOTH)
def test_another_compaction_since_refuses_it(store: Store, memory: MemoryModel) -> None:
    talk = a_talk(store, memory)
    proposal = propose(store, talk)
    result = memory_of(memory).settle(
        store, talk, SMALL, ExtractiveSummarizer(), Request(), if_needed=False, instructions="Mind the parcels."
    )
    assert result.summary is not None

    with pytest.raises(CompactionRejected) as refused:
        apply(store, talk, proposal.id)

    assert refused.value.message == f"s{proposal.id} was made on no summary, and another is in force now"
    assert store.summaries.get(talk.id, proposal.id) == proposal
    assert store.summaries.get(talk.id, result.summary.id).in_force


@pytest.mark.parametrize("memory", BOTH)
def test_a_turn_taken_back_since_refuses_it(store: Store, memory: MemoryModel) -> None:
    talk = a_talk(store, memory)
    proposal = propose(store, talk)
    store.turns.close(talk.id, 8, "rewound")

    with pytest.raises(CompactionRejected) as refused:
        apply(store, talk, proposal.id)

    assert refused.value.message == (
        f"messages s{proposal.id} covers were taken back or came back since: #{talk.last_message_id - 1},"
        f" #{talk.last_message_id}"
    )
    assert store.summaries.head(talk.id, proposal.kind) is None


@pytest.mark.parametrize("memory", BOTH)
def test_new_messages_since_are_no_obstacle(store: Store, memory: MemoryModel) -> None:
    talk = a_talk(store, memory)
    proposal = propose(store, talk)
    keep(store, talk, [turn_of(20)], UNFOLDED)

    assert apply(store, store.conversations.get(talk.id), proposal.id).status == "compacted"
    assert next_context(store, talk).ledger.forgotten.count == 0


@pytest.mark.parametrize("memory", BOTH)
def test_an_edit_is_a_new_proposal_with_its_values_scored_again(store: Store, memory: MemoryModel) -> None:
    talk = a_talk(store, memory)
    proposal = propose(store, talk, replace(SMALL, values_tokens=8))

    edited = edit(store, talk, SMALL, proposal.id, "  Nothing of note was said.  ")

    assert (edited.text, edited.values, edited.state) == ("Nothing of note was said.", proposal.values, "proposed")
    assert edited.fidelity is not None
    assert proposal.fidelity is not None
    assert edited.fidelity < proposal.fidelity
    assert edited.tokens < proposal.tokens
    assert edited.details["edited_from"] == proposal.id
    assert store.summaries.get(talk.id, proposal.id).state == "discarded"
    assert edit(store, talk, SMALL, edited.id, edited.text) == edited
    assert apply(store, talk, edited.id).status == "compacted"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \n", "the text is empty"),
        ("word " * 200, "the text (250 tokens) is over its cap (120)"),
    ],
)
def test_an_edit_that_cannot_be_a_summary_is_refused(store: Store, text: str, message: str) -> None:
    talk = a_talk(store, "window")
    proposal = propose(store, talk)

    with pytest.raises(CompactionRejected) as refused:
        edit(store, talk, SMALL, proposal.id, text)

    assert refused.value.message == message
    assert store.summaries.list(talk.id) == [proposal]


def test_an_edit_no_smaller_than_what_it_replaces_is_refused(store: Store) -> None:
    talk = a_talk(store, "window", turns=1)
    proposal = propose(store, talk)

    with pytest.raises(CompactionRejected, match=r"is no smaller than what it replaces \(43\)"):
        edit(store, talk, SMALL, proposal.id, "word " * 60)


def test_a_discarded_proposal_is_not_taken_up_again(store: Store) -> None:
    talk = a_talk(store, "window")
    first = propose(store, talk)

    assert discard(store, talk, first.id) == replace(first, state="discarded")
    assert proposals(store, talk) == []
    for act in (apply, discard):
        with pytest.raises(UsageError, match=f"s{first.id} was discarded"):
            act(store, talk, first.id)
    assert propose(store, talk).id == first.id + 1


def test_the_same_proposal_again_costs_nothing(store: Store) -> None:
    talk = a_talk(store, "window")
    vague = Vague()
    memory = memory_of("window")

    first = memory.propose(store, talk, SMALL, vague)
    again = memory.propose(store, talk, SMALL, vague)
    settled = memory.settle(store, talk, SMALL, vague, Request(), if_needed=False)

    assert first.summary is not None
    assert (again.summary, again.calls) == (first.summary, 0)
    assert (settled.status, settled.calls) == ("compacted", 0)
    assert store.summaries.list(talk.id) == [replace(first.summary, state="made", in_force=True)]
    assert vague.requests == 1


def test_an_undone_summary_can_be_put_back(store: Store) -> None:
    talk = a_talk(store, "window")
    made = settle_all(store, talk).summary
    assert made is not None
    memory_of("window").undo(store, talk)

    assert apply(store, talk, made.id).summary == made
    assert next_context(store, talk).ledger.forgotten.count == 0


def test_what_is_no_proposal_is_named(store: Store) -> None:
    talk = a_talk(store, "turns")

    with pytest.raises(UsageError, match="s1 is no proposal"):
        apply(store, talk, 1)
    with pytest.raises(UsageError, match="s1 is no proposal"):
        edit(store, talk, SMALL, 1, "x")
    with pytest.raises(NotFound, match="no summary s99"):
        apply(store, talk, 99)


def test_proposals_come_along_with_a_fork(store: Store) -> None:
    talk = a_talk(store, "window")
    proposal = propose(store, talk)
    fork = store.conversations.fork(talk.id)

    apply(store, fork, proposal.id)

    assert store.summaries.head(talk.id, "running") is None
    assert next_context(store, fork).covered_up_to == talk.last_message_id


@pytest.mark.parametrize("memory", BOTH)
def test_a_summary_below_the_least_fidelity_is_rejected_with_numbers(store: Store, memory: MemoryModel) -> None:
    talk = a_talk(store, memory)
    before = next_context(store, talk)
    heads = store.summaries.head(talk.id, "running"), store.summaries.head(talk.id, "compaction")
    meagre = replace(SMALL, values_tokens=0)

    result = memory_of(memory).settle(store, talk, meagre, Vague(), Request(), if_needed=False, min_fidelity=0.9)

    assert result.status == "rejected"
    assert result.error is not None
    assert result.error.startswith("fidelity 0% is below 90%: 0 of ")
    assert (store.summaries.head(talk.id, "running"), store.summaries.head(talk.id, "compaction")) == heads
    assert next_context(store, talk) == before


@pytest.mark.parametrize("memory", BOTH)
def test_a_summary_that_keeps_enough_is_accepted(store: Store, memory: MemoryModel) -> None:
    talk = a_talk(store, memory, turns=3)
    rich = replace(SMALL, values_tokens=200)

    result = memory_of(memory).settle(
        store, talk, rich, ExtractiveSummarizer(), Request(), if_needed=False, min_fidelity=0.9
    )

    assert (result.status, result.error) == ("compacted", None)
    assert result.summary is not None
    assert result.summary.in_force
    assert result.summary.fidelity is not None
    assert result.summary.fidelity >= 0.9


def test_one_poor_summary_of_a_long_backlog_keeps_all_of_it_out_of_force(store: Store) -> None:
    talk = begin(store)
    plain = [[said("human", "word " * 400), said("ai", "noted")] for _ in range(15)]
    codes = " ".join(f"CODE{number:04}X" for number in range(900))
    keep(store, talk, [*plain, [said("human", codes), said("ai", "noted")]], UNFOLDED)
    talk = store.conversations.get(talk.id)
    talk_before = next_context(store, talk, UNFOLDED)

    result = memory_of("window").settle(
        store, talk, SMALL, ExtractiveSummarizer(), Request(), if_needed=False, min_fidelity=0.9
    )

    assert result.status == "rejected"
    assert result.summary is None
    assert store.summaries.head(talk.id, "running") is None
    assert {item.state for item in store.summaries.list(talk.id)} <= {"discarded"}
    assert next_context(store, talk, UNFOLDED) == talk_before
