"""`memcli context --find`: which messages say it, where each stands, in words, in a pipe and as JSON."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from memcli.cli.render.find import MOST_FINDINGS, FindView
from memcli.memory.context import Policy, Request
from memcli.memory.find import find
from memcli.memory.model import memory_of
from memcli.memory.travel import Moment
from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.conversations import add_chat, add_turn, said
from tests.cli.stories import EVIL, a_summary
from tests.memory.talks import begin, keep, turn_of

TIGHT = ("--max-tokens", "60", "--limit-tokens", "2000", "--output-reserve", "200")


@pytest.fixture
def talk(store: Store) -> str:
    """Store a talk: the first turn is summarised, the last is in the window, one between is in neither."""
    made = begin(store, name="seats")
    add_turn(store, made, said("human", "My seat is 14C, says Ann."), said("ai", "Noted: seat 14C."))
    store.summaries.commit(made.id, a_summary(1, 2, text="The user has a seat.", values=("14C",)), expected_head=None)
    add_turn(store, made, said("human", "Ann prefers tea " + "very " * 40), said("ai", "Tea it is."))
    add_turn(store, made, said("human", "Seat 14C is near ann's TEAPOT."), said("ai", "Yes."))
    return made.id


def test_find_says_where_every_message_stands_and_one_line_over_all(run: Run, talk: str) -> None:
    outcome = run("context", "seats", "--find", "noted", *TIGHT)

    assert outcome.code == 0
    assert outcome.out == (
        "seats · what the agent sees next · memory window\n"
        "it is not in the context in any form; recall finds it\n"
        "1 message says it: 1 summarised\n"
        "\n"
        "#2 assistant  summarised by s1; s1 does not mention it; recall finds it\n"
        "    Noted: seat 14C.\n"
    )


@pytest.mark.parametrize(
    ("flags", "text", "places"),
    [
        ((), "14c", {1: "summarised", 2: "summarised", 5: "verbatim"}),
        ((), "tea", {3: "forgotten", 4: "forgotten", 5: "verbatim"}),
        (("--word",), "tea", {3: "forgotten", 4: "forgotten"}),
        (("--exact",), "Ann", {1: "summarised", 3: "forgotten"}),
        ((), "nobody said this", {}),
    ],
)
def test_find_looks_for_a_text_a_word_or_exactly_that(
    run: Run, talk: str, flags: tuple[str, ...], text: str, places: dict[int, str]
) -> None:
    outcome = run("context", "seats", "--find", text, *flags, *TIGHT, "--json")

    assert outcome.code == 0
    assert {row["message"]: row["place"] for row in outcome.listed("findings")} == places


def test_find_json_holds_every_answer(run: Run, talk: str) -> None:
    outcome = run("context", "seats", "--find", "14C", *TIGHT, "--json")

    document = outcome.document
    findings = outcome.listed("findings")
    assert {key: document[key] for key in ("version", "conversation", "memory", "text", "mode", "verdict")} == {
        "version": 1, "conversation": talk, "memory": "window", "text": "14C", "mode": "text",
        "verdict": "it is in the context: #5 says it",
    }  # fmt: skip
    assert document["moment"] == {"origin": "next", "label": "the next call", "last_message_id": 6, "call": None}
    assert findings[0] == {
        "message": 1, "role": "human", "place": "summarised", "in_arguments": False, "is_shown": False, "summary": 1,
        "summary_says": False, "values_say": True, "recall_finds_it": True,
        "verdict": "said in #1; summarised by s1; s1 does not mention it, its values do",
        "excerpt": "My seat is 14C, says Ann.",
    }  # fmt: skip


def test_find_that_finds_nothing_says_so(run: Run, talk: str) -> None:
    outcome = run("context", "seats", "--find", "zeppelin")

    assert (outcome.code, outcome.out.splitlines()[1:]) == (0, ["no message says 'zeppelin'"])


def test_find_looks_at_the_moment_it_is_given(run: Run, store: Store) -> None:
    made = begin(store, name="talk")
    keep(store, made, [turn_of(number) for number in range(1, 10)])

    then = run("context", "talk", "--find", "PX-0001", "--call", "1", "--json")
    later = run("context", "talk", "--find", "PX-0009", "--at", "3", "--json")

    assert {row["place"] for row in then.listed("findings")} == {"verbatim", "later"}
    assert {row["place"] for row in later.listed("findings")} == {"later"}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--word",), "--word says how --find looks, and nothing is to be found"),
        (("--find", "a", "--word", "--exact"), "--word and --exact cannot be asked together"),
        (("--find", "  "), "--find has nothing to look for"),
        (("--find", "a", "--replay"), "--find and --replay cannot be asked together"),
    ],
)
def test_find_that_cannot_be_asked_so_is_a_usage_error(
    run: Run, talk: str, flags: tuple[str, ...], message: str
) -> None:
    outcome = run("context", "seats", *flags, "--json")

    assert (outcome.code, json.loads(outcome.out)["error"]["message"]) == (2, message)


def test_what_was_said_cannot_act_on_the_terminal(run: Run, store: Store) -> None:
    add_turn(store, store.conversations.create(name="evil"), said("human", f"here {EVIL}"))

    outcome = run("context", "evil", "--find", "here")

    assert "\x1b" not in outcome.out
    assert "here [/b] red clip" in outcome.out


@pytest.mark.parametrize("width", [80, 120])
def test_a_screen_shows_the_newest_and_counts_the_rest(store: Store, width: int) -> None:
    made = add_chat(store, "parcels", 20)
    context = memory_of("window").context(store, made, Policy(max_tokens=300), Request())
    findings = find(store, made, context, "depot")
    stream = io.StringIO()
    console = Console(file=stream, width=width, markup=False, highlight=False, emoji=False)
    console.print(FindView(made, Moment(context, "next", 40), "depot", "text", findings, "brief"))

    lines = stream.getvalue().splitlines()
    assert lines[4] == f"… {40 - MOST_FINDINGS} earlier messages (--full)"
    assert len(lines) == 5 + 2 * MOST_FINDINGS
    assert max(map(len, lines)) <= width
