"""Finding a text: which messages say it, where each stands, and what still says it."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.memory.context import Context, Policy, Request
from memcli.memory.find import Finding, Mode, find, overall
from memcli.memory.model import memory_of
from memcli.records import Conversation, MemoryModel, NewSummary
from memcli.store import Store
from tests.cli.conversations import add_turn, said
from tests.histories import opened
from tests.memory.talks import asking, begin, keep, next_context, turn_of

TIGHT = Policy(max_tokens=60, limit_tokens=2000, output_reserve=200)


def a_talk(store: Store) -> Conversation:
    """Store a talk: the first turn is summarised, the last is in the window, one between is in neither, one failed."""
    talk = begin(store)
    add_turn(store, talk, said("human", "My seat is 14C, says Ann."), said("ai", "Noted: seat 14C, paid $1,859."))
    summary = NewSummary(
        kind="running", parent_id=None, first_message_id=1, last_message_id=2,
        text="The user has a seat; it cost $1859.", values=("14C",), fidelity=1.0, tokens=20, model="extractive",
        prompt_version="1", input_tokens=0, output_tokens=0, input_hash="1",
    )  # fmt: skip
    store.summaries.commit(talk.id, summary, expected_head=None)
    add_turn(store, talk, said("human", "Ann prefers tea " + "very " * 40), said("ai", "Tea it is."))
    add_turn(store, talk, said("human", "A failed word: teapot"), said("ai", "?"), status="failed")
    add_turn(store, talk, said("human", "Seat 14C is near ann's TEA."), said("ai", "Yes."))
    return store.conversations.get(talk.id)


def found(store: Store, talk: Conversation, text: str, mode: Mode = "text") -> list[Finding]:
    return find(store, talk, memory_of("window").context(store, talk, TIGHT, Request()), text, mode=mode)


def test_each_message_that_says_it_is_placed(store: Store) -> None:
    talk = a_talk(store)

    assert [finding.verdict for finding in found(store, talk, "14c")] == [
        "said in #1; summarised by s1; s1 does not mention it, its values do",
        "said in #2; summarised by s1; s1 does not mention it, its values do",
        "said in #7; in the context word for word",
    ]
    assert [finding.verdict for finding in found(store, talk, "tea")] == [
        "said in #3; in this context in no form; recall finds it",
        "said in #4; in this context in no form; recall finds it",
        "said in #5; outside every context: its turn failed or was taken back; recall finds it",
        "said in #7; in the context word for word",
    ]
    assert [finding.verdict for finding in found(store, talk, "noted")] == [
        "said in #2; summarised by s1; s1 does not mention it; recall finds it"
    ]


def test_a_finding_carries_everything_a_verdict_says(store: Store) -> None:
    talk = a_talk(store)

    assert found(store, talk, "$1859.00") == []
    assert found(store, talk, "$1,859") == [
        Finding(
            2, "ai", "Noted: seat 14C, paid $1,859.", False, "summarised", False, 1, True, False, True,
            "said in #2; summarised by s1; s1 still says it",
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "mode", "ids"),
    [
        ("tea", "text", [3, 4, 5, 7]),
        ("tea", "word", [3, 4, 7]),
        ("tea", "exact", [3, 5]),
        ("TEA", "exact", [7]),
        ("A", "word", [5]),
        ("is  near", "text", [7]),
        ("is  near", "exact", []),
        ("?", "text", [6]),
        ("?", "word", [6]),
        ("14c,", "word", [1, 2]),
        ("nobody said this", "text", []),
        ("", "text", []),
        ("  ", "exact", []),
    ],
)
def test_modes_tell_case_and_words(store: Store, text: str, mode: Mode, ids: list[int]) -> None:
    assert [finding.message_id for finding in found(store, a_talk(store), text, mode)] == ids


def test_quotes_braces_and_other_scripts_are_only_text(store: Store) -> None:
    talk = begin(store)
    add_turn(store, talk, said("human", 'say "hi {x} [/b]" to 東京タワー 🙂'), said("ai", "so\nbe it"))
    talk = store.conversations.get(talk.id)

    for text in ('"hi {x}', "[/b]", "東京", "タ", "🙂", '"', '"hi {x} [/b]"', "so be it"):
        assert len(found(store, talk, text)) == 1, text


def test_a_tool_call_s_arguments_are_found_too(store: Store) -> None:
    talk = begin(store)
    result = said("tool", "fine", tool_call_id="c1")
    add_turn(
        store, talk, said("human", "look"), asking("", ("c1", {"gate": "B-42", "名": "京都"})), result, said("ai", "ok")
    )
    talk = store.conversations.get(talk.id)

    (finding,) = found(store, talk, "b-42")

    assert (finding.in_arguments, finding.verdict) == (
        True,
        "said in #2 (a tool call's arguments); in the context word for word",
    )
    assert len(found(store, talk, "京都")) == 1


def test_a_clipped_message_tells_whether_what_is_shown_says_it(store: Store) -> None:
    talk = begin(store)
    keep(store, talk, [[said("human", "in short")]])
    middle = "start " + "x " * 600 + "needle " + "x " * 600 + "finish"
    result = said("tool", middle, tool_call_id="c1")
    add_turn(store, talk, said("human", "look"), asking("", ("c1", {})), result, said("ai", "ok"))
    talk = store.conversations.get(talk.id)
    context = memory_of("window").context(store, talk, replace(TIGHT, max_tokens=150), Request())

    verdicts = [find(store, talk, context, text)[0].verdict for text in ("start", "finish", "needle")]

    assert verdicts == [
        "said in #4; clipped; what is shown of it still says it",
        "said in #4; clipped; what is shown of it still says it",
        "said in #4; clipped; what is shown of it does not say it; recall finds it",
    ]


def test_what_was_said_later_is_behind_the_moment(store: Store) -> None:
    talk = a_talk(store)
    context = memory_of("window").context(store, talk, TIGHT, Request(up_to=4))

    assert [finding.place for finding in find(store, talk, context, "14C")] == ["summarised", "summarised", "later"]


def test_a_recall_that_shows_others_first_says_so(store: Store) -> None:
    talk = begin(store)
    for number in range(20):
        add_turn(store, talk, said("human", f"parcel {number} " + "and so on " * number), said("ai", "ok"))
    talk = store.conversations.get(talk.id)
    findings = found(store, talk, "parcel")

    assert len(findings) == 20
    assert sum(finding.is_recalled for finding in findings) == 6
    assert findings[15].verdict == "said in #31; in this context in no form; recall finds others first"


def test_the_whole_is_one_line(store: Store) -> None:
    talk = a_talk(store)

    assert {
        text: overall(text, found(store, talk, text)) for text in ("14C", "$1,859", "noted", "prefers", "moon")
    } == {
        "14C": "it is in the context: #7 says it",
        "$1,859": "it is in the context: s1 still says it",
        "noted": "it is not in the context in any form; recall finds it",
        "prefers": "it is not in the context in any form; recall finds it",
        "moon": "no message says 'moon'",
    }


def test_nothing_is_changed_by_looking(store: Store) -> None:
    talk = a_talk(store)
    before = [store.messages.get(talk.id, id) for id in range(1, 9)], store.summaries.list(talk.id)

    found(store, talk, "14C")

    assert ([store.messages.get(talk.id, id) for id in range(1, 9)], store.summaries.list(talk.id)) == before


@settings(max_examples=25)
@given(
    st.integers(1, 16),
    st.sampled_from(get_args(MemoryModel)),
    st.sampled_from(["PX-0003", "order", "TR003", "parcels"]),
)
def test_places_agree_with_the_ledger(
    tmp_path_factory: pytest.TempPathFactory, turns: int, memory: MemoryModel, text: str
) -> None:
    with opened(tmp_path_factory.mktemp("find")) as store:
        talk = begin(store, memory=memory)
        keep(store, talk, [turn_of(number) for number in range(1, turns + 1)])
        context = next_context(store, talk)
        now = store.conversations.get(talk.id)

        findings = find(store, now, context, text)

        said_by = {
            message.id
            for message in store.messages.oldest_first(talk.id)
            if text.lower() in (message.text + message.payload).lower()
        }
        assert {finding.message_id for finding in findings} == said_by
        assert all(_agrees(finding, context) for finding in findings)


def _agrees(finding: Finding, context: Context) -> bool:
    ledger = context.ledger
    places = {
        "verbatim": ledger.verbatim, "clipped": ledger.clipped, "summarised": ledger.summarised,
        "forgotten": ledger.forgotten, "excluded": ledger.excluded,
    }  # fmt: skip
    return [place for place, spans in places.items() if finding.message_id in spans] == [finding.place]
