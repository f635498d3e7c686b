"""`memcli context --call N` of a compaction: the prompt its summarizer saw."""

from __future__ import annotations

import json

from memcli.memory.context import Policy, Request
from memcli.memory.fold_call import fold_call
from memcli.memory.model import memory_of
from memcli.records import Conversation
from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.terminals import in_terminal
from tests.memory.summarizers import answering
from tests.memory.turning import exchange, hold


def a_folded_talk(store: Store) -> Conversation:
    """Fold a talk, the first answer being empty."""
    talk = store.conversations.create(name="work")
    for number in range(1, 4):
        hold(store, talk, exchange(number))
    writer = answering("", "The user asked about the gate.")
    now = store.conversations.get(talk.id)
    memory_of("window").settle(store, now, Policy(), writer, Request(), if_needed=False)
    return now


def test_it_shows_the_prompt_and_how_it_ended(run: Run, store: Store) -> None:
    talk = a_folded_talk(store)
    seen = fold_call(store, talk.id, 1)

    done = run("context", "work", "--call", "1")

    first, last = next(iter(seen.shown))
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"work  what call 1 saw: it folded #{first}–#{last} ({seen.shown.count} messages) · ")
    for text in (seen.system, seen.user):
        assert text in done.out
    assert "ended:    rejected" in done.out
    assert f"estimate: {seen.call.estimated_tokens:,} · by script" in done.out


def test_as_json_it_has_the_messages_and_the_call(run: Run, store: Store) -> None:
    talk = a_folded_talk(store)
    seen = fold_call(store, talk.id, 2)

    body = run("context", "work", "--call", "2", "--json").document

    assert body["messages"] == [
        {"role": "system", "content": seen.system}, {"role": "user", "content": seen.user},
    ]  # fmt: skip
    assert (body["exact"], body["shown"], body["schema_system"]) == (True, [list(pair) for pair in seen.shown], None)
    assert body["call"]["status"] == "done"  # type: ignore[index]


def test_raw_is_the_two_messages_and_says_what_is_not_known(run: Run, store: Store) -> None:
    talk = a_folded_talk(store)
    seen = fold_call(store, talk.id, 2)

    done = run("context", "work", "--raw", "--call", "2")

    assert [message["content"] for message in json.loads(done.out)["messages"]] == [seen.system, seen.user]
    assert done.err == "note: what went beside the messages was not recorded\n"


def test_a_terminal_reads_it_too(run: Run, store: Store) -> None:
    a_folded_talk(store)
    shown = in_terminal("context", "work", "--call", "2", "-d", str(store.path), columns=80)
    assert shown.code == 0
    assert "── system" in shown.out
    assert "── user" in shown.out


def test_what_a_fold_saw_is_no_context_to_look_through(run: Run, store: Store) -> None:
    a_folded_talk(store)
    done = run("context", "work", "--call", "1", "--find", "gate")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("error: call 1 saw no context: it folded\n")
