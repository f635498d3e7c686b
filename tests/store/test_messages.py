"""Messages: the append-only log, its ids, its retries, and what reading costs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import NotFound
from memcli.records import Conversation, NewMessage, StoredMessage
from memcli.store import Store
from tests.store.samples import message, messages

THEN = datetime(2026, 5, 4, 12, 0, 0, 123456, tzinfo=UTC)


def _texts(stored: Iterator[StoredMessage]) -> list[str]:
    return [item.text for item in stored]


def test_append_says_how_the_message_stands_in_the_log(store: Store, talk: Conversation) -> None:
    turn = store.turns.start(talk.id)
    new = NewMessage("AIMessageChunk", "ai", "hi", '{"content": "hi"}', 4, "u1", "partial", THEN)
    stored = StoredMessage(
        1, talk.id, turn.id, "u1", "AIMessageChunk", "ai", "hi", '{"content": "hi"}', 4, THEN, "partial"
    )
    assert store.messages.append(talk.id, [new], turn_id=turn.id) == [stored]
    assert store.messages.get(talk.id, 1) == stored


def test_what_append_returns_is_what_is_read_back(store: Store, talk: Conversation) -> None:
    stored = store.messages.append(talk.id, [*messages(3), message("\0 \ud800 é", uid="\udcff")])
    assert list(store.messages.oldest_first(talk.id)) == stored


def test_append_counts_messages_and_tokens(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, [message("four"), message("seven77")])
    store.messages.append(talk.id, [message("one")])
    changed = store.conversations.get(talk.id)
    assert (changed.last_message_id, changed.tokens) == (3, 4 + 7 + 3)
    assert store.messages.last_id(talk.id) == 3


def test_append_of_nothing_stores_nothing(store: Store, talk: Conversation) -> None:
    assert store.messages.append(talk.id, []) == []
    assert store.conversations.get(talk.id) == talk


def test_append_to_a_conversation_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(NotFound, match="no conversation has the id 'nobody'"):
        store.messages.append("nobody", messages(1))


def test_append_to_a_turn_that_is_not_there_stores_nothing(store: Store, talk: Conversation) -> None:
    with pytest.raises(NotFound, match="is not there"):
        store.messages.append(talk.id, messages(2), turn_id=7)
    assert store.conversations.get(talk.id) == talk


def test_a_moment_in_another_zone_is_stored_in_utc(store: Store, talk: Conversation) -> None:
    local = THEN.astimezone(timezone(timedelta(hours=5, minutes=30)))
    new = NewMessage("human", "human", "x", "{}", 1, created_at=local)
    [stored] = store.messages.append(talk.id, [new])
    assert (stored.created_at, stored.created_at.tzinfo) == (THEN, UTC)
    assert store.messages.get(talk.id, 1) == stored


@given(
    batches=st.lists(
        st.lists(st.tuples(st.text(max_size=20), st.none() | st.sampled_from("abcde")), max_size=5), max_size=6
    )
)
def test_ids_have_no_gaps_order_is_of_appending_and_a_uid_is_one_row(
    store: Store, batches: list[list[tuple[str, str | None]]]
) -> None:
    talk = store.conversations.create()
    expected: list[str] = []
    seen: dict[str, int] = {}
    for batch in batches:
        stored = store.messages.append(talk.id, [message(text, uid=uid) for text, uid in batch])
        for (text, uid), item in zip(batch, stored, strict=True):
            if uid is None or uid not in seen:
                expected.append(text.replace("\0", "\u2400"))
                seen[uid or f"#{len(expected)}"] = len(expected)
            assert item.id == (seen[uid] if uid else len(expected)) or uid is None
    found = list(store.messages.oldest_first(talk.id))
    assert [item.id for item in found] == list(range(1, len(expected) + 1))
    assert [item.text for item in found] == expected
    assert store.conversations.get(talk.id).tokens == sum(item.tokens for item in found)


def test_fault_18_the_same_uid_twice_is_one_row_and_the_first_one(store: Store, talk: Conversation) -> None:
    [first] = store.messages.append(talk.id, [message("first", uid="same")])
    again = store.messages.append(talk.id, [message("second", uid="same"), message("third"), message("x", uid="same")])
    assert again[0] == first
    assert again[2] == first
    assert _texts(store.messages.oldest_first(talk.id)) == ["first", "third"]
    assert [item.id for item in again] == [1, 2, 1]


def test_fault_18_the_same_uid_in_two_conversations_is_two_rows(store: Store, talk: Conversation) -> None:
    neighbour = store.conversations.create()
    store.messages.append(talk.id, [message("here", uid="same")])
    store.messages.append(neighbour.id, [message("there", uid="same")])
    assert _texts(store.messages.oldest_first(neighbour.id)) == ["there"]


@pytest.mark.parametrize("step", [timedelta(0), timedelta(days=-1)], ids=["same microsecond", "clock going back"])
def test_fault_18_order_is_by_id_and_never_by_time(store: Store, talk: Conversation, step: timedelta) -> None:
    for number in range(5):
        new = NewMessage("human", "human", str(number), "{}", 1, created_at=THEN + number * step)
        store.messages.append(talk.id, [new])
    assert _texts(store.messages.oldest_first(talk.id)) == ["0", "1", "2", "3", "4"]
    assert _texts(store.messages.newest_first(talk.id)) == ["4", "3", "2", "1", "0"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("lone \ud83d surrogate", "lone \\ud83d surrogate"),
        ("a\0b", "a\u2400b"),
        ("\0", "\u2400"),
        ("", ""),
        ("👩‍👩‍👧‍👦 and 你好", "👩‍👩‍👧‍👦 and 你好"),
        ("\x1b[31m{x}\r\n\t\u202e", "\x1b[31m{x}\r\n\t\u202e"),
    ],
)
def test_fault_16_text_is_exact_or_visibly_replaced_and_the_payload_exact(
    store: Store, talk: Conversation, text: str, kept: str
) -> None:
    store.messages.append(talk.id, [message(text)])
    stored = store.messages.get(talk.id, 1)
    assert (stored.text, stored.data, stored.state) == (kept, {"content": text}, "whole")


def test_fault_16_a_raw_surrogate_in_a_payload_becomes_its_json_escape(store: Store, talk: Conversation) -> None:
    payload = json.dumps({"content": "\ud83d"}, ensure_ascii=False)
    store.messages.append(talk.id, [NewMessage("human", "human", "x", payload, 1)])
    assert store.messages.get(talk.id, 1).data == {"content": "\ud83d"}


@given(text=st.text(st.characters(exclude_categories=()), max_size=60))
def test_any_text_at_all_is_stored_and_its_payload_comes_back_exactly(store: Store, text: str) -> None:
    talk = store.conversations.create()
    store.messages.append(talk.id, [message(text)])
    assert store.messages.get(talk.id, 1).data == {"content": text}


@pytest.mark.parametrize("id", [0, 4, -1, 10**30, -(10**30)])
def test_a_message_that_is_not_there_is_refused(store: Store, talk: Conversation, id: int) -> None:
    store.messages.append(talk.id, messages(3))
    with pytest.raises(NotFound, match=f"no message #{id}"):
        store.messages.get(talk.id, id)


def test_reading_can_be_bounded_on_both_sides(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(6))
    assert [m.id for m in store.messages.newest_first(talk.id, up_to=5, down_to=3)] == [5, 4, 3]
    assert [m.id for m in store.messages.oldest_first(talk.id, after=2, up_to=4)] == [3, 4]
    assert list(store.messages.oldest_first(talk.id, after=6)) == []
    assert list(store.messages.newest_first("nobody")) == []


def test_excluded_messages_are_left_out_unless_asked_for(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(6))
    for id, state in enumerate(("failed", "rewound", "unreadable", "partial"), start=2):
        store.messages.mark(talk.id, [id], state)  # type: ignore[arg-type]
    assert [m.id for m in store.messages.oldest_first(talk.id)] == [1, 5, 6]
    assert [m.id for m in store.messages.newest_first(talk.id)] == [6, 5, 1]
    assert [m.id for m in store.messages.newest_first(talk.id, excluded=True)] == [6, 5, 4, 3, 2, 1]
    assert store.messages.excluded_ids(talk.id, up_to=3) == [2, 3]
    assert store.messages.token_sum(talk.id, [(1, 3), (6, 6)]) == 2 * len("message 1")
    assert store.messages.humans_after(talk.id, 0, at_most=99) == 3


def test_one_turns_messages_are_read_oldest_first(store: Store, talk: Conversation) -> None:
    turn = store.turns.start(talk.id)
    store.messages.append(talk.id, messages(2), turn_id=turn.id)
    store.messages.append(talk.id, [message("outside")])
    store.messages.mark(talk.id, [1], "failed")
    assert [m.id for m in store.messages.of_turn(talk.id, turn.id)] == [2]
    assert [m.id for m in store.messages.of_turn(talk.id, turn.id, excluded=True)] == [1, 2]


def test_the_leading_system_message_is_the_first_one_only(store: Store, talk: Conversation) -> None:
    assert store.messages.leading_system(talk.id) is None
    [first] = store.messages.append(talk.id, [message("be brief", "system")])
    assert store.messages.leading_system(talk.id) == first
    late = store.conversations.create()
    store.messages.append(late.id, [message("hi"), message("be brief", "system")])
    assert store.messages.leading_system(late.id) is None


def test_humans_are_counted_after_a_message_and_up_to_a_number(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, [message("q"), message("a", "ai")] * 10)
    assert store.messages.humans_after(talk.id, 0, at_most=99) == 10
    assert store.messages.humans_after(talk.id, 1, at_most=99) == 9
    assert store.messages.humans_after(talk.id, 0, at_most=4) == 4
    assert store.messages.humans_after(talk.id, 4, at_most=99, up_to=8) == 2


def test_taking_some_of_the_newest_reads_as_many_rows_whatever_the_length(store: Store) -> None:
    costs = set()
    for length in (20, 200, 2000):
        talk = store.conversations.create()
        store.messages.append(talk.id, messages(length))
        before = store.rows_read
        assert len(list(islice(store.messages.newest_first(talk.id), 12))) == 12
        costs.add(store.rows_read - before)
    assert costs == {12}


def test_the_last_id_is_one_row(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(200))
    before = store.rows_read
    assert store.messages.last_id(talk.id) == 200
    assert store.rows_read - before == 1


def test_append_reads_no_rows(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(200))
    before = store.rows_read
    store.messages.append(talk.id, messages(1))
    assert store.rows_read - before == 0


def test_a_read_goes_on_while_the_same_messages_are_marked(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(10))
    taken = []
    for item in store.messages.newest_first(talk.id):
        store.messages.mark(talk.id, [item.id], "rewound")
        taken.append(item.id)
    assert taken == list(range(10, 0, -1))


def test_reading_to_the_end_ends_though_more_is_appended_on_the_way(store: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, messages(3))
    for item in store.messages.oldest_first(talk.id):
        store.messages.append(talk.id, [message(f"{item.text} again")])
    assert store.messages.last_id(talk.id) == 6


def test_a_read_that_is_still_open_does_not_keep_this_process_from_writing(
    store: Store, other: Store, talk: Conversation
) -> None:
    store.messages.append(talk.id, messages(3))
    reading = store.messages.newest_first(talk.id)
    assert next(reading).id == 3
    other.messages.append(talk.id, [message("from elsewhere")])
    assert store.messages.append(talk.id, [message("from here")])[0].id == 5
    assert [item.id for item in reading] == [2, 1]


def test_two_stores_of_one_file_see_each_other(store: Store, other: Store, talk: Conversation) -> None:
    store.messages.append(talk.id, [message("one")])
    other.messages.append(talk.id, [message("two")])
    assert (
        _texts(store.messages.oldest_first(talk.id)) == _texts(other.messages.oldest_first(talk.id)) == ["one", "two"]
    )
