"""Model B's upkeep: which summaries are made, when they are folded or cleared, and what a failure leaves."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from memcli.errors import ModelError, ModelUnreachable
from memcli.memory.context import Policy, Request
from memcli.memory.model import memory_of
from memcli.memory.prompts import Prompt
from memcli.memory.recalls import FAILED_NOTE, INTERRUPTED_NOTE
from memcli.memory.spans import Spans
from memcli.memory.summarizer import Completion, request_tokens
from memcli.store import Store
from tests.cli.conversations import said
from tests.memory.turning import begin, exchange, hold, model, of_turns, proper, see, settle, told

FOUR = Policy(max_summaries=4)


def test_every_completed_turn_gets_a_summary_with_its_fields_times_and_status(store: Store) -> None:
    talk = begin(store, turns=2)
    result = settle(store, talk, model())
    assert (result.status, result.calls) == ("compacted", 2)
    first, second = of_turns(store, talk)
    rows = [store.messages.get(talk.id, id) for id in (1, 2)]
    turn = store.turns.get(talk.id, 1)
    assert first.details == {
        "user": "The user asked #1 #2.", "actions": "N/A", "response": "The assistant answered #1 #2.",
        "started_at": min(row.created_at for row in rows).isoformat(),
        "ended_at": turn.ended_at.isoformat() if turn.ended_at else "", "status": "done",
    }  # fmt: skip
    assert (first.first_message_id, first.last_message_id, second.first_message_id) == (1, 2, 3)
    assert (first.kind, first.model, first.fallback, first.state) == ("turn", "scripted", False, "made")


def test_the_ongoing_turn_is_left_alone(store: Store) -> None:
    talk = begin(store, turns=1)
    hold(store, talk, [said("human", "still going")], "open")
    settle(store, talk, model(), if_needed=False)
    assert store.summaries.head(talk.id, "compaction") is not None
    assert see(store, talk).ledger.summarised == Spans.of([(1, 2)])


def test_a_leading_system_message_is_no_turn_of_its_own(store: Store) -> None:
    talk = begin(store)
    hold(store, talk, [said("system", "Be brief.")])
    hold(store, talk, exchange(1))
    settle(store, talk, model())
    assert [summary.first_message_id for summary in of_turns(store, talk)] == [2]
    assert see(store, talk).ledger.forgotten == Spans()


def test_an_interrupted_turn_is_summarised_as_such(store: Store) -> None:
    talk = begin(store)
    hold(store, talk, [said("human", "book it"), said("ai", "I will")], "interrupted")
    settle(store, talk, model("REQUEST: Book it.\nACTIONS: looked up a flight\nRESPONSE: It will."))
    assert of_turns(store, talk)[0].details["actions"] == f"{INTERRUPTED_NOTE} looked up a flight"


def test_a_failed_turn_is_summarised_as_such_without_asking_the_model(store: Store) -> None:
    talk = begin(store)
    hold(store, talk, [said("human", "book flight AB12"), said("ai", "half an ans")], "failed")
    hold(store, talk, exchange(2))
    summarizer = model()
    settle(store, talk, summarizer)
    failed, done = of_turns(store, talk)
    assert (failed.details["user"], failed.details["actions"], failed.details["response"]) == (
        "book flight AB12", FAILED_NOTE, "N/A"
    )  # fmt: skip
    assert (failed.first_message_id, failed.last_message_id) == (1, 2)
    assert summarizer.shown_ids == [[3, 4]]
    assert (done.first_message_id, see(store, talk).ledger.excluded) == (3, Spans.of([(1, 2)]))


def test_a_turn_whose_rows_cannot_be_read_does_not_stay_due_for_ever(store: Store) -> None:
    talk = begin(store, turns=1)
    store.messages.mark(talk.id, [1, 2], "unreadable")
    settle(store, talk, model())
    assert settle(store, talk, model()).status == "nothing"


def test_where_the_model_fails_the_turns_own_words_stand_flagged_until_the_next_settle(store: Store) -> None:
    talk = begin(store, turns=1)
    result = settle(store, talk, model("nonsense", ModelError("no answer")))
    fallback = of_turns(store, talk)[0]
    question, answer = (message.text for message in exchange(1))
    assert (fallback.fallback, result.error) == (True, "no answer")
    assert [fallback.details[name] for name in ("user", "actions", "response")] == [question, "N/A", answer]
    assert settle(store, talk, model()).status == "compacted"
    again = of_turns(store, talk)[0]
    assert (again.fallback, again.parent_id) == (False, fallback.id)
    assert again.details["user"] == "The user asked #1 #2."


def test_a_fallback_that_fails_again_stays_as_it_is(store: Store) -> None:
    talk = begin(store, turns=1)
    settle(store, talk, model(ModelError("a"), ModelError("b")))
    result = settle(store, talk, model(ModelError("c"), ModelError("d")))
    assert (result.status, result.error) == ("nothing", "d")
    assert len(store.summaries.list(talk.id)) == 1


def test_a_model_that_cannot_be_reached_is_asked_once_for_many_turns(store: Store) -> None:
    talk = begin(store, turns=4)
    summarizer = model(ModelUnreachable("nobody answers"))
    result = settle(store, talk, summarizer)
    assert (result.status, result.error, len(summarizer.prompts)) == ("compacted", "nobody answers", 1)
    assert [summary.fallback for summary in of_turns(store, talk)] == [True] * 4


def test_a_model_that_keeps_failing_is_left_alone_and_its_stand_in_flags_what_it_writes(store: Store) -> None:
    talk = begin(store, turns=6)
    summarizer = model(*[ModelError("down")] * 20)
    settle(store, talk, summarizer)
    assert len(summarizer.prompts) == 6
    summaries = of_turns(store, talk)
    assert [summary.model for summary in summaries] == ["scripted"] * 3 + ["extractive"] * 3
    assert all(summary.fallback for summary in summaries)
    before = store.summaries.list(talk.id)
    settle(store, talk, summarizer)
    assert store.summaries.list(talk.id) == before


@pytest.mark.parametrize(
    "answer",
    [
        Completion("REQUEST: a\nACTIONS: b\nRESPONSE: c", 1, 1, "length"),
        Completion("REQUEST: a\nACTIONS: b\nRESPONSE: c", 1, 1, "stop", asked_for_tools=True),
        "", "<think>REQUEST: a ACTIONS: b RESPONSE: c", "REQUEST: a", "Error: rate limit",
        f"REQUEST: {'a' * 5000}\nACTIONS: b\nRESPONSE: c", '{"user": ""}',
    ],
)  # fmt: skip
def test_an_answer_that_is_no_turn_summary_is_asked_for_once_more(store: Store, answer: str | Completion) -> None:
    talk = begin(store, turns=1)
    summarizer = model(answer)
    settle(store, talk, summarizer)
    assert (len(summarizer.prompts), of_turns(store, talk)[0].fallback) == (2, False)


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


def test_every_message_of_a_long_turn_was_shown_to_the_summarizer_before_it_is_covered(store: Store) -> None:
    talk = begin(store)
    messages = [said("human", "look")]
    for number in range(60):
        call = {"id": f"c{number}", "name": "look", "args": {}}
        messages += [said("ai", "", tool_calls=[call]), said("tool", "row " * 100, tool_call_id=f"c{number}")]
    hold(store, talk, [*messages, said("ai", "done")])
    summarizer = model(window_tokens=2500)
    settle(store, talk, summarizer, Policy(summary_tokens=200))
    shown = {id for ids in summarizer.shown_ids for id in ids}
    assert shown == set(range(1, 123))
    assert of_turns(store, talk)[0].last_message_id == 122


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
