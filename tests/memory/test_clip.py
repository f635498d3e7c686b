"""Clipping keeps head and tail, names the message, never exceeds what was asked, and cuts the largest first."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately

from memcli.agent.codec import decode, encode
from memcli.memory.clip import LEAST_CLIP_TOKENS, Shown, clip, fit
from memcli.records import StoredMessage
from tests.histories import asking


def row(message: BaseMessage, id: int = 1) -> StoredMessage:
    new = encode(message)
    return StoredMessage(
        id,
        "c",
        1,
        f"u{id}",
        new.kind,
        new.role,
        new.text,
        new.payload,
        new.tokens,
        datetime(2026, 1, 1, tzinfo=UTC),
        "whole",
    )


def shown(message: BaseMessage, id: int = 1) -> Shown:
    return Shown.whole(row(message, id))


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=900), max_tokens=st.integers(LEAST_CLIP_TOKENS, 300), name=st.none() | st.text(max_size=9))
def test_a_clipped_message_is_counted_as_langchain_counts_what_is_sent(
    text: str, max_tokens: int, name: str | None
) -> None:
    message = ToolMessage(text, tool_call_id="call-1", name=name)
    clipped = clip(shown(message), max_tokens)
    if clipped.clipped_text is None:
        assert clipped == shown(message)
    else:
        sent = message.model_copy(update={"content": clipped.clipped_text})
        assert clipped.tokens == count_tokens_approximately([sent]) <= max_tokens


def test_fault_5_a_clipped_result_keeps_head_and_tail_and_names_the_message() -> None:
    message = row(ToolMessage("BEGIN " + "x" * 2_000_000 + " END", tool_call_id="a"), 7)
    clipped = clip(Shown.whole(message), 100)
    assert clipped.message is message
    assert clipped.clipped_text is not None
    assert clipped.clipped_text.startswith("BEGIN xxx")
    assert clipped.clipped_text.endswith("xxx END")
    assert "tokens of #7 left out" in clipped.clipped_text
    assert clipped.tokens <= 100


def test_a_message_that_asks_for_tools_is_never_clipped() -> None:
    ask = shown(asking("a", text="x" * 4000))
    assert clip(ask, 50) == ask


def test_what_is_short_enough_is_left_as_it_is() -> None:
    short = shown(ToolMessage("x" * 200, tool_call_id="a"))
    assert clip(short, 1000) == short


def test_the_largest_are_cut_to_one_level_and_small_ones_are_left_whole() -> None:
    large, larger, small = (
        shown(ToolMessage("x" * size, tool_call_id="a"), id) for id, size in ((1, 4000), (2, 8000), (3, 40))
    )
    human = shown(HumanMessage("y" * 400), 4)
    fitted = fit([large, larger, small, human], 600, ("tool",))
    assert fitted[2:] == [small, human]
    assert abs(fitted[0].tokens - fitted[1].tokens) <= 1
    assert 580 <= sum(item.tokens for item in fitted) <= 600


def test_only_the_roles_named_are_cut() -> None:
    everything = [shown(HumanMessage("x" * 4000)), shown(AIMessage("y" * 4000), 2)]
    assert fit(everything, 100, ("tool",)) == everything


def test_what_fits_is_returned_as_it_is() -> None:
    everything = [shown(ToolMessage("x" * 4000, tool_call_id="a"))]
    assert fit(everything, 5000, ("tool",)) == everything


def test_a_result_of_blocks_is_clipped_to_its_text() -> None:
    blocks: list[str | dict[str, object]] = [{"type": "text", "text": "x" * 4000}]
    message = row(ToolMessage(blocks, tool_call_id="a"))
    assert isinstance(decode(message), ToolMessage)
    clipped = clip(Shown.whole(message), 100)
    assert clipped.clipped_text is not None
    assert clipped.tokens <= 100
