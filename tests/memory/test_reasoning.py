"""Reasoning tags: closed, nested, unclosed, half, and tags an answer only speaks of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.memory.reasoning import answer_text, without_reasoning

THOUGHT = "the user is called Ann"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"<think>{THOUGHT}</think>It is 4.", "It is 4."),
        (f"<think>{THOUGHT}", ""),
        (f"<think>a<think>{THOUGHT}</think>b</think>It is 4.", "It is 4."),
        (f"{THOUGHT}</think>It is 4.", "It is 4."),
        (f"<Thinking effort='high'>{THOUGHT}</THINKING>\n It is 4.", "It is 4."),
        (f"It <reasoning>{THOUGHT}</reasoning>is 4.", "It is 4."),
        (f"It is 4. <think>{THOUGHT}", "It is 4."),
        ("It is 4.", "It is 4."),
        ("  ", ""),
        ("a < b and <thinker> is no tag", "a < b and <thinker> is no tag"),
    ],
)
def test_fault_28_reasoning_is_taken_out(text: str, kept: str) -> None:
    assert without_reasoning(text) == kept


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (f"<think>{THOUGHT}</think>It is 4.", "It is 4."),
        (f"\n<think>{THOUGHT}</think>\n\nIt is 4.", "It is 4."),
        (f"<think>{THOUGHT}", ""),
        (f"{THOUGHT}</think>It is 4.", "It is 4."),
        ("Close it with </ b >, or write <think> yourself.", "Close it with </ b >, or write <think> yourself."),
        ("  kept as it is\n", "  kept as it is\n"),
    ],
)
def test_fault_28_an_answer_loses_the_reasoning_it_begins_with_and_no_word_more(text: str, answer: str) -> None:
    assert answer_text(text) == answer


@given(st.text(alphabet="ab <>/think", max_size=40))
def test_text_without_reasoning_is_stable(text: str) -> None:
    once = without_reasoning(text)
    assert without_reasoning(once) in (once, without_reasoning(without_reasoning(once)))
    assert len(once) <= len(text)
