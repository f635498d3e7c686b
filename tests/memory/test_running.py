"""When the running summary is due, what it may cover, the breaker, and undo."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from langchain_core.messages import BaseMessage, HumanMessage

from memcli.agent.codec import encode
from memcli.errors import NotFound
from memcli.memory.asking import BREAKER_ATTEMPTS
from memcli.memory.context import Policy, Request
from memcli.memory.running import due, foldable_up_to, settle
from memcli.memory.undo import undo
from memcli.memory.window import context
from memcli.records import Conversation
from memcli.store import Store
from tests.histories import exchange, opened, stored
from tests.memory.summarizers import ScriptedSummarizer, answering

WIDE = Policy(max_tokens=100_000, limit_tokens=200_000)
"""A window nothing ever leaves: only the source's rule of ten applies."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("store")) as store:
        yield store


def talk(turns: int) -> list[BaseMessage]:
    return [message for number in range(turns) for message in exchange(number)]


def now(store: Store, conversation: Conversation) -> Conversation:
    return store.conversations.get(conversation.id)


def talk_on(store: Store, conversation: Conversation, *numbers: int) -> None:
    for number in numbers:
        turn = store.turns.start(conversation.id)
        store.messages.append(conversation.id, [encode(item) for item in exchange(number)], turn_id=turn.id)
        store.turns.close(conversation.id, turn.id, "done")


def test_the_ninth_human_message_does_not_compact_and_the_tenth_does(store: Store) -> None:
    conversation = stored(store, talk(9))
    writer = answering()
    assert settle(store, conversation, WIDE, writer).status == "nothing"
    talk_on(store, conversation, 10)
    result = settle(store, now(store, conversation), WIDE, writer)
    assert (result.status, result.first_message_id, result.last_message_id) == ("compacted", 1, 20)
    assert len(writer.prompts) == 1


def test_the_next_ten_are_counted_from_the_last_fold(store: Store) -> None:
    conversation = stored(store, talk(10))
    writer = answering()
    settle(store, conversation, WIDE, writer)
    talk_on(store, conversation, *range(10, 19))
    assert settle(store, now(store, conversation), WIDE, writer).status == "nothing"
    talk_on(store, conversation, 19)
    result = settle(store, now(store, conversation), WIDE, writer)
    assert (result.status, result.first_message_id, result.last_message_id) == ("compacted", 21, 40)


def test_uncovered_messages_that_leave_the_window_are_folded_at_once(store: Store) -> None:
    conversation = stored(store, talk(4))
    narrow = Policy(max_tokens=200)
    assert due(store, conversation, narrow).reason == "4 messages left the window uncovered"
    assert settle(store, conversation, narrow, answering()).status == "compacted"
    assert context(store, conversation, narrow, Request()).ledger.forgotten.count == 0


def test_without_compact_on_overflow_the_sources_hole_is_there_and_shown(store: Store) -> None:
    conversation = stored(store, talk(4))
    source = Policy(max_tokens=200, compact_on_overflow=False)
    assert settle(store, conversation, source, answering()).status == "nothing"
    assert context(store, conversation, source, Request()).ledger.forgotten.count == 4


def test_an_ongoing_turn_is_left_alone(store: Store) -> None:
    conversation = stored(store, talk(10))
    turn = store.turns.start(conversation.id)
    store.messages.append(conversation.id, [encode(HumanMessage("and now?"))], turn_id=turn.id)
    assert foldable_up_to(store, now(store, conversation)) == 20
    assert settle(store, now(store, conversation), WIDE, answering()).last_message_id == 20


def test_compacting_by_hand_needs_no_reason(store: Store) -> None:
    conversation = stored(store, talk(3))
    assert settle(store, conversation, WIDE, answering(), if_needed=False).status == "compacted"


def test_settling_twice_changes_nothing(store: Store) -> None:
    conversation = stored(store, talk(10))
    writer = answering()
    settle(store, conversation, WIDE, writer)
    again = settle(store, conversation, WIDE, writer, if_needed=False)
    assert (again.status, again.error, len(writer.prompts)) == ("nothing", "everything is covered already", 1)


def test_fault_6_where_the_context_cannot_fit_at_all_a_fold_is_due_and_is_not_refused(store: Store) -> None:
    conversation = stored(store, talk(3))
    store.conversations.set_system_prompt(conversation.id, "x" * 40_000)
    conversation = now(store, conversation)
    what = due(store, conversation, Policy())
    assert what.reason is not None
    assert what.reason.startswith("the context does not fit: what is always sent needs")
    assert settle(store, conversation, Policy(), answering(), if_needed=False).status == "compacted"


