"""What a compaction's calls saw is told to the letter, by reference, whatever became of the conversation since."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import NotFound
from memcli.memory.context import Policy, Request
from memcli.memory.fold_call import PROMPT, fold_call, references
from memcli.memory.model import memory_of
from memcli.memory.prompts import Prompt, summary_prompt
from memcli.memory.spans import Spans
from memcli.memory.travel import of_call
from memcli.records import Call, CallPurpose, Conversation, MemoryModel, SummaryKind
from memcli.store import Store
from tests.cli.conversations import said
from tests.histories import opened
from tests.memory.summarizers import ScriptedSummarizer
from tests.memory.talks import asking
from tests.memory.turning import exchange, hold, model

OFTEN = Policy(compact_every=2, max_summaries=2, max_tokens=400, limit_tokens=4000, output_reserve=200)


def talk_of(store: Store, memory: MemoryModel, turns: int, writer: ScriptedSummarizer) -> Conversation:
    """Hold a talk whose every third turn calls a tool with a long result, seeing to its memory after each."""
    talk = store.conversations.create(memory=memory, system_prompt="You track parcels.")
    for number in range(1, turns + 1):
        messages = exchange(number)
        if number % 3 == 0:
            call = asking("", (f"c{number}", {"order": f"PX-{number} {{braces}}"}))
            messages[1:1] = [call, said("tool", f"naïve 你好 {number} " * 300, tool_call_id=f"c{number}")]
        hold(store, talk, messages)
        see_to(store, talk, writer)
    return talk


def see_to(store: Store, talk: Conversation, writer: ScriptedSummarizer, *, if_needed: bool = True) -> None:
    now = store.conversations.get(talk.id)
    memory_of(talk.memory).settle(store, now, OFTEN, writer, Request(), if_needed=if_needed)


def compactions(store: Store, id: str) -> list[Call]:
    return store.calls.newest_first(id, purpose="compaction")[::-1]


def assert_told(store: Store, id: str, prompts: list[Prompt]) -> None:
    told = [fold_call(store, id, call.id) for call in compactions(store, id)]
    assert [(seen.system, seen.user, seen.schema_system) for seen in told] == [
        (prompt.system, prompt.user, prompt.schema_system) for prompt in prompts
    ]
    assert all(seen.is_exact for seen in told)


@pytest.mark.parametrize("memory", ["window", "turns"])
def test_every_request_of_a_compaction_is_told_as_it_was(store: Store, memory: MemoryModel) -> None:
    writer = model("", "")  # the first answers are rejected: what was asked instead is told as well
    talk = talk_of(store, memory, 8, writer)
    assert len(writer.prompts) > 4
    assert_told(store, talk.id, writer.prompts)


@pytest.mark.parametrize("memory", ["window", "turns"])
def test_undo_rewind_and_a_fork_change_nothing_in_what_was_seen(store: Store, memory: MemoryModel) -> None:
    writer = model()
    talk = talk_of(store, memory, 8, writer)
    kind: SummaryKind = "running" if memory == "window" else "compaction"
    head = store.summaries.head(talk.id, kind)
    assert head is not None
    store.summaries.move_head(talk.id, kind, None, expected_head=head.id)
    child = store.conversations.fork(talk.id, at=4)
    store.turns.close(talk.id, 8, "rewound")
    store.turns.close(talk.id, 7, "failed")
    assert_told(store, talk.id, writer.prompts)
    assert compactions(store, child.id) == []


def test_a_transcript_is_recorded_by_reference_and_not_once_more(store: Store) -> None:
    writer = model()
    talk = store.conversations.create()
    hold(store, talk, [said("human", "look"), asking("", ("c", {})), said("tool", "x" * 9000, tool_call_id="c")])
    hold(store, talk, exchange(2))
    see_to(store, talk, writer, if_needed=False)
    call = compactions(store, talk.id)[0]
    seen = fold_call(store, talk.id, call.id)
    assert [(part.source, part.first_message_id, part.last_message_id) for part in call.parts] == [
        (PROMPT, None, None), ("message", 1, 5),
    ]  # fmt: skip
    assert seen.shown == Spans.of([(1, 5)])
    assert "xxxx" not in (call.parts[0].text or "")
    assert "xxxx" in seen.user


def test_what_is_stored_otherwise_is_not_passed_for_what_was_sent(store: Store) -> None:
    talk = store.conversations.create()
    hold(store, talk, exchange(1))
    first, second = store.messages.oldest_first(talk.id)
    prompt = summary_prompt(None, [first, replace(second, text="other")], max_tokens=100, instructions=None)
    call = store.calls.begin(
        talk.id, turn_id=None, purpose="compaction", model="m", limit_tokens=9, parts=references(prompt),
        estimated_tokens=1,
    )  # fmt: skip
    seen = fold_call(store, talk.id, call)
    assert not seen.is_exact
    assert seen.user == prompt.user.replace("other", second.text)


def test_a_call_of_a_chat_and_one_that_recorded_nothing_are_refused(store: Store) -> None:
    talk = store.conversations.create()
    purposes: tuple[CallPurpose, ...] = ("chat", "compaction")
    for purpose in purposes:
        store.calls.begin(
            talk.id, turn_id=None, purpose=purpose, model="m", limit_tokens=9, parts=(), estimated_tokens=1
        )  # fmt: skip
    for id in (1, 2):
        with pytest.raises(NotFound, match=f"call {id} recorded no prompt"):
            fold_call(store, talk.id, id)
    with pytest.raises(NotFound, match="there is no call 3"):
        fold_call(store, talk.id, 3)


def test_a_compactions_call_is_no_context_of_a_chat(store: Store) -> None:
    talk = talk_of(store, "window", 4, model())
    with pytest.raises(NotFound, match="call 1 saw no context: it folded"):
        of_call(store, store.conversations.get(talk.id), 1)


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.text(min_size=1, max_size=300), min_size=2, max_size=8))
def test_any_text_at_all_is_told_as_it_was(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    with opened(tmp_path_factory.mktemp("store")) as store:
        writer = model()
        talk = store.conversations.create()
        for text in texts:
            hold(store, talk, [said("human", text), said("ai", text * 20)])
        see_to(store, talk, writer, if_needed=False)
        assert_told(store, talk.id, writer.prompts)
