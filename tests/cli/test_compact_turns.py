"""`memcli compact` and `memcli summaries` on conversations kept under Model B."""

from __future__ import annotations

from pathlib import Path

import pytest

from memcli.records import Conversation
from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.conversations import add_chat, add_turn, said
from tests.cli.terminals import Outcome

EXTRACTIVE = ("--summarizer", "extractive")


@pytest.fixture
def home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have no model server."""
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    return home


def under_turns(store: Store, name: str, turns: int) -> Conversation:
    made = add_chat(store, name, turns)
    store.conversations.set_memory(made.id, "turns")
    return store.conversations.get(made.id)


def result(outcome: Outcome) -> dict[str, object]:
    assert outcome.code == 0
    (only,) = outcome.listed("results")
    return only


def told(outcome: Outcome) -> tuple[object, ...]:
    only = result(outcome)
    return tuple(only[key] for key in ("status", "first_message_id", "last_message_id", "turn_summaries", "folds"))


def test_every_completed_turn_gets_a_summary_and_twice_is_once(run: Run, store: Store) -> None:
    made = under_turns(store, "parcels", 4)
    first = run("compact", "parcels", "--if-needed", *EXTRACTIVE, "--json")
    summaries = store.summaries.list(made.id)
    assert told(first) == ("compacted", 1, 8, 4, 0)
    assert (result(first)["tokens_before"], result(first)["tokens_after"]) == (
        made.tokens, sum(summary.tokens for summary in summaries),
    )  # fmt: skip
    again = result(run("compact", "parcels", "--if-needed", *EXTRACTIVE, "--json"))
    assert (again["status"], again["error"]) == ("nothing", "every completed turn is summarised already")
    assert store.summaries.list(made.id) == summaries


def test_what_the_window_cannot_hold_is_folded_in_the_same_run(run: Run, store: Store) -> None:
    made = under_turns(store, "parcels", 14)
    assert told(run("compact", "parcels", "--if-needed", *EXTRACTIVE, "--json")) == ("compacted", 1, 28, 14, 1)
    head = store.summaries.head(made.id, "compaction")
    assert head is not None
    assert (head.first_message_id, head.last_message_id) == (1, 18)
    out = run("compact", "parcels", *EXTRACTIVE).out
    assert out.startswith("parcels: compacted #19–#28 (10 messages) in 1 fold: ")


def test_an_ongoing_turn_is_left_alone_and_with_nothing_to_fold_it_says_so(run: Run, store: Store) -> None:
    made = store.conversations.create(name="trip", memory="turns")
    add_turn(store, made, said("human", "Where to?"), status="open")
    assert run("compact", "trip", *EXTRACTIVE) == Outcome(0, "trip: nothing to do: there is nothing to fold\n", "")


@pytest.mark.parametrize("if_needed", [[], ["--if-needed"]], ids=["all", "if-needed"])
def test_a_dry_run_foretells_what_a_run_then_does(run: Run, store: Store, if_needed: list[str]) -> None:
    made = under_turns(store, "parcels", 14)
    proposed = run("compact", "parcels", "--dry-run", *if_needed, *EXTRACTIVE, "--json")
    assert store.summaries.list(made.id) == []
    done = run("compact", "parcels", *if_needed, *EXTRACTIVE, "--json")
    assert told(proposed) == ("proposed", *told(done)[1:])
    assert result(proposed)["tokens_before"] == result(done)["tokens_before"] == made.tokens
    assert result(proposed)["calls"] == 0


def test_a_dry_run_counts_the_requests_a_model_would_get_and_asks_none(run: Run, store: Store) -> None:
    under_turns(store, "parcels", 14)
    only = result(run("compact", "parcels", "--dry-run", "--if-needed", "--model", "tiny", "--json"))
    assert (only["turn_summaries"], only["folds"], only["calls"], only["summarizer"]) == (14, 1, 15, None)
    shown = run("compact", "parcels", "--dry-run", "--if-needed", "--model", "tiny").out
    assert shown.startswith("parcels: proposed #1–#28 (28 messages) in 14 turn summaries and 1 fold: ")
    assert shown.endswith(f", 15 requests (about {only['input_tokens']:,} tokens in) if a model writes it\n")


def test_undo_makes_the_folded_turn_summaries_count_again(run: Run, store: Store) -> None:
    made = under_turns(store, "parcels", 4)
    run("compact", "parcels", *EXTRACTIVE)
    add_turn(store, made, said("human", "Where is van 4?"), said("ai", "Van 4 stands at the depot in Leeds."))
    run("compact", "parcels", *EXTRACTIVE)
    before = run("context", "parcels", "--json").document["parts"]
    assert told(run("compact", "parcels", "--undo", "2", "--json")) == ("undone", 1, 10, 0, 0)
    parts = run("context", "parcels", "--json").listed("parts")
    assert [part["source"] for part in parts] == [*["turn_summary"] * 5, "reserve"]
    assert run("compact", "parcels", "--undo").code == 3
    for _ in range(2):
        run("compact", "parcels", *EXTRACTIVE)
    assert [part["source"] for part in run("context", "parcels", "--json").listed("parts")] == [
        part["source"]
        for part in before  # type: ignore[attr-defined]
    ]


def test_folding_under_another_model_is_refused_and_nothing_is_touched(run: Run, store: Store) -> None:
    add_chat(store, "parcels", 12)
    under_turns(store, "vans", 2)
    assert run("compact", "parcels", "--memory", "turns") == Outcome(
        2, "",
        "error: parcels is kept under memory window, not turns\n"
        "hint: `memcli chat -c parcels --memory turns` changes that; --dry-run only says what would be folded\n",
    )  # fmt: skip
    assert run("compact", "--all", "--memory", "turns", *EXTRACTIVE).code == 2
    assert run("summaries", "vans", "--json").document["summaries"] == []
    assert told(run("compact", "parcels", "--memory", "turns", "--dry-run", *EXTRACTIVE, "--json"))[0] == "proposed"


def test_all_if_needed_sees_to_conversations_of_both_models(run: Run, store: Store) -> None:
    under_turns(store, "vans", 2)
    add_chat(store, "parcels", 12)
    add_chat(store, "short", 2)
    results = run("compact", "--all", "--if-needed", *EXTRACTIVE, "--json").listed("results")
    assert [(item["name"], item["status"], item["turn_summaries"]) for item in results] == [
        ("short", "nothing", 0), ("parcels", "compacted", 0), ("vans", "compacted", 2),
    ]  # fmt: skip


def test_summaries_show_what_was_folded_before_what_it_was_folded_into(run: Run, store: Store) -> None:
    under_turns(store, "parcels", 12)
    run("compact", "parcels", "--if-needed", *EXTRACTIVE)
    rows = run("summaries", "parcels", "--json").listed("summaries")
    assert [(row["id"], row["kind"], row["in_force"], row["superseded_by"], row["turns"]) for row in rows] == [
        *((id, "turn", False, 13, [id, id]) for id in range(1, 8)),
        *((id, "turn", True, None, [id, id]) for id in range(8, 13)),
        (13, "compaction", True, None, [1, 7]),
    ]
    assert rows[-1]["folds"] == [1, 2, 3, 4, 5, 6, 7]
    heads = [line for line in run("summaries", "parcels").out.splitlines() if line[:3] in ("┌─ ", "├─ ", "●  ", "○  ")]
    assert heads == [
        "┌─ s1 turn summary  folded into s13  of turn 1, #1–#2",
        *(f"├─ s{n} turn summary  folded into s13  of turn {n}, #{2 * n - 1}–#{2 * n}" for n in range(2, 8)),
        "●  s13 compaction  in force  covers #1–#14, turns 1–7, folded 7 turn summaries (s1–s7)",
        *(f"○  s{n} turn summary  in force  of turn {n}, #{2 * n - 1}–#{2 * n}" for n in range(8, 13)),
    ]


def test_summaries_of_the_other_model_say_under_which_they_count(run: Run, store: Store) -> None:
    made = under_turns(store, "parcels", 2)
    run("compact", "parcels", "--if-needed", *EXTRACTIVE)
    store.conversations.set_memory(made.id, "window")
    assert run("summaries", "parcels").out.splitlines()[0] == (
        "○  s1 turn summary  in force under memory turns  of turn 1, #1–#2"
    )


def test_what_was_cleared_is_marked_in_the_tree_and_forgotten_in_the_ledger(
    run: Run, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCLI_ON_FULL", "clear")
    under_turns(store, "parcels", 12)
    run("compact", "parcels", "--if-needed", *EXTRACTIVE)
    rows = run("summaries", "parcels", "--json").listed("summaries")
    cleared = [(row["first_message_id"], row["last_message_id"]) for row in rows if row["cleared"]]
    assert cleared == [(1, 4)]
    assert "● s13 cleared  in force  drops #1–#4, turns 1–2" in run("summaries", "parcels").out.replace("●  ", "● ")
    assert run("context", "parcels", "--json").document["forgotten"] == [[1, 4]]