def test_fault_6_a_model_that_keeps_failing_is_left_alone_and_the_fallback_is_flagged(store: Store) -> None:
    conversation = stored(store, talk(10))
    broken = ScriptedSummarizer(otherwise="")
    for _ in range(BREAKER_ATTEMPTS // 2):
        assert settle(store, conversation, WIDE, broken).status == "rejected"
    assert len(broken.prompts) == BREAKER_ATTEMPTS
    result = settle(store, conversation, WIDE, broken)
    assert result.status == "compacted"
    assert result.summary is not None
    assert (result.summary.fallback, result.summary.model) == (True, "extractive")
    assert len(broken.prompts) == BREAKER_ATTEMPTS


def test_fault_6_what_the_fallback_made_does_not_close_the_breaker(store: Store) -> None:
    conversation = stored(store, talk(10))
    broken = ScriptedSummarizer(otherwise="")
    for round in range(5):
        settle(store, now(store, conversation), WIDE, broken)
        if round >= BREAKER_ATTEMPTS // 2:
            talk_on(store, conversation, *range(100 * round, 100 * round + 10))
    assert len(broken.prompts) == BREAKER_ATTEMPTS
    assert [summary.fallback for summary in store.summaries.list(conversation.id)] == [True, True]


def test_fault_6_the_breaker_outlives_the_process(store: Store) -> None:
    conversation = stored(store, talk(10))
    broken = ScriptedSummarizer(otherwise="")
    for _ in range(BREAKER_ATTEMPTS // 2):
        settle(store, conversation, WIDE, broken)
    with Store(store.path) as reopened:
        assert settle(reopened, conversation, WIDE, broken).status == "compacted"
    assert len(broken.prompts) == BREAKER_ATTEMPTS


def test_fault_6_a_person_who_asks_for_a_compaction_gets_the_model(store: Store) -> None:
    conversation = stored(store, talk(10))
    broken = ScriptedSummarizer(otherwise="")
    for _ in range(BREAKER_ATTEMPTS // 2):
        settle(store, conversation, WIDE, broken)
    assert settle(store, conversation, WIDE, broken, if_needed=False).status == "rejected"
    assert len(broken.prompts) == BREAKER_ATTEMPTS + 2


def test_undo_puts_the_summary_before_back_in_force_and_deletes_none(store: Store) -> None:
    conversation = stored(store, talk(10))
    writer = answering("The first one.", "The second one.")
    settle(store, conversation, WIDE, writer)
    talk_on(store, conversation, *range(10, 20))
    settle(store, now(store, conversation), WIDE, writer)
    result = undo(store, now(store, conversation), "running")
    assert result.summary is not None
    assert (result.status, result.summary.text) == ("undone", "The first one.")
    assert (result.first_message_id, result.last_message_id) == (21, 40)
    assert undo(store, now(store, conversation), "running").summary is None
    assert store.summaries.head(conversation.id, "running") is None
    assert [item.text for item in store.summaries.list(conversation.id)] == ["The first one.", "The second one."]


def test_undo_and_compact_again_reuses_the_summary(store: Store) -> None:
    conversation = stored(store, talk(10))
    writer = answering("The first one.")
    made = settle(store, conversation, WIDE, writer).summary
    undo(store, conversation, "running")
    again = settle(store, conversation, WIDE, writer)
    assert (again.status, again.calls, again.summary, len(writer.prompts)) == ("compacted", 0, made, 1)


def test_more_undos_than_compactions_are_refused_and_change_nothing(store: Store) -> None:
    conversation = stored(store, talk(10))
    settle(store, conversation, WIDE, answering())
    with pytest.raises(NotFound, match="there is 1 compaction to undo, not 2"):
        undo(store, conversation, "running", steps=2)
    assert store.summaries.head(conversation.id, "running") is not None


def test_fault_27_the_head_and_its_cursor_survive_reopening_and_a_fork_before_the_boundary(store: Store) -> None:
    conversation = stored(store, talk(20))
    writer = answering("The first one.", "The second one.")
    settle(store, conversation, Policy(compact_every=10, max_tokens=100_000, limit_tokens=200_000), writer)
    talk_on(store, conversation, *range(20, 30))
    settle(store, now(store, conversation), WIDE, writer)
    with Store(store.path) as reopened:
        head = reopened.summaries.head(conversation.id, "running")
        assert head is not None
        assert (head.text, head.last_message_id) == ("The second one.", 60)
    before = store.conversations.fork(conversation.id, at=50)
    behind = store.conversations.fork(conversation.id)
    heads = [store.summaries.head(fork.id, "running") for fork in (before, behind)]
    assert [head.text if head else None for head in heads] == ["The first one.", "The second one."]
    undo(store, behind, "running")
    built = context(store, behind, Policy(), Request())
    assert built.covered_up_to == 40
