"""The compaction protocol: every validation and race, bounded chunks, and a store unchanged by a failure."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from memcli.agent.codec import encode
from memcli.errors import ModelTimeout, ModelUnreachable
from memcli.memory.asking import ATTEMPTS
from memcli.memory.context import Policy
from memcli.memory.fold import FoldResult, Task, fold
from memcli.memory.prompts import Prompt, asked_again
from memcli.memory.summarizer import Completion, ExtractiveSummarizer, Summarizer, request_tokens
from memcli.memory.tokens import estimate_tokens, text_tokens
from memcli.records import Conversation, Summary
from memcli.store import Store
from tests.histories import asking, exchange, opened, rows, stored
from tests.memory.summarizers import ScriptedSummarizer, answering

GOOD = "The user asked about question0word0 and was told answer0word0."


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("store")) as store:
        yield store


@pytest.fixture
def conversation(store: Store) -> Conversation:
    return stored(store, [message for number in range(6) for message in exchange(number)])


def folding(
    store: Store, conversation: Conversation, summarizer: Summarizer, policy: Policy | None = None, **more: str
) -> FoldResult:
    last = store.conversations.get(conversation.id).last_message_id
    return fold(Task(store, conversation.id, "running", policy or Policy(), summarizer, last, more.get("instructions")))


def head(store: Store, conversation: Conversation) -> Summary | None:
    return store.summaries.head(conversation.id, "running")


def attempts(store: Store, conversation: Conversation) -> list[tuple[str, str | None]]:
    calls = store.calls.newest_first(conversation.id, purpose="compaction")
    return [(call.status, call.error) for call in reversed(calls)]


def test_a_fold_makes_one_summary_of_everything_and_records_what_it_cost(
    store: Store, conversation: Conversation
) -> None:
    writer = answering(GOOD)
    result = folding(store, conversation, writer)
    made = head(store, conversation)
    assert made is not None
    assert (made.text, made.first_message_id, made.last_message_id, made.parent_id) == (GOOD, 1, 12, None)
    assert (made.model, made.fallback, made.in_force) == ("scripted", False, True)
    assert result == FoldResult(
        conversation.id, "compacted", made, 1, 12, conversation.tokens, made.tokens,
        request_tokens(writer.prompts[0]), len(GOOD) // 4, 1,
    )  # fmt: skip
    assert made.tokens >= text_tokens(GOOD)
    assert attempts(store, conversation) == [("done", None)]


def test_the_second_fold_is_shown_the_old_summary_and_only_the_new_messages(
    store: Store, conversation: Conversation
) -> None:
    writer = answering(GOOD, "The user also asked about question7word0.")
    first = folding(store, conversation, writer)
    store.messages.append(conversation.id, [encode(message) for message in exchange(7)])
    second = folding(store, conversation, writer)
    assert writer.shown_ids == [list(range(1, 13)), [13, 14]]
    assert [prompt.previous for prompt in writer.prompts] == [None, GOOD]
    assert first.summary is not None
    assert second.summary is not None
    assert (second.summary.parent_id, second.summary.first_message_id, second.summary.last_message_id) == (
        first.summary.id,
        1,
        14,
    )


def test_fault_6_nothing_to_fold_is_its_own_status_and_asks_nobody(store: Store, conversation: Conversation) -> None:
    writer = answering(GOOD)
    folding(store, conversation, writer)
    again = folding(store, conversation, writer)
    assert again == FoldResult(conversation.id, "nothing", error="everything is covered already")
    assert len(writer.prompts) == 1


def test_fault_6_a_few_short_messages_are_not_worth_a_summary(store: Store) -> None:
    conversation = stored(store, [HumanMessage("hi")])
    result = folding(store, conversation, answering())
    assert (result.status, result.error) == ("nothing", "1 short messages are not worth a summary yet")


BAD_ANSWERS: dict[str, tuple[Completion, str]] = {
    "empty": (Completion("", 9, 0, "stop"), "the summary is empty"),
    "blank": (Completion(" \n ", 9, 1, "stop"), "the summary is empty"),
    "reasoning only": (Completion("<think>hm</think>", 9, 1, "stop"), "the answer holds only reasoning"),
    "unclosed reasoning": (Completion("<think>hm " + GOOD, 9, 1, "stop"), "the answer holds only reasoning"),
    "tool call": (Completion(GOOD, 9, 1, "stop", True), "the model asked for a tool instead of summarising"),
    "cut off": (Completion(GOOD, 9, 1, "length"), "the summary was cut off before its end"),
    "error": (Completion("Error: 503", 9, 1, "stop"), "the answer is an error or a refusal: 'Error: 503'"),
    "dialogue": (
        Completion("User: hi", 9, 1, "stop"),
        "the answer continues the conversation instead of summarising it",
    ),
    "inflated": (
        Completion("question0word0 " * 400, 9, 1, "stop"),
        "the summary (1,500 tokens) is no smaller than what it replaces (570)",
    ),
    "over the cap": (
        Completion("question0word0 " * 150, 9, 1, "stop"),
        "the summary (563 tokens) is over its cap (500)",
    ),
}


@pytest.mark.parametrize("kind", BAD_ANSWERS)
def test_fault_9_an_answer_that_is_no_summary_changes_nothing_and_is_recorded(
    store: Store, conversation: Conversation, kind: str
) -> None:
    completion, reason = BAD_ANSWERS[kind]
    before = rows(store, conversation)
    result = folding(store, conversation, answering(completion, completion))
    assert (result.status, result.error, result.summary) == ("rejected", reason, None)
    assert attempts(store, conversation) == [("rejected", reason)] * ATTEMPTS
    assert (head(store, conversation), store.summaries.list(conversation.id)) == (None, [])
    assert rows(store, conversation) == before


@pytest.mark.parametrize(
    "raised", [ValueError("bad"), ModelTimeout("no answer in time"), RuntimeError(), AssertionError("x")]
)
def test_fault_9_whatever_a_summarizer_raises_changes_nothing_and_is_recorded(
    store: Store, conversation: Conversation, raised: Exception
) -> None:
    before = rows(store, conversation)
    result = folding(store, conversation, answering(raised, raised))
    reason = raised.message if isinstance(raised, ModelTimeout) else f"{type(raised).__name__}: {raised}"
    assert (result.status, result.error) == ("failed", reason)
    assert attempts(store, conversation) == [("failed", reason)] * ATTEMPTS
    assert (head(store, conversation), rows(store, conversation)) == (None, before)


def test_fault_9_the_old_summary_stays_in_force_when_the_next_one_fails(
    store: Store, conversation: Conversation
) -> None:
    writer = answering(GOOD, "", "")
    folding(store, conversation, writer)
    before = head(store, conversation)
    store.messages.append(conversation.id, [encode(message) for message in exchange(7)])
    assert folding(store, conversation, writer).status == "rejected"
    assert head(store, conversation) == before


def test_a_rejected_summary_is_asked_for_once_more(store: Store, conversation: Conversation) -> None:
    result = folding(store, conversation, answering("", GOOD))
    assert (result.status, result.calls) == ("compacted", 2)
    assert attempts(store, conversation) == [("rejected", "the summary is empty"), ("done", None)]


@pytest.mark.parametrize("kind", BAD_ANSWERS)
def test_a_second_request_says_why_and_asks_for_less_where_the_first_answer_was_too_long(
    store: Store, conversation: Conversation, kind: str
) -> None:
    completion, reason = BAD_ANSWERS[kind]
    writer = answering(completion, GOOD)
    folding(store, conversation, writer)
    first, second = writer.prompts
    assert second == asked_again(first, reason, shorter="cut off" in reason or "tokens)" in reason)


def test_a_model_that_cannot_be_reached_is_raised_at_once(store: Store, conversation: Conversation) -> None:
    with pytest.raises(ModelUnreachable):
        folding(store, conversation, answering(ModelUnreachable("nobody there")))
    assert attempts(store, conversation) == [("failed", "nobody there")]


def test_ctrl_c_in_the_summarizer_passes_through_and_is_recorded(store: Store, conversation: Conversation) -> None:
    before = rows(store, conversation)
    with pytest.raises(KeyboardInterrupt):
        folding(store, conversation, answering(KeyboardInterrupt()))
    assert attempts(store, conversation) == [("interrupted", "interrupted")]
    assert (head(store, conversation), rows(store, conversation)) == (None, before)


def test_fault_28_reasoning_before_a_summary_is_taken_off(store: Store, conversation: Conversation) -> None:
    folding(store, conversation, answering(f"<think>what matters here?</think>\n{GOOD}\n"))
    made = head(store, conversation)
    assert made is not None
    assert made.text == GOOD


def test_fault_28_reasoning_of_the_span_is_not_shown_to_the_summarizer(store: Store) -> None:
    said = [*exchange(0), HumanMessage("2+2?"), AIMessage("<think>secret plan</think>It is 4.")]
    writer = answering(GOOD)
    folding(store, stored(store, said), writer)
    assert "secret" not in writer.prompts[0].user
    assert "#4 assistant: It is 4." in writer.prompts[0].user


def test_fault_11_a_message_that_arrives_during_the_call_survives_and_is_not_covered(
    store: Store, conversation: Conversation
) -> None:
    def interrupted_by_an_append(prompt: Prompt) -> str:
        store.messages.append(conversation.id, [encode(message) for message in exchange(99)])
        return GOOD

    result = folding(store, conversation, answering(interrupted_by_an_append))
    assert (result.status, result.last_message_id) == ("compacted", 12)
    assert [row.text for row in rows(store, conversation)[12:]] == [message.text for message in exchange(99)]


def test_fault_11_of_two_compactions_at_once_one_wins_and_the_other_says_so(
    store: Store, conversation: Conversation
) -> None:
    def overtaken(prompt: Prompt) -> str:
        folding(store, conversation, answering("The faster one: question0word0."))
        return GOOD

    result = folding(store, conversation, answering(overtaken))
    assert (result.status, result.error) == ("nothing", "another compaction of this conversation finished first")
    assert [summary.text for summary in store.summaries.list(conversation.id)] == ["The faster one: question0word0."]


def test_fault_11_a_turn_taken_back_during_the_call_is_not_summarised(store: Store, conversation: Conversation) -> None:
    def rewound_meanwhile(prompt: Prompt) -> str:
        store.turns.close(conversation.id, 3, "rewound")
        return GOOD

    writer = answering(rewound_meanwhile, GOOD)
    result = folding(store, conversation, writer)
    assert result.status == "nothing"
    assert head(store, conversation) is None
    assert folding(store, conversation, writer).status == "compacted"
    assert 5 not in writer.shown_ids[-1]


def backlog(store: Store, tokens: int) -> Conversation:
    """Make a conversation of about this many tokens, with tools in it."""
    said: list[BaseMessage] = []
    for number in range(tokens // 280):
        said += [
            HumanMessage(f"question{number} " + "what about this one " * 20),
            asking(f"c{number}", text="let me look"),
            ToolMessage(f"row {number} " * 20, tool_call_id=f"c{number}"),
            AIMessage(f"answer{number} " + "it is like the other one " * 12),
        ]
    return stored(store, said)


def test_fault_8_a_long_backlog_is_folded_in_bounded_requests_oldest_first_each_committed(store: Store) -> None:
    conversation = backlog(store, 200_000)
    writer = ScriptedSummarizer(otherwise=lambda prompt: f"So far question{len(prompt.messages)}.", window_tokens=4096)
    result = folding(store, conversation, writer)
    assert result.status == "compacted"
    for prompt in writer.prompts:
        whole = prompt.system + prompt.user
        assert max(request_tokens(prompt), estimate_tokens(whole)) + prompt.max_tokens <= 4096
    made = store.summaries.list(conversation.id)
    assert len(made) == len(writer.prompts) == result.calls
    assert 60 <= len(made) <= 120
    assert [id for ids in writer.shown_ids for id in ids] == list(range(1, conversation.last_message_id + 1))
    assert [summary.last_message_id for summary in made] == [ids[-1] for ids in writer.shown_ids]
    assert [summary.parent_id for summary in made] == [None, *(summary.id for summary in made[:-1])]


def test_fault_8_progress_survives_a_failure_and_the_next_fold_goes_on_from_there(store: Store) -> None:
    conversation = backlog(store, 20_000)
    good = [f"So far question{number}." for number in range(20)]
    writer = answering(good[0], good[1], "", "", *good[2:], window_tokens=4096)
    result = folding(store, conversation, writer)
    covered = [ids[-1] for ids in writer.shown_ids]
    assert (result.status, result.error, result.last_message_id) == ("rejected", "the summary is empty", covered[1])
    again = folding(store, conversation, writer)
    assert (again.status, again.first_message_id) == ("compacted", covered[1] + 1)
    assert again.last_message_id == conversation.last_message_id


def test_fault_8_ctrl_c_in_a_backlog_keeps_what_was_committed(store: Store) -> None:
    conversation = backlog(store, 20_000)
    writer = answering("So far question1.", KeyboardInterrupt(), window_tokens=4096)
    with pytest.raises(KeyboardInterrupt):
        folding(store, conversation, writer)
    made = head(store, conversation)
    assert made is not None
    assert (made.text, made.last_message_id) == ("So far question1.", writer.shown_ids[0][-1])


def test_fault_8_one_message_larger_than_the_summarizers_window_is_shown_clipped(store: Store) -> None:
    conversation = stored(store, [HumanMessage("word " * 50_000), AIMessage("noted")])
    writer = ScriptedSummarizer(otherwise="The user pasted a text of one word.", window_tokens=4096)
    result = folding(store, conversation, writer)
    assert (result.status, result.last_message_id) in {("compacted", 1), ("compacted", 2)}
    assert all(request_tokens(prompt) + prompt.max_tokens <= 4096 for prompt in writer.prompts)


def test_fault_10_a_summary_covers_exactly_what_its_request_showed(store: Store) -> None:
    conversation = backlog(store, 12_000)
    writer = ScriptedSummarizer(otherwise="So far question1.", window_tokens=3000)
    folding(store, conversation, writer)
    covered = 0
    for prompt, summary in zip(writer.prompts, store.summaries.list(conversation.id), strict=True):
        assert [message.id for message in prompt.messages] == list(range(covered + 1, summary.last_message_id + 1))
        assert all(f"#{message.id} " in prompt.user for message in prompt.messages)
        covered = summary.last_message_id


def test_a_chunk_never_ends_between_a_call_and_its_result(store: Store) -> None:
    conversation = backlog(store, 12_000)
    writer = ScriptedSummarizer(otherwise="So far question1.", window_tokens=3000)
    folding(store, conversation, writer)
    roles = {row.id: row.role for row in rows(store, conversation)}
    assert all(roles.get(ids[-1] + 1) != "tool" for ids in writer.shown_ids)


def test_an_identical_rerun_makes_no_call(store: Store, conversation: Conversation) -> None:
    writer = answering(GOOD)
    made = folding(store, conversation, writer).summary
    assert made is not None
    store.summaries.move_head(conversation.id, "running", None, expected_head=made.id)
    again = folding(store, conversation, writer)
    assert (again.status, again.calls, len(writer.prompts)) == ("compacted", 0, 1)
    assert head(store, conversation) == made
    assert len(store.summaries.list(conversation.id)) == 1


def test_another_instruction_is_another_input(store: Store, conversation: Conversation) -> None:
    writer = answering(GOOD, "The user asked about prices: question0word0.")
    made = folding(store, conversation, writer).summary
    assert made is not None
    store.summaries.move_head(conversation.id, "running", None, expected_head=made.id)
    again = folding(store, conversation, writer, instructions="keep the prices")
    assert again.summary is not None
    assert (again.summary.text, again.summary.instructions) == (
        "The user asked about prices: question0word0.",
        "keep the prices",
    )


def test_messages_of_failed_turns_are_not_shown(store: Store, conversation: Conversation) -> None:
    store.turns.close(conversation.id, 2, "failed")
    writer = answering(GOOD)
    folding(store, conversation, writer)
    assert writer.shown_ids == [[1, 2, *range(5, 13)]]


def test_fault_17_braces_in_the_span_are_just_text(store: Store) -> None:
    conversation = stored(store, [HumanMessage("{x} {{y}} {0} %s " * 12), AIMessage("noted {z}")])
    writer = answering("The user wrote {x} and {{y}}.")
    assert folding(store, conversation, writer).status == "compacted"
    assert "{x} {{y}} {0} %s" in writer.prompts[0].user
    made = head(store, conversation)
    assert made is not None
    assert made.text == "The user wrote {x} and {{y}}."


def test_fault_16_a_summary_with_what_no_column_holds_is_stored(store: Store, conversation: Conversation) -> None:
    folding(store, conversation, answering("The user asked \ud800 about\0 question0word0."))
    made = head(store, conversation)
    assert made is not None
    assert made.text == "The user asked ? about question0word0."


def test_fault_13_exact_values_are_carried_however_little_the_summary_keeps(store: Store) -> None:
    facts = ["HAT069", "2024-05-20", "$1,240.50", "mia_li_3668", "ann@example.org", "/var/log/app.log"]
    said: list[BaseMessage] = [HumanMessage(f"Remember {fact}, please, it matters later on.") for fact in facts]
    conversation = stored(store, said)
    writer = ScriptedSummarizer(otherwise="The user asked the assistant to remember things.")
    for _ in range(20):
        folding(store, conversation, writer)
        small_talk = [
            HumanMessage("And how is the weather over there today?"),
            AIMessage("Sunny, as it often is here."),
        ]
        store.messages.append(conversation.id, [encode(message) for message in 3 * small_talk])
    made = store.summaries.list(conversation.id)
    assert len(made) == 20
    assert max(summary.tokens for summary in made) <= 500 + 200
    assert [fact for fact in facts if fact not in " ".join(made[-1].values)] == []


def test_fault_13_a_summary_is_updated_and_never_shown_again_as_dialogue(
    store: Store, conversation: Conversation
) -> None:
    writer = answering(GOOD, "The user asked about question7word0, too.")
    folding(store, conversation, writer)
    store.messages.append(conversation.id, [encode(message) for message in exchange(7)])
    folding(store, conversation, writer)
    transcript = writer.prompts[1].user.split("<transcript")[1]
    assert GOOD not in transcript
    assert writer.prompts[1].user.count(GOOD) == 1


def test_the_extractive_summarizer_folds_without_a_call_and_the_same_every_time(store: Store) -> None:
    texts = []
    for _ in range(2):
        conversation = backlog(store, 12_000)
        result = folding(store, conversation, ExtractiveSummarizer())
        assert (result.status, result.calls, result.input_tokens) == ("compacted", 0, 0)
        assert result.summary is not None
        texts.append(result.summary.text)
        assert text_tokens(result.summary.text) <= 500
    assert texts[0] == texts[1]
