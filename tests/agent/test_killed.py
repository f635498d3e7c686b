"""kill -9 at every step of a turn and of a compaction: nothing stored is lost or doubled, and the next turn works."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool

from memcli.agent.agent import Agent, Model
from memcli.agent.events import CallFinished, CallStarted, Event, Folded, TextDelta, ToolFinished, ToolStarted
from memcli.agent.history import PersistentChatHistory
from memcli.memory.context import Policy
from memcli.memory.prompts import Prompt
from memcli.memory.running import settle
from memcli.memory.wire import UNKNOWN_RESULT
from memcli.store import Store
from tests.agent.scripted import Script, ScriptedChat, asks, says, scripted
from tests.agent.watching import unheard
from tests.histories import exchange, opened
from tests.memory.summarizers import Reply, ScriptedSummarizer

CONVERSATION = "killed"
SAID = ["go", "All three.", "did 1", "did 2", "did 3", "All done."]
"""The turn's texts in the order they are stored."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run_and_be_killed(path: Path, work: Callable[[Store], None]) -> None:
    """Do the work in a process of its own that opens the store itself, and is killed."""
    process = multiprocessing.get_context("fork").Process(target=_work, args=(path, work))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def _work(path: Path, work: Callable[[Store], None]) -> None:
    work(Store(path))


def agent_of(
    store: Store, chat: ScriptedChat, summarizer: ScriptedSummarizer | None = None, kills_in: int = 0
) -> Agent:
    @tool
    def step(number: int) -> str:
        """Do one step."""
        if number == kills_in:
            die()
        return f"did {number}"

    model = Model(chat, "scripted", 8192, can_call_tools=True)
    writer = summarizer or ScriptedSummarizer()
    return Agent(store, CONVERSATION, model, policy=Policy(), summarizer=writer, tools=[step])


def three_steps() -> ScriptedChat:
    ask = asks(("step", {"number": 1}), ("step", {"number": 2}), ("step", {"number": 3}), text="All three.")
    return scripted(ask, "All done.")


def killing_at(kind: type[Event], nth: int) -> Callable[[Event], None]:
    seen: list[Event] = []

    def emit(event: Event) -> None:
        if isinstance(event, kind):
            seen.append(event)
            if len(seen) == nth:
                die()

    return emit


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with opened(tmp_path) as store:
        store.conversations.create(id=CONVERSATION)
        return store.path


POINTS: dict[str, tuple[type, int, int]] = {
    "before the first request": (CallStarted, 1, 1),
    "while the answer streams": (TextDelta, 1, 1),
    "when the answer is in and not stored": (CallFinished, 1, 1),
    "before the first tool": (ToolStarted, 1, 2),
    "after the first result": (ToolFinished, 1, 3),
    "after the second result": (ToolFinished, 2, 4),
    "before the second request": (CallStarted, 2, 5),
    "while the second answer streams": (TextDelta, 2, 5),
    "when the second answer is in and not stored": (CallFinished, 2, 5),
}
"""Point → the event it is at, which one of its kind, and how many messages have been stored by then."""


@pytest.mark.parametrize("point", POINTS)
def test_fault_12_killed_in_a_turn_what_was_stored_is_there_once_and_the_next_turn_works(
    path: Path, point: str
) -> None:
    kind, nth, stored = POINTS[point]
    run_and_be_killed(path, lambda store: _turn(store, killing_at(kind, nth)))
    _assert_usable_after(path, stored)


def test_fault_2_killed_in_the_second_of_three_tools_the_first_result_is_kept_and_two_are_made_up(path: Path) -> None:
    run_and_be_killed(path, lambda store: _turn(store, unheard, kills_in=2))
    sent = _assert_usable_after(path, 3)
    assert [message.content for message in sent] == [
        "go",
        "All three.",
        "did 1",
        UNKNOWN_RESULT,
        UNKNOWN_RESULT,
        "and?",
    ]


def _turn(store: Store, emit: Callable[[Event], None], kills_in: int = 0) -> None:
    agent_of(store, three_steps(), kills_in=kills_in).run_turn("go", emit)


