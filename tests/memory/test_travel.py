"""Time travel: recorded calls come back exactly, whatever was undone since; other moments are rebuilt."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memcli.errors import NotFound, UsageError
from memcli.memory.context import Context, Request
from memcli.memory.estimate import prompt_estimate
from memcli.memory.model import memory_of
from memcli.memory.summarizer import ExtractiveSummarizer
from memcli.memory.travel import at_message, of_call, seen
from memcli.memory.wire import wire
from memcli.records import MemoryModel
from memcli.store import Store
from tests.cli.conversations import said
from tests.memory.talks import SMALL, begin, keep, next_context, record, turn_of

BOTH: tuple[MemoryModel, ...] = ("window", "turns")


def shape(context: Context) -> tuple[object, ...]:
    """Tell what a context shows, without the rows behind it."""
    parts = [
        (part.source, part.tokens, part.text, part.first_message_id, part.last_message_id, part.state, part.summary_id)
        for part in context.parts
    ]
    return parts, context.ledger, context.limit_tokens, context.tokens, wire(context)


@pytest.mark.parametrize("memory", BOTH)
def test_every_recorded_call_comes_back_as_it_was(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    contexts = keep(store, talk, [turn_of(number) for number in range(1, 15)])

    moments = [of_call(store, talk, call) for call in _chats(store, talk.id)]

    assert [shape(moment.context) for moment in moments] == [shape(context) for context in contexts]
    assert {(moment.origin, moment.context.memory) for moment in moments} == {("recorded", memory)}
    assert moments[-1].call is not None
    assert (moments[-1].call.estimated_tokens, moments[-1].call.input_tokens) == (prompt_estimate(contexts[-1]), 100)


@pytest.mark.parametrize("memory", BOTH)
def test_an_undo_a_fork_and_a_rewind_change_nothing_in_a_recorded_call(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    contexts = keep(store, talk, [turn_of(number) for number in range(1, 15)])
    last = store.turns.last(talk.id)
    assert last is not None

    memory_of(memory).undo(store, store.conversations.get(talk.id))
    store.conversations.fork(talk.id, at=9)
    store.turns.close(talk.id, last.id, "rewound")
    store.conversations.set_system_prompt(talk.id, "Something else entirely.")

    again = [of_call(store, store.conversations.get(talk.id), call).context for call in _chats(store, talk.id)]
    assert [shape(context) for context in again] == [shape(context) for context in contexts]


@pytest.mark.parametrize(
    ("question", "answer", "states"),
    [("long " * 900, "so", ["clipped"]), ("in short", "so " * 900 + "🙂", ["verbatim", "clipped"])],
)
def test_a_clipped_message_comes_back_clipped_alike(
    store: Store, question: str, answer: str, states: list[str]
) -> None:
    talk = begin(store)
    turn = store.turns.start(talk.id)
    store.messages.append(talk.id, [said("human", question), said("ai", answer)], turn_id=turn.id)
    store.turns.close(talk.id, turn.id, "done")
    turn = store.turns.start(talk.id)
    store.messages.append(talk.id, [said("human", "and?")], turn_id=turn.id)
    now = store.conversations.get(talk.id)
    before = memory_of("window").context(store, now, SMALL, Request(turn_id=turn.id))
    call = record(store, before, turn.id)

    again = of_call(store, talk, call).context

    assert [part.state for part in before.parts if part.source == "message"] == states
    assert shape(again) == shape(before)


def test_what_was_pruned_since_has_no_text_and_says_so(store: Store) -> None:
    talk = begin(store)
    keep(store, talk, [turn_of(1)])
    call = store.calls.get(talk.id, 1)
    gone = replace(call.parts[1], first_message_id=77, last_message_id=77)
    store.calls.begin(
        talk.id, turn_id=1, purpose="chat", model="fake", limit_tokens=2000, parts=[call.parts[0], gone],
        estimated_tokens=1,
    )  # fmt: skip

    part = of_call(store, talk, 2).context.parts[1]

    assert (part.text, part.message, part.why) == ("", None, "the new message (no longer stored)")


@pytest.mark.parametrize("memory", BOTH)
def test_a_moment_a_call_was_made_at_is_that_call(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    contexts = keep(store, talk, [turn_of(number) for number in range(1, 8)])
    asked_at = [max(part.last_message_id or 0 for part in context.parts) for context in contexts]

    moments = [at_message(store, talk, SMALL, id) for id in asked_at]

    assert [(moment.origin, moment.last_message_id) for moment in moments] == [("recorded", id) for id in asked_at]
    assert [shape(moment.context) for moment in moments] == [shape(context) for context in contexts]


@pytest.mark.parametrize("memory", BOTH)
def test_other_moments_are_rebuilt_and_equal_what_was_there(store: Store, memory: MemoryModel) -> None:
    talk = begin(store, memory=memory)
    at_rest: dict[int, Context] = {}
    for number in range(1, 15):
        keep(store, talk, [turn_of(number)])
        at_rest[store.messages.last_id(talk.id)] = next_context(store, talk)
    now = store.conversations.get(talk.id)

    moments = {id: at_message(store, now, SMALL, id) for id in at_rest}

    assert {moment.origin for moment in moments.values()} == {"rebuilt"}
    assert {id: shape(moment.context) for id, moment in moments.items()} == {
        id: shape(context) for id, context in at_rest.items()
    }


def test_a_moment_in_mid_turn_holds_the_turn_so_far(store: Store) -> None:
    talk = begin(store)
    keep(store, talk, [turn_of(1), turn_of(2)])
    store.turns.start(talk.id)
    store.messages.append(talk.id, turn_of(3), turn_id=3)
    now = store.conversations.get(talk.id)

    moment = at_message(store, now, SMALL, 6)

    assert moment.origin == "rebuilt"
    shown = [(part.source, part.first_message_id) for part in moment.context.parts if part.message]
    assert shown == [("message", 1), ("message", 2), ("message", 3), ("message", 4), ("new", 5), ("message", 6)]
    assert moment.context.ledger.total == 6


def test_a_summary_made_later_does_not_exist_yet(store: Store) -> None:
    talk = begin(store)
    unfolded = replace(SMALL, compact_every=100, compact_on_overflow=False)
    keep(store, talk, [turn_of(number) for number in range(1, 12)], unfolded)
    now = store.conversations.get(talk.id)
    memory_of("window").settle(store, now, SMALL, ExtractiveSummarizer(), Request(), if_needed=False)
    keep(store, talk, [turn_of(12)], unfolded)

    sources = [part.source for part in at_message(store, now, SMALL, 20).context.parts]

    assert "summary" not in sources


def test_an_import_s_summaries_count_by_what_they_cover(store: Store) -> None:
    long_ago = datetime(2021, 1, 1, tzinfo=UTC)
    talk = store.conversations.create(name="imported", source="openai:x")
    for number in range(1, 12):
        turn = store.turns.start(talk.id)
        messages = [replace(message, created_at=long_ago) for message in turn_of(number)]
        store.messages.append(talk.id, messages, turn_id=turn.id)
        store.turns.close(talk.id, turn.id, "done")
    now = store.conversations.get(talk.id)
    memory_of("window").settle(store, now, SMALL, ExtractiveSummarizer(), Request(), if_needed=False)

    later = at_message(store, now, SMALL, now.last_message_id)
    before = at_message(store, now, SMALL, now.last_message_id - 1)

    assert "summary" in [part.source for part in later.context.parts]
    assert "summary" not in [part.source for part in before.context.parts]


def test_a_reference_names_a_call_a_message_or_what_is_next(store: Store) -> None:
    talk = begin(store)
    keep(store, talk, [turn_of(1), turn_of(2)])
    now = store.conversations.get(talk.id)

    labels = [seen(store, now, SMALL, Request(), name).label for name in ("2", "call 1", "#1", "#2", "next", "now")]

    assert labels == [
        "call 2, at #3", "call 1, at #1", "call 1, at #1", "rebuilt at #2", "the next call", "the next call",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="'yesterday' names no moment"):
        seen(store, now, SMALL, Request(), "yesterday")
    with pytest.raises(NotFound, match="no call 9"):
        seen(store, now, SMALL, Request(), "9")
    with pytest.raises(NotFound, match="no message #99"):
        seen(store, now, SMALL, Request(), "#99")


def _chats(store: Store, conversation_id: str) -> list[int]:
    return [call.id for call in reversed(store.calls.newest_first(conversation_id, purpose="chat"))]
