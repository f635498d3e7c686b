"""`memcli context --compare` and `--replay`: policies side by side and walked, before one is adopted."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from memcli.cli.render.compare import CompareView
from memcli.cli.render.replay import MOST_ROWS, ReplayView, verdict
from memcli.cli.sides import sides
from memcli.cli.walks import Walk
from memcli.memory.context import Policy, Request
from memcli.memory.model import memory_of
from memcli.memory.replay import ReplayRow, replay
from memcli.memory.whatif import Alternative, compare
from memcli.records import Conversation
from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.conversations import add_chat
from tests.memory.talks import begin, keep, turn_of

ROOMY = Policy(max_tokens=300)


@pytest.fixture
def parcels(store: Store) -> Conversation:
    """Store twelve turns of 60 tokens that nothing was folded of."""
    return add_chat(store, "parcels", 12)


def test_compare_json_puts_what_is_in_force_first(run: Run, store: Store, parcels: Conversation) -> None:
    outcome = run("context", "parcels", "--compare", "max_tokens=300", "--compare", "limit=1500,memory=turns", "--json")

    listed = outcome.listed("sides")
    assert (outcome.document["conversation"], outcome.document["name"]) == (parcels.id, "parcels")
    assert [(side["label"], side["memory"]) for side in listed] == [
        ("as it is", "window"), ("max_tokens=300", "window"), ("limit=1500,memory=turns", "turns"),
    ]  # fmt: skip
    context = memory_of("window").context(store, parcels, ROOMY, Request())
    narrow = listed[1]
    assert narrow["tokens"] == context.tokens
    assert narrow["sources"] == {"message": context.window_tokens, "reserve": 1024}
    assert narrow["forgotten"] == narrow["newly_forgotten"] == [list(pair) for pair in context.ledger.forgotten]
    assert narrow["out_of_context_tokens"] == {
        "summarised": 0,
        "forgotten": store.messages.token_sum(parcels.id, context.ledger.forgotten),
    }


def test_compare_in_words_says_what_each_would_forget(run: Run, store: Store, parcels: Conversation) -> None:
    context = memory_of("window").context(store, parcels, ROOMY, Request())
    tokens = store.messages.token_sum(parcels.id, context.ledger.forgotten)
    ((first, last),) = context.ledger.forgotten

    lines = [line.strip() for line in run("context", "parcels", "--compare", "max_tokens=300").out.splitlines()]

    assert "as it is:       forgets nothing" in lines
    count = context.ledger.forgotten.count
    assert f"max_tokens=300: forgets #{first}–#{last} ({count} messages, {tokens} tokens)" in lines


def test_a_policy_that_does_not_fit_says_so_beside_the_others(run: Run, parcels: Conversation) -> None:
    arguments = ("context", "parcels", "--compare", "output_reserve=9000")

    fits = [(side["fits"], side["overflow"] is None) for side in run(*arguments, "--json").listed("sides")]

    assert fits == [(True, True), (False, False)]
    assert "output_reserve=9000: does not fit: " in run(*arguments).out


def test_comparing_and_walking_change_nothing(run: Run, store: Store) -> None:
    talk = begin(store, name="talk")
    keep(store, talk, [turn_of(number) for number in range(1, 8)])
    before = (store.conversations.get(talk.id), store.summaries.list(talk.id), store.calls.newest_first(talk.id))

    run("context", "talk", "--compare", "memory=turns")
    run("context", "talk", "--replay", "--compare", "memory=turns,compact_every=2")

    after = (store.conversations.get(talk.id), store.summaries.list(talk.id), store.calls.newest_first(talk.id))
    assert after == before


@pytest.mark.parametrize("flag", [(), ("--replay",)])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_tokens", "--compare 'max_tokens' is not KEY=VALUE"),
        ("max_tokens=many", "max_tokens = 'many' is not a whole number"),
        ("colour=red", "no setting is called 'colour' (in --compare)"),
        ("memory=elephant", "memory = 'elephant' is not known"),
    ],
)
def test_a_policy_that_cannot_be_read_is_a_usage_error(
    run: Run, parcels: Conversation, flag: tuple[str, ...], text: str, message: str
) -> None:
    outcome = run("context", "parcels", *flag, "--compare", text)

    assert (outcome.code, outcome.out, outcome.err.splitlines()[0]) == (2, "", f"error: {message}")


def test_replay_json_is_a_row_a_turn(run: Run, store: Store, parcels: Conversation) -> None:
    (walk,) = run("context", "parcels", "--replay", "--max-tokens", "300", "--json").listed("walks")

    rows = list(replay(store, parcels, ROOMY))
    assert walk["rows"] == [
        {
            "turn": row.turn, "last_message_id": row.last_message_id, "tokens": row.tokens,
            "peak_tokens": row.peak_tokens, "folds": row.folds, "summary_tokens": row.summary_tokens,
            "verbatim": row.verbatim, "forgotten": row.forgotten, "most_forgotten": row.most_forgotten,
            "problem": row.problem,
        }
        for row in rows
    ]  # fmt: skip
    assert (walk["turns"], walk["folds"], walk["safe"], walk["problems"]) == (12, rows[-1].folds, True, 0)
    assert walk["peak_tokens"] == max(row.peak_tokens for row in rows)


def test_replay_says_whether_a_policy_is_safe(run: Run, parcels: Conversation) -> None:
    safe = run("context", "parcels", "--replay").out.splitlines()
    tight = run("context", "parcels", "--replay", "--max-tokens", "100", "--limit-tokens", "1100").out.splitlines()

    assert safe[4].startswith("safe: 12 turns, at most ")
    assert safe[4].endswith(", nothing ever forgotten")
    assert tight[4].startswith("not safe: 12 turns, at most ")


def test_replay_with_compare_walks_each_policy(run: Run, parcels: Conversation) -> None:
    outcome = run(
        "context", "parcels", "--replay", "--compare", "max_tokens=300", "--compare", "compact_every=2", "--json"
    )

    walks = outcome.listed("walks")
    assert [walk["label"] for walk in walks] == ["max_tokens=300", "compact_every=2"]
    assert walks[1]["folds"] == 6


def test_a_verdict_names_the_worst_turn_and_the_first_problem() -> None:
    rows = [
        ReplayRow(1, 2, 50, 40, 0, 0, 2, 0, 0),
        ReplayRow(2, 4, 60, 70, 1, 20, 2, 1, 3),
        ReplayRow(3, 6, 0, 0, 1, 0, 0, 6, 3, "the prompt needs 900 tokens and 80 are available"),
    ]

    told = verdict(Walk(Alternative("limit=80", "window", Policy(max_tokens=60, limit_tokens=80)), rows))

    assert told.plain == (
        "limit=80  memory window · max_tokens 60 · limit 80\n"
        "not safe: 3 turns, at most 70 tokens on a call, 1 fold, up to 3 messages forgotten (turn 2), "
        "1 problem from turn 3 on"
    )


def test_replay_of_an_empty_conversation_says_there_is_nothing(run: Run, store: Store) -> None:
    store.conversations.create(name="empty")

    outcome = run("context", "empty", "--replay")

    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "nothing to walk: the conversation is empty")


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal(store: Store, parcels: Conversation, width: int) -> None:
    listed = [Alternative(f"max_tokens={size}", "window", Policy(max_tokens=size)) for size in (100, 300, 900, 2700)]
    shown = sides(store, parcels, compare(store, parcels, listed))
    long = [ReplayRow(turn, 2 * turn, 5000, 7000, turn // 10, 400, 8, 0, 0) for turn in range(1, 400)]
    views = (CompareView(parcels, shown, "brief"), ReplayView(parcels, [Walk(listed[0], long)], "brief"))
    for view in views:
        stream = io.StringIO()
        Console(file=stream, width=width, markup=False, highlight=False, emoji=False).print(view)
        lines = stream.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        assert not any("…" in line for line in lines)
        assert len(lines) <= 2 * MOST_ROWS + 10