def _assert_usable_after(path: Path, stored: int) -> list[BaseMessage]:
    with Store(path) as store:
        rows = list(store.messages.oldest_first(CONVERSATION, excluded=True))
        assert [(row.text, row.state) for row in rows] == [(text, "whole") for text in SAID[:stored]]
        assert store.check() == []
        script = Script()
        script.otherwise = says("Still here.")
        result = agent_of(store, ScriptedChat(script=script)).run_turn("and?", unheard)
        assert (result.status, result.answer) == ("done", "Still here.")
        assert store.turns.get(CONVERSATION, 1).status == "interrupted"
        assert list(store.messages.oldest_first(CONVERSATION, excluded=True))[: len(rows)] == rows
        assert store.check() == []
        _assert_valid(script.requests[0])
        return script.requests[0]


def _assert_valid(sent: list[BaseMessage]) -> None:
    owed: list[str | None] = []
    for message in sent:
        if isinstance(message, ToolMessage):
            assert message.tool_call_id == owed.pop(0)
        else:
            assert owed == []
            owed = [call["id"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
    assert owed == []


def test_fault_12_killed_right_after_a_turn_began_nothing_is_half_stored(path: Path) -> None:
    def work(store: Store) -> None:
        with store.transaction(durable=True):
            turn = store.turns.start(CONVERSATION)
            assert turn.id == 1
            die()

    run_and_be_killed(path, work)
    with Store(path) as store:
        assert (store.conversations.get(CONVERSATION).turns, store.check()) == (0, [])


def talk(store: Store) -> None:
    history = PersistentChatHistory(store, CONVERSATION)
    for number in range(12):
        history.add_messages(exchange(number))


def _dies(prompt: Prompt) -> str:
    die()
    return ""


def test_fault_12_killed_while_the_summarizer_writes_the_head_is_unchanged_and_the_fold_is_made_later(
    path: Path,
) -> None:
    def work(store: Store) -> None:
        talk(store)
        settle(store, store.conversations.get(CONVERSATION), Policy(), ScriptedSummarizer(otherwise=_dies))

    run_and_be_killed(path, work)
    with Store(path) as store:
        assert (store.summaries.list(CONVERSATION), store.check()) == ([], [])
        assert PersistentChatHistory(store, CONVERSATION).last_message_id == 24
        result = settle(store, store.conversations.get(CONVERSATION), Policy(), ScriptedSummarizer())
        assert (result.status, result.last_message_id) == ("compacted", 24)


def test_fault_12_killed_in_the_third_chunk_the_first_two_are_in_force(path: Path) -> None:
    replies: list[Reply] = ["So far question1.", "So far question2.", _dies]

    def work(store: Store) -> None:
        talk(store)
        writer = ScriptedSummarizer(otherwise=_dies, window_tokens=2000)
        writer.replies.extend(replies)
        settle(store, store.conversations.get(CONVERSATION), Policy(), writer)

    run_and_be_killed(path, work)
    with Store(path) as store:
        made = store.summaries.list(CONVERSATION)
        head = store.summaries.head(CONVERSATION, "running")
        assert [summary.text for summary in made] == ["So far question1.", "So far question2."]
        assert head == made[1]
        writer = ScriptedSummarizer(window_tokens=2000)
        settle(store, store.conversations.get(CONVERSATION), Policy(), writer, if_needed=False)
        assert writer.shown_ids[0][0] == made[1].last_message_id + 1
        assert store.check() == []


def test_fault_12_killed_after_the_fold_of_a_turn_both_are_there(path: Path) -> None:
    def work(store: Store) -> None:
        talk(store)
        agent_of(store, scripted("Yes.")).run_turn("and?", killing_at(Folded, 1))

    run_and_be_killed(path, work)
    with Store(path) as store:
        head = store.summaries.head(CONVERSATION, "running")
        assert head is not None
        assert (head.last_message_id, store.check()) == (26, [])
        assert store.turns.get(CONVERSATION, 13).status == "done"
