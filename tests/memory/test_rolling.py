"""Model B's upkeep: which summaries are made, when they are folded or cleared, and what a failure leaves."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from memcli.errors import ModelError
from memcli.memory.context import Policy, Request
from memcli.memory.model import memory_of
from memcli.memory.prompts import Prompt
from memcli.memory.spans import Spans
from memcli.memory.summarizer import Completion, request_tokens
from memcli.store import Store
from tests.cli.conversations import said
from tests.memory.turning import begin, exchange, hold, model, of_turns, proper, see, settle, told

FOUR = Policy(max_summaries=4)


def test_the_window_of_summaries_is_bounded_by_count_and_folds_in_batches(store: Store) -> None:
    talk = begin(store)
    summarizer = model()
    heads: list[int | None] = []
    for number in range(1, 10):
        hold(store, talk, exchange(number))
        settle(store, talk, summarizer, FOUR)
        head = store.summaries.head(talk.id, "compaction")
        heads.append(head.last_message_id if head else None)
        assert len(store.summaries.newest_of_turns(talk.id, after=heads[-1] or 0)) <= 4
    assert heads == [None] * 4 + [6] * 3 + [12] * 2


def test_the_window_of_summaries_is_bounded_by_tokens_too(store: Store) -> None:
    talk = begin(store)
    policy = Policy(max_tokens=300)
    for number in range(1, 6):
        hold(store, talk, [said("human", f"long {number} " * 40), said("ai", f"answer {number} " * 40)])
        settle(store, talk, model(ModelError("x"), ModelError("y")), policy)
        assert sum(part.tokens for part in see(store, talk, policy).parts if part.source == "turn_summary") <= 300
        assert see(store, talk, policy).ledger.forgotten == Spans()


def test_a_limit_that_leaves_less_than_the_budget_folds_what_would_be_left_out(store: Store) -> None:
    talk = begin(store, turns=8)
    tight = Policy(limit_tokens=1500, output_reserve=300, summary_tokens=200, values_tokens=50)
    settle(store, talk, model(), tight)
    assert see(store, talk, tight).ledger.forgotten == Spans()
    now = store.conversations.get(talk.id)
    big_tools = Request(tools_tokens=450)
    assert memory_of("turns").due(store, now, tight, big_tools).reason is not None
    memory_of("turns").settle(store, now, tight, model(), big_tools)
    assert memory_of("turns").context(store, now, tight, big_tools).ledger.forgotten == Spans()


def test_compacting_everything_leaves_one_compaction_and_twice_is_once(store: Store) -> None:
    talk = begin(store, turns=7)
    result = settle(store, talk, model(), FOUR, if_needed=False)
    head = store.summaries.head(talk.id, "compaction")
    assert head is not None
    assert (result.status, head.first_message_id, head.last_message_id) == ("compacted", 1, 14)
    assert [part for part in told(see(store, talk)) if part[0] == "turn_summary"] == []
    again = settle(store, talk, model(), FOUR, if_needed=False)
    assert (again.status, again.error) == ("nothing", "there is nothing to fold")


def test_compacting_everything_folds_even_where_a_full_window_would_be_cleared(store: Store) -> None:
    talk = begin(store, turns=7)
    settle(store, talk, model(), Policy(max_summaries=3, on_full="clear"), if_needed=False)
    assert see(store, talk).ledger.forgotten == Spans()


def test_a_compaction_says_when_what_it_folds_was_and_which_summaries_it_folded(store: Store) -> None:
    talk = begin(store, turns=3)
    settle(store, talk, model())
    summaries = of_turns(store, talk)
    settle(store, talk, model(), if_needed=False)
    head = store.summaries.head(talk.id, "compaction")
    assert head is not None
    assert head.details == {
        "timespan": [summaries[0].details["started_at"], summaries[2].details["ended_at"]],
        "folds": [summary.id for summary in summaries],
    }  # fmt: skip


def test_clearing_marks_what_it_dropped_and_can_be_undone(store: Store) -> None:
    talk = begin(store, turns=4)
    policy = Policy(max_summaries=4, on_full="clear")
    settle(store, talk, model(), policy)
    before = see(store, talk, policy)
    hold(store, talk, exchange(5))
    settle(store, talk, model(), policy)
    assert see(store, talk, policy).ledger.forgotten == Spans.of([(1, 2)])
    memory_of("turns").undo(store, store.conversations.get(talk.id))
    after = see(store, talk, policy)
    assert after.ledger.forgotten == Spans()
    assert after.parts[:4] == before.parts[:4]


def test_clearing_takes_the_compaction_too_and_a_later_fold_begins_anew(store: Store) -> None:
    talk = begin(store, turns=5)
    settle(store, talk, model(), FOUR)
    clearing = Policy(max_summaries=2, on_full="clear")
    for number in range(6, 8):
        hold(store, talk, exchange(number))
    settle(store, talk, model(), clearing)
    assert see(store, talk, clearing).ledger.forgotten == Spans.of([(1, 10)])
    settle(store, talk, model(), if_needed=False)
    head = store.summaries.head(talk.id, "compaction")
    assert head is not None
    assert (head.first_message_id, head.last_message_id) == (11, 14)
    assert see(store, talk).ledger.forgotten == Spans.of([(1, 10)])


@pytest.mark.parametrize("answer", ["", "Error: no", "user: and then?", Completion("Talk.", 1, 1, "length")])
def test_a_fold_that_fails_leaves_everything_as_it_was(store: Store, answer: str | Completion) -> None:
    talk = begin(store, turns=4)
    settle(store, talk, model())
    before = see(store, talk)
    result = settle(store, talk, model(answer, answer), if_needed=False)
    assert result.status == "rejected"
    assert see(store, talk) == before


def test_a_request_always_fits_the_summarizers_window(store: Store) -> None:
    talk = begin(store)
    for number in range(1, 13):
        hold(store, talk, [said("human", f"{number} {'wort ' * 900}"), said("ai", f"{number} {'слово ' * 900}")])
    long_turn = [said("human", "look")]
    for number in range(40):
        call = {"id": f"c{number}", "name": "look", "args": {"at": "x" * 500}}
        long_turn += [said("ai", "", tool_calls=[call]), said("tool", "row " * 300, tool_call_id=f"c{number}")]
    hold(store, talk, [*long_turn, said("ai", "done")])
    summarizer = model(window_tokens=2500)
    policy = Policy(summary_tokens=200)
    settle(store, talk, summarizer, policy)
    settle(store, talk, summarizer, policy, if_needed=False)
    assert max(request_tokens(prompt) + prompt.max_tokens for prompt in summarizer.prompts) <= 2500
    assert see(store, talk, policy).ledger.summarised == Spans.of([(1, store.messages.last_id(talk.id))])


def test_a_long_fallback_alone_over_the_budget_is_folded(store: Store) -> None:
    talk = begin(store)
    hold(store, talk, [said("human", "word " * 3000), said("ai", "ok")])
    policy = Policy(max_tokens=500)
    settle(store, talk, model(ModelError("x"), ModelError("y")), policy)
    assert see(store, talk, policy).ledger.forgotten == Spans()
    assert see(store, talk, policy).tokens < 2000


def test_two_processes_that_settle_at_once_make_everything_once(store: Store, store_file: Path) -> None:
    talk = begin(store, turns=6)
    with Store(store_file) as other:
        entered, other_done = threading.Event(), threading.Event()

        def slow(prompt: Prompt) -> str:
            entered.set()
            assert other_done.wait(30)
            return proper(prompt)

        first = model(slow)
        thread = threading.Thread(target=lambda: settle(store, talk, first, FOUR))
        thread.start()
        assert entered.wait(30)
        settle(other, talk, model(), FOUR)
        other_done.set()
        thread.join(30)
    spans = [(item.kind, item.first_message_id, item.last_message_id) for item in store.summaries.list(talk.id)]
    assert sorted(spans) == sorted([*(("turn", 2 * n - 1, 2 * n) for n in range(1, 7)), ("compaction", 1, 8)])
    assert see(store, talk, FOUR).ledger.forgotten == Spans()


def test_a_turn_that_ends_while_everything_is_folded_survives(store: Store) -> None:
    talk = begin(store, turns=2)
    settle(store, talk, model())

    def meanwhile(prompt: Prompt) -> str:
        hold(store, talk, exchange(3))
        return proper(prompt)

    settle(store, talk, model(meanwhile), if_needed=False)
    assert told(see(store, talk))[-2:] == [("message", 5, 5), ("message", 6, 6)]


def test_a_turn_that_was_run_again_later_is_never_folded_away_unread(store: Store) -> None:
    talk = begin(store)
    first = hold(store, talk, [said("human", "first question")], "interrupted")
    hold(store, talk, exchange(2))
    store.messages.append(talk.id, [said("ai", "a late answer")], turn_id=first)
    store.turns.close(talk.id, first, "done")
    settle(store, talk, model(), Policy(max_summaries=1))
    head = store.summaries.head(talk.id, "compaction")
    folded = head.details["folds"] if head else []
    assert len(folded) == 2  # type: ignore[arg-type]
    assert see(store, talk).ledger.forgotten == Spans()
