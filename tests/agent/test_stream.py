"""One streamed answer: what is kept however it ends, and reasoning told from the answer at any chunking."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk, HumanMessage

from memcli.agent.events import Event, ReasoningDelta, TextDelta
from memcli.agent.stream import Answer, ReasoningSplitter, stream_answer
from memcli.errors import ModelError, ModelTimeout
from tests.agent.scripted import Reply, asks, asks_raw, says, scripted


def streamed(reply: Reply, *, must_say_done: bool = False) -> tuple[Answer, list[Event]]:
    events: list[Event] = []
    answer = stream_answer(
        scripted(reply), [HumanMessage("hi")], events.append, label="m", limit_tokens=100, must_say_done=must_say_done
    )
    return answer, events


def text_of(answer: Answer) -> str:
    return str(answer.message.content) if answer.message else ""


def test_an_answer_is_emitted_as_it_comes_and_kept_whole() -> None:
    answer, events = streamed(["Hel", "lo", says(".", input_tokens=7, done_reason="stop").content])  # type: ignore[list-item]
    assert (text_of(answer), answer.is_whole, answer.error, answer.was_interrupted) == ("Hello.", True, None, False)
    assert events == [TextDelta("Hel"), TextDelta("lo"), TextDelta(".")]


def test_counts_and_the_reason_it_ended_are_kept() -> None:
    answer, _ = streamed(says("Hello.", input_tokens=7, output_tokens=2, done_reason="length"))
    assert answer.message is not None
    assert answer.message.usage_metadata == {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
    assert answer.finish_reason == "length"


def test_ctrl_c_before_the_first_token_leaves_nothing() -> None:
    answer, events = streamed(KeyboardInterrupt())
    assert (answer, events) == (Answer(None, False, None, True), [])


def test_ctrl_c_in_mid_stream_keeps_what_arrived() -> None:
    answer, _ = streamed(["Half an", KeyboardInterrupt()])
    assert (text_of(answer), answer.is_whole, answer.was_interrupted) == ("Half an", False, True)


def test_a_failure_in_mid_stream_keeps_what_arrived_and_the_error() -> None:
    answer, _ = streamed(["Half an", RuntimeError("gone")])
    assert (text_of(answer), answer.is_whole) == ("Half an", False)
    assert isinstance(answer.error, ModelError)
    assert answer.error.message == "m failed: RuntimeError: gone"


def test_our_own_errors_pass_as_they_are() -> None:
    assert isinstance(streamed(ModelTimeout("slow"))[0].error, ModelTimeout)


def test_a_stream_without_its_last_word_was_cut_where_servers_have_one() -> None:
    cut, _ = streamed(["Half an"], must_say_done=True)
    assert (text_of(cut), cut.is_whole) == ("Half an", False)
    assert cut.error is not None
    assert cut.error.message == "m broke off in the middle of its answer"
    assert streamed(says("Whole."), must_say_done=True)[0].is_whole
    assert streamed(["Whole."])[0].is_whole


def test_an_empty_answer_is_an_answer_with_its_counts() -> None:
    answer, events = streamed(says("", input_tokens=7))
    assert answer.message is not None
    assert (answer.message.content, answer.is_whole, events) == ("", True, [])
    assert answer.message.usage_metadata is not None


def test_parallel_calls_arrive_with_their_arguments() -> None:
    answer, _ = streamed(asks(("look", {"at": 1}), ("look", {"at": 2}), text="both"))
    assert answer.message is not None
    assert [(call["id"], call["args"]) for call in answer.message.tool_calls] == [
        ("call1", {"at": 1}),
        ("call2", {"at": 2}),
    ]


def test_arguments_that_come_in_pieces_are_put_together() -> None:
    more = AIMessageChunk(content="", tool_call_chunks=[{"name": None, "args": "1}", "id": None, "index": 0}])
    answer, _ = streamed([asks_raw("look", '{"at": '), more])
    assert answer.message is not None
    assert [call["args"] for call in answer.message.tool_calls] == [{"at": 1}]


@pytest.mark.parametrize("raw", ['{"a":', "[1]", "7", "null", '{"a": 1}}', "not json"])
def test_fault_4_arguments_that_are_no_json_object_are_kept_raw_and_never_a_call(raw: str) -> None:
    answer, _ = streamed([asks_raw("look", raw)])
    assert answer.message is not None
    assert answer.message.tool_calls == []
    assert [(call["name"], call["args"]) for call in answer.message.invalid_tool_calls] == [("look", raw)]


@pytest.mark.parametrize("raw", ["", "  ", "{}"])
def test_fault_4_empty_arguments_are_no_arguments(raw: str) -> None:
    answer, _ = streamed([asks_raw("look", raw)])
    assert answer.message is not None
    assert [(call["name"], call["args"]) for call in answer.message.tool_calls] == [("look", {})]


def test_fault_4_a_call_of_a_cut_stream_is_never_executed_even_if_it_parses() -> None:
    answer, _ = streamed([asks_raw("look", '{"at": 1}'), KeyboardInterrupt()])
    assert answer.message is not None
    assert answer.message.tool_calls == []
    assert [(call["args"], call["error"]) for call in answer.message.invalid_tool_calls] == [
        ('{"at": 1}', "the answer was cut off")
    ]


def test_fault_28_reasoning_in_a_field_of_its_own_is_kept_beside() -> None:
    thought = AIMessageChunk(content="", additional_kwargs={"reasoning_content": "hm"})
    answer, events = streamed([thought, "It is 4."])
    assert events == [ReasoningDelta("hm"), TextDelta("It is 4.")]
    assert answer.message is not None
    assert (answer.message.content, answer.message.additional_kwargs) == ("It is 4.", {"reasoning_content": "hm"})


def test_fault_28_reasoning_blocks_are_told_apart() -> None:
    blocks = [{"type": "reasoning", "reasoning": "hm", "index": 0}, {"type": "text", "text": "It is 4.", "index": 1}]
    _, events = streamed([AIMessageChunk(content=blocks)])  # type: ignore[arg-type]
    assert events == [ReasoningDelta("hm"), TextDelta("It is 4.")]


@settings(max_examples=300, deadline=None)
@given(
    text=st.sampled_from(
        [
            "<think>a < b</think>It is 4.",
            "\n <think>hm</think>\n\nYes <b>.",
            "no tags <think>later</think>",
            "<thin air",
        ]
    ),
    cuts=st.lists(st.integers(1, 8), max_size=30),
)
def test_fault_28_a_leading_think_block_is_told_apart_however_the_stream_is_cut(text: str, cuts: list[int]) -> None:
    def split(pieces: list[str]) -> tuple[str, str]:
        events: list[Event] = []
        splitter = ReasoningSplitter(events.append)
        for piece in pieces:
            splitter.feed(AIMessageChunk(content=piece))
        splitter.end()
        said = "".join(event.text for event in events if isinstance(event, TextDelta))
        return said, "".join(event.text for event in events if isinstance(event, ReasoningDelta))

    pieces, at = [], 0
    for cut in cuts:
        pieces.append(text[at : at + cut])
        at += cut
    said, thought = split([*pieces, text[at:]])
    whole_said, whole_thought = split([text])
    assert (said.strip(), thought) == (whole_said.strip(), whole_thought)
    assert "think" not in said or text.startswith("no tags")
