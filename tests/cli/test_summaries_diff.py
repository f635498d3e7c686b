"""`memcli summaries --diff`: what the later of two summaries says otherwise, and which values came and went."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memcli.records import Conversation
from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.stories import EVIL, EVIL_SHOWN, a_summary, a_talk
from tests.cli.terminals import Outcome, in_pipe, in_terminal

HEADS = """\
- s1  running over #1–#2, 120 tokens, fidelity 93%
+ s2  running over #1–#4, 120 tokens, fidelity 93%
"""
COLOURED = "The user booked \x1b[9;31mHAT069\x1b[0m\x1b[4;32mHAT136\x1b[0m for \x1b[9;31m$121.\x1b[0m\x1b[4;32m$121"


def a_summarised_talk(store: Store, first: str, second: str, values: tuple[str, ...] = ()) -> Conversation:
    """Store a talk whose second summary replaced its first."""
    talk = a_talk(store)
    one = store.summaries.commit(talk.id, a_summary(1, 2, text=first, values=()), expected_head=None)
    later = replace(a_summary(1, 4, text=second, parent=one.id, values=values), input_hash="later")
    store.summaries.commit(talk.id, later, expected_head=one.id)
    return talk


def a_booking(store: Store) -> Conversation:
    first, second = "The user booked HAT069 for $121.", "The user booked HAT136 for $121 on 2024-05-20."
    return a_summarised_talk(store, first, second, ("ZFA04Y",))


def test_in_a_pipe_words_are_marked_plainly(run: Run, store: Store) -> None:
    a_booking(store)
    shown = run("summaries", "--diff", "1", "s2")
    assert shown == Outcome(
        0,
        f"{HEADS}\nThe user booked [-HAT069-]{{+HAT136+}} for [-$121.-]{{+$121 on 2024-05-20.+}}\n\n"
        "values gained: HAT136 · 2024-05-20 · ZFA04Y\nvalues lost: HAT069\n",
        "",
    )  # fmt: skip


def test_in_a_terminal_they_are_coloured_and_without_colours_marked(store: Store) -> None:
    a_booking(store)
    assert COLOURED in in_terminal("summaries", "--diff", "1", "2").out
    assert "[-HAT069-]{+HAT136+}" in in_terminal("summaries", "--diff", "1", "2", "--no-color").out
    assert "[-HAT069-]{+HAT136+}" in in_terminal("summaries", "--diff", "1", "2", environ={"NO_COLOR": "1"}).out
    assert COLOURED in in_pipe("summaries", "--diff", "1", "2", environ={"FORCE_COLOR": "1"}).out


def test_the_document_has_the_pieces_and_the_values(run: Run, store: Store) -> None:
    talk = a_booking(store)
    document = run("summaries", "work", "--diff", "1", "2", "--json").document
    side = {"kind": "running", "first_message_id": 1, "tokens": 120, "fidelity": 0.93}
    assert list(document) == ["version", "conversation", "diff"]
    assert document["diff"] == {
        "before": {"id": 1, "last_message_id": 2, **side},
        "after": {"id": 2, "last_message_id": 4, **side},
        "pieces": [
            {"kind": "same", "text": "The user booked "},
            {"kind": "removed", "text": "HAT069"},
            {"kind": "added", "text": "HAT136"},
            {"kind": "same", "text": " for "},
            {"kind": "removed", "text": "$121."},
            {"kind": "added", "text": "$121 on 2024-05-20."},
        ],
        "gained": ["HAT136", "2024-05-20", "ZFA04Y"],
        "lost": ["HAT069"],
    }
    assert run("summaries", talk.id[:6], "--diff", "1", "2", "--jsonl").rows == [{"diff": document["diff"]}]


def test_equal_texts_are_said_to_be_equal(run: Run, store: Store) -> None:
    a_summarised_talk(store, "It rains.", "It rains.")
    said = "\nboth say the same, word for word\n\nvalues gained: none\nvalues lost: none\n"
    assert run("summaries", "--diff", "1", "2") == Outcome(0, HEADS + said, "")


def test_text_from_a_model_cannot_act_on_the_terminal(run: Run, store: Store) -> None:
    a_summarised_talk(store, EVIL, "It rains.", (EVIL,))
    shown = run("summaries", "--diff", "1", "2").out
    assert f"[-{EVIL_SHOWN}-]{{+It rains.+}}" in shown
    assert not set("\x1b\x07\u202e") & set(shown)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["1", "9"], 3, "error: there is no summary s9\nhint: run `memcli summaries` to list them\n"),
        (["1", "x"], 2, "error: 'x' is no summary's id\nhint: run `memcli summaries` to list them\n"),
        (["1"], 2, "error: option '--diff' requires 2 arguments\nhint: run `memcli summaries --help`\n"),
        (
            ["1", "2", "-n", "3"], 2,
            "error: --diff takes two summaries and nothing else\nhint: leave --since, -n and --full out\n",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_says_why(run: Run, store: Store, args: list[str], code: int, said: str) -> None:
    a_booking(store)
    assert run("summaries", "--diff", *args) == Outcome(code, "", said)
