import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.memory.text import clip, one_line, sentences


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (" \n\u202e\n", []),
        ("Hello there. I paid $3.50 to Dr. Smith! Why?", ["Hello there.", "I paid $3.50 to Dr. Smith!", "Why?"]),
        ("See e.g. the docs.", ["See e.g. the docs."]),
        ("你好。我要改签！好吗？", ["你好。", "我要改签！", "好吗？"]),
        ("Two:\n\n1. **ID: X**\n   - Origin: MCO\n\nThanks.", ["Two:", "1. **ID: X** - Origin: MCO", "Thanks."]),
        ("Here:\n- a\n- b\nDone", ["Here: - a - b", "Done"]),
    ],
)
def test_text_is_cut_into_sentences_and_lists_stay_together(text: str, found: list[str]) -> None:
    assert sentences(text) == found


@given(st.text())
def test_sentences_lose_nothing_visible(text: str) -> None:
    assert "".join(sentences(text)).replace(" ", "") == one_line(text).replace(" ", "")


def test_controls_bidi_and_lone_surrogates_are_taken_out() -> None:
    assert one_line("a\x1b[31m\tb\u202e\ud800\0 c\n{x}") == "a[31m b c {x}"


@pytest.mark.parametrize(
    ("text", "most", "clipped"),
    [
        ("short", 5, "short"),
        ("a longer sentence", 11, "a longer…"),
        ("unbreakable", 5, "unbr…"),
        ("anything", 0, ""),
        ("e\u0301e\u0301e\u0301", 4, "e\u0301…"),
        ("👨\u200d👩\u200d👧 x", 4, ""),
        ("ab👍🏽 x", 4, "ab…"),
    ],
)
def test_a_clip_ends_with_a_marker_and_parts_no_character(text: str, most: int, clipped: str) -> None:
    assert clip(text, most) == clipped


@given(st.text(), st.integers(0, 40))
def test_a_clip_is_never_longer_than_asked(text: str, most: int) -> None:
    assert len(clip(text, most)) <= most
