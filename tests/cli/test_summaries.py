"""`memcli summaries`: what each covers and cost, which is in force, and the attempts that failed."""

from __future__ import annotations

import re
from pathlib import Path

from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.stories import EVIL, EVIL_SHOWN, a_failed_compaction, a_summary, a_talk
from tests.cli.terminals import Outcome, in_shell

SHOWN = """\
●  s1 running  superseded by s2  covers #1–#2, turn 1
│  120 tokens  fidelity 93%  qwen3:4b  2,310 tokens in, 412 out  WHEN
│  The user asked about Kyoto.
│  values: Kyoto
│
●  s2 running  in force  covers #1–#4, turn 1, folded #3–#4 onto s1
   120 tokens  fidelity 93%  qwen3:4b  2,310 tokens in, 412 out  WHEN
   [a fallback: the model kept failing, so sentences were quoted instead]
   It rains in Kyoto.
   values: 2 days · Kyoto

call 1 compaction rejected  WHEN  qwen3:4b  2,000 tokens in, 3 out
the answer is empty

"""


def a_summarised_talk(store: Store) -> str:
    """Store a talk with two summaries and a failed attempt between them."""
    talk = a_talk(store)
    first = store.summaries.commit(talk.id, a_summary(1, 2), expected_head=None)
    a_failed_compaction(store, talk.id, "the answer is empty")
    later = a_summary(
        1, 4, text="It rains in Kyoto.", parent=first.id, fallback=True, values=("2 days", "Kyoto")
    )  # fmt: skip
    store.summaries.commit(talk.id, later, expected_head=first.id)
    return talk.id


def test_every_summary_is_shown_behind_what_it_was_built_on_and_the_failures_after_them(run: Run, store: Store) -> None:
    a_summarised_talk(store)
    shown = run("summaries", "work")
    assert re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "WHEN", shown.out) == SHOWN
    assert (shown.code, shown.err) == (0, "")


def test_the_document_is_what_is_promised(run: Run, store: Store) -> None:
    id = a_summarised_talk(store)
    stored = store.summaries.list(id)
    document = run("summaries", "--json").document
    summaries, attempts = document["summaries"], document["attempts"]
    assert isinstance(summaries, list)
    assert isinstance(attempts, list)
    assert summaries[1] == {
        "id": 2, "kind": "running", "parent": 1, "first_message_id": 1, "last_message_id": 4,
        "text": "It rains in Kyoto.", "values": ["2 days", "Kyoto"], "tokens": 120, "fidelity": 0.93,
        "model": "qwen3:4b", "prompt_version": "1", "instructions": None, "input_tokens": 2310, "output_tokens": 412,
        "fallback": True, "in_force": True, "fate": "in force", "superseded_by": None, "folds": [], "turns": [1, 1],
        "cleared": False, "edited_from": None, "created_at": stored[1].created_at.isoformat(),
    }  # fmt: skip
    assert [(item["id"], item["in_force"], item["superseded_by"]) for item in summaries] == [
        (1, False, 2), (2, True, None),
    ]  # fmt: skip
    assert [(item["call"], item["status"], item["error"]) for item in attempts] == [
        (1, "rejected", "the answer is empty")
    ]
    assert run("summaries", "--jsonl").rows == summaries


def test_a_limit_takes_the_newest(run: Run, store: Store) -> None:
    a_summarised_talk(store)
    assert [row["id"] for row in run("summaries", "-n", "1", "--jsonl").rows] == [2]
    assert run("summaries", "--since", "2999-01-01", "--jsonl").rows == []


def test_a_conversation_without_summaries_says_so(run: Run, store: Store) -> None:
    a_talk(store)
    assert run("summaries") == Outcome(0, "", "no summaries\n")
    assert run("summaries", "-q") == Outcome(0, "", "")


def test_without_any_conversation_there_is_nothing_to_summarise(run: Run, home: Path) -> None:
    said = "error: there are no conversations yet\nhint: start one with `memcli chat`\n"
    assert run("summaries") == Outcome(3, "", said)
    assert not (home / "data").exists()


def test_text_from_a_model_cannot_act_on_the_terminal(run: Run, store: Store) -> None:
    talk = a_talk(store)
    store.summaries.commit(talk.id, a_summary(1, 2, text=EVIL, values=(EVIL,)), expected_head=None)
    a_failed_compaction(store, talk.id, EVIL)
    shown = run("summaries").out
    assert shown.count(EVIL_SHOWN) == 3
    assert not set("\x1b\x07\u202e") & set(shown)


def test_a_reader_that_leaves_early_is_no_error(store: Store) -> None:
    a_summarised_talk(store)
    first = "●  s1 running  superseded by s2  covers #1–#2, turn 1\n"
    assert in_shell("memcli summaries | head -1") == Outcome(0, first, "")
