"""`memcli context --calls`: which calls were made, so that one can be looked at."""

from __future__ import annotations

import pytest

from memcli.records import CallPurpose, CallStatus, PartRef
from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.stories import a_failed_compaction, a_talk
from tests.cli.terminals import Outcome, in_terminal

SYSTEM = PartRef("system", None, None, 5, None, "the conversation's system prompt", text="Be brief.")
SAW = PartRef("new", 5, 5, 8, "verbatim", "the new message")


def a_call(
    store: Store, id: str, status: CallStatus = "done", *, purpose: CallPurpose = "chat", model: str = "qwen3:4b"
) -> None:
    """Record a call that saw two parts, and what it sent."""
    call = store.calls.begin(
        id, turn_id=1, purpose=purpose, model=model, limit_tokens=8192, parts=(SYSTEM, SAW), estimated_tokens=1310,
    )  # fmt: skip
    store.calls.note_request(id, call, '{"form": null, "check": "", "body": {}}')
    store.calls.finish(id, call, status=status, input_tokens=1290, output_tokens=7, duration_ms=1500)


def test_every_call_is_a_row_oldest_first(run: Run, store: Store) -> None:
    talk = a_talk(store)
    a_call(store, talk.id)
    a_failed_compaction(store, talk.id, "the summary is empty")

    done = run("context", "work", "--calls")

    rows = [line.split(maxsplit=4)[3:] for line in done.out.splitlines()]
    assert (done.code, done.err, done.out.splitlines()[0].split()) == (
        0, "", ["call", "when", "for", "model", "up", "to", "parts", "estimate", "reported", "ended"],
    )  # fmt: skip
    assert [" ".join(" ".join(row).split()[1:]) for row in rows[1:]] == [
        "chat qwen3:4b #5 2 1,310 1,290 done",
        "fold qwen3:4b – – 2,000 2,000 rejected: the summary is empty",
    ]


def test_as_json_a_call_has_all_its_numbers(run: Run, store: Store) -> None:
    talk = a_talk(store)
    a_call(store, talk.id)
    started_at = store.calls.get(talk.id, 1).started_at.isoformat()

    assert run("context", "work", "--calls", "--json").document == {
        "version": 1, "conversation": talk.id, "name": "work", "calls": [{
            "id": 1, "turn": 1, "purpose": "chat", "model": "qwen3:4b", "limit_tokens": 8192, "parts": 2,
            "last_message_id": 5, "estimated_tokens": 1310, "input_tokens": 1290, "output_tokens": 7,
            "duration_ms": 1500, "status": "done", "error": None, "started_at": started_at,
        }],
    }  # fmt: skip


def test_without_a_call_it_says_so(run: Run, store: Store) -> None:
    a_talk(store)

    assert run("context", "work", "--calls") == Outcome(0, "", "no call was made yet\n")
    assert run("context", "work", "--calls", "--json").listed("calls") == []


@pytest.mark.parametrize("columns", [80, 120])
def test_on_a_terminal_a_call_takes_one_line_and_the_newest_are_shown(store: Store, columns: int) -> None:
    talk = a_talk(store)
    for _ in range(24):
        a_call(store, talk.id, model="hf.co/somebody/a-very-long-name-of-a-model-GGUF:Q4_K_M")

    shown = in_terminal("context", "work", "--calls", "--no-color", columns=columns).out.splitlines()

    assert len(shown) == 22
    assert shown[-1].startswith("the newest 20; --full lists them all")
    assert "1,310" in shown[1] and "done" in shown[1]  # noqa: PT018 - both on one line is the point


def test_it_is_asked_alone(run: Run, store: Store) -> None:
    a_talk(store)

    assert run("context", "work", "--calls", "--call", "1").err.startswith("error: --calls does not go with --call\n")
    assert run("context", "work", "--calls", "--raw").err.startswith(
        "error: --calls and --raw cannot be asked together\n"
    )
    assert run("context", "work", "--message", "Hi").err.startswith("error: --message is a message to come")
