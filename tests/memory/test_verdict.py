"""What is rejected as a summary, each with its reason, and what must not be."""

from __future__ import annotations

import pytest

from memcli.memory.summarizer import Completion
from memcli.memory.verdict import reject

SOURCE = (
    "#1 user: Please book flight HAT069 to Newark on May 20th for Ann Moore, with two bags.\n"
    "#2 assistant: Flight HAT069 is booked for Ann Moore with two checked bags, total 240 dollars.\n"
)
GOOD = "The user asked to book flight HAT069 to Newark for Ann Moore; the assistant booked it for 240 dollars."


def verdict(
    text: str, *, finish_reason: str = "stop", asked_for_tools: bool = False, raw: str | None = None, most: int = 500
) -> str | None:
    completion = Completion(raw if raw is not None else text, 10, 10, finish_reason, asked_for_tools)
    return reject(completion, text, max_tokens=most, replaced_tokens=200, source=SOURCE)


def test_a_summary_is_accepted() -> None:
    assert verdict(GOOD) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the summary is empty"),
        (
            "Error: 503 upstream connect error",
            "the answer is an error or a refusal: 'Error: 503 upstream connect error'",
        ),
        ("**Error** (500): no", "the answer is an error or a refusal: '**Error** (500): no'"),
        ("RuntimeError: out of memory", "the answer is an error or a refusal: 'RuntimeError: out of memory'"),
        ("An error occurred while", "the answer is an error or a refusal: 'An error occurred while'"),
        ("I'm sorry, but I cannot", 'the answer is an error or a refusal: "I\'m sorry, but I cannot"'),
        ("I can’t help with that.", "the answer is an error or a refusal: 'I can’t help with that.'"),
        ("Assistant: Sure, here you go", "the answer continues the conversation instead of summarising it"),
        ("The user: Hi, I want to change a flight", "the answer continues the conversation instead of summarising it"),
        (
            '<summary id="a"><video src="b" width="100%"/></summary> Ann flies',
            "the answer is markup, not prose",
        ),
        ("#3 user: and a third bag", "the answer continues the conversation instead of summarising it"),
        ("HAT069 " * 200, "the summary (350 tokens) is no smaller than what it replaces (200)"),
    ],
)
def test_fault_9_what_is_no_summary_is_rejected_with_its_reason(text: str, reason: str) -> None:
    assert verdict(text) == reason


def test_quotes_may_be_of_markup() -> None:
    quoted = Completion("Quoted:\n#1 user: <p><b>HAT069</b></p><br/><br/>", 0, 0, "stop", is_quoted=True)
    assert reject(quoted, quoted.text, max_tokens=500, replaced_tokens=200, source=SOURCE) is None


def test_fault_9_reasoning_alone_is_no_summary() -> None:
    assert verdict("", raw="<think>let me see") == "the answer holds only reasoning"


def test_fault_9_a_tool_call_is_no_summary() -> None:
    assert verdict(GOOD, asked_for_tools=True) == "the model asked for a tool instead of summarising"


def test_fault_9_a_summary_that_was_cut_off_is_rejected() -> None:
    assert verdict(GOOD, finish_reason="length") == "the summary was cut off before its end"


def test_fault_6_a_summary_over_its_cap_is_rejected() -> None:
    assert verdict(GOOD, most=20) == "the summary (26 tokens) is over its cap (20)"


def test_fault_14_a_poem_the_transcript_asked_for_is_rejected() -> None:
    poem = (
        "Upon the silver meadow sleeps the moon, while gentle rivers whisper ancient songs; beneath the willow dances"
        " quiet June, where every dreaming sparrow softly longs. Along the valley wander clouds of pearl, their shadows"
        " painting hillsides golden green, until the drowsy evening breezes curl around the loveliest garden ever seen."
    )
    assert verdict(poem) == "the answer does not speak of the conversation"


@pytest.mark.parametrize(
    "text",
    [
        "Error handling for flight HAT069 was discussed; Ann Moore flies to Newark.",
        "Exceptions to the bag rule were granted to Ann Moore on flight HAT069.",
        "User Ann Moore booked flight HAT069 to Newark.",
        "The user was told 'I can't' at first; flight HAT069 was booked for Ann Moore.",
        "<summary>The user asked for flight HAT069 to Newark; the assistant booked it.</summary>",
        "Sorrow aside, flight HAT069 is booked.",
    ],
)
def test_a_summary_that_only_looks_like_a_failure_is_accepted(text: str) -> None:
    assert verdict(text) is None
