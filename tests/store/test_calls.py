"""Calls: what a model call saw, and how it ended."""

from __future__ import annotations

import pytest

from memcli.errors import NotFound
from memcli.records import Call, CallPurpose, Conversation
from memcli.store import Store
from tests.store.samples import PART


def _begin(store: Store, conversation_id: str, *, purpose: CallPurpose = "chat", model: str = "llama3.2") -> int:
    return store.calls.begin(
        conversation_id, turn_id=None, purpose=purpose, model=model, limit_tokens=8192, parts=[PART, PART],
        estimated_tokens=80,
    )  # fmt: skip


def test_a_call_is_recorded_before_it_is_made(store: Store, talk: Conversation) -> None:
    id = _begin(store, talk.id)
    call = store.calls.get(talk.id, id)
    assert call == Call(
        1, talk.id, None, "chat", "llama3.2", 8192, (PART, PART), 80, None, None, None, "running", None, call.started_at
    )


def test_a_finished_call_has_the_servers_own_counts(store: Store, talk: Conversation) -> None:
    id = _begin(store, talk.id)
    store.calls.finish(talk.id, id, status="done", input_tokens=91, output_tokens=7, duration_ms=1200)
    call = store.calls.get(talk.id, id)
    assert (call.status, call.input_tokens, call.output_tokens, call.duration_ms) == ("done", 91, 7, 1200)


def test_a_failed_call_says_why_whatever_the_text(store: Store, talk: Conversation) -> None:
    id = _begin(store, talk.id)
    store.calls.finish(talk.id, id, status="failed", error="bad \udcff answer")
    call = store.calls.get(talk.id, id)
    assert (call.status, call.error) == ("failed", "bad \\udcff answer")


@pytest.mark.parametrize("id", [0, 2, 10**30])
def test_a_call_that_is_not_there_is_refused(store: Store, talk: Conversation, id: int) -> None:
    _begin(store, talk.id)
    with pytest.raises(NotFound, match=f"no call {id}"):
        store.calls.get(talk.id, id)
    with pytest.raises(NotFound):
        store.calls.finish(talk.id, id, status="done")


def test_a_call_of_no_conversation_is_refused(store: Store) -> None:
    with pytest.raises(NotFound):
        _begin(store, "nobody")


def test_calls_come_newest_first_and_can_be_narrowed(store: Store, talk: Conversation) -> None:
    for purpose in ("chat", "compaction", "chat"):
        _begin(store, talk.id, purpose=purpose)
    assert [call.id for call in store.calls.newest_first(talk.id)] == [3, 2, 1]
    assert [call.id for call in store.calls.newest_first(talk.id, purpose="chat", limit=1)] == [3]
    assert store.calls.newest_first("nobody") == []


def test_reported_counts_are_of_one_model_and_of_calls_that_finished(store: Store, talk: Conversation) -> None:
    for model, status, reported in (("a", "done", 90), ("b", "done", 70), ("a", "failed", 60), ("a", "done", None)):
        id = _begin(store, talk.id, model=model)
        store.calls.finish(talk.id, id, status=status, input_tokens=reported)  # type: ignore[arg-type]
    assert store.calls.reported("a") == [(80, 90)]
    assert store.calls.reported("c") == []


def test_what_a_call_sends_is_noted_beside_what_it_saw(store: Store, talk: Conversation) -> None:
    id = _begin(store, talk.id)
    assert store.calls.get(talk.id, id).request is None
    store.calls.note_request(talk.id, id, '{"a": "é \\u2028"}')
    call = store.calls.get(talk.id, id)
    assert (call.seen, call.request) == ((PART, PART), '{"a": "é \\u2028"}')
    with pytest.raises(NotFound):
        store.calls.note_request(talk.id, 9, "{}")


def test_what_a_server_allots_is_noted_beside_what_a_call_saw(store: Store, talk: Conversation) -> None:
    id = _begin(store, talk.id)
    assert store.calls.get(talk.id, id).allotted is None
    store.calls.note_request(talk.id, id, "{}")
    store.calls.note_allotted(talk.id, id, 2048)
    call = store.calls.get(talk.id, id)
    assert (call.seen, call.request, call.allotted) == ((PART, PART), "{}", 2048)
    with pytest.raises(NotFound):
        store.calls.note_allotted(talk.id, 9, 2048)
