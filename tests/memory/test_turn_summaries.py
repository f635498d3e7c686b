"""A turn's summary: what it is made of, how a turn that ended badly is told, and what a failure leaves."""

from __future__ import annotations

import pytest

from memcli.errors import ModelError, ModelUnreachable
from memcli.memory.context import Policy
from memcli.memory.recalls import FAILED_NOTE, INTERRUPTED_NOTE
from memcli.memory.spans import Spans
from memcli.memory.summarizer import Completion
from memcli.store import Store
from tests.cli.conversations import said
from tests.memory.turning import begin, exchange, hold, model, of_turns, see, settle

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
