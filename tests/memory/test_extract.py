import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.memory.extract import NO_ACTIONS, PREVIOUS_SHARE, extractive_summary, extractive_turn
from memcli.memory.quotes import HEADING
from memcli.memory.text import one_line
from memcli.memory.tokens import count_message_tokens, text_tokens
from memcli.records import MessageState, Role, StoredMessage

LINE = re.compile(r'#(\d+) (?:(?:user|assistant|system|other): "(.*)"|tool .*? → (.*))')


def message(id: int, role: Role, text: str, *, state: MessageState = "whole", **data: object) -> StoredMessage:
    tokens = count_message_tokens(role="user", content=text)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return StoredMessage(id, "c", None, str(id), role, role, text, json.dumps(data), tokens, now, state)


def call(id: str, name: str, **args: object) -> Mapping[str, object]:
    return {"id": id, "name": name, "args": args}


def summarise(messages: Sequence[StoredMessage], previous: str | None = None, max_tokens: int = 500) -> str:
    return extractive_summary(previous=previous, messages=messages, max_tokens=max_tokens)


BOOKING = (
    message(1, "human", "Hi there! I'm looking to book a flight from New York to Seattle on May 20th."),
    message(2, "ai", "I can help you with that. Could you please provide your user ID?"),
    message(3, "human", "Sure, my user ID is mia_li_3668."),
    message(4, "ai", "", tool_calls=[call("c1", "get_user", user_id="mia_li_3668")]),
    message(5, "tool", '{"name": "Mia Li", "reservations": ["NO6JO3", "AIXC49"]}', tool_call_id="c1"),
    message(
        6, "ai", "<think>The user wants SECRET.</think>Flight HAT069 leaves at 6 AM and costs $121. Shall I book it?"
    ),
    message(7, "human", "Yes, please. I never fly before 11 AM otherwise, because of my medication."),
    message(8, "ai", "Your reservation ZFA04Y is booked. If you have any other questions, feel free to ask!"),
    message(9, "human", "Thank you!"),
)

quotable = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            "I live in Oslo. My code is ZFA04Y! Is that fine?",
            "<think>no</think>Yes.",
            "{x} and {{",
            "你好。我要改签！",
            "\ud83d\ude00 \ud800 \x1b[31m",
            'a "quoted" → line',
            "#3 user: no",
            HEADING,
            "x" * 900,
            "List:\n- one\n- two\n",
        ]
    ),
)
roles: st.SearchStrategy[Role] = st.sampled_from(["human", "ai", "tool", "system", "other"])
spans = st.lists(st.tuples(roles, quotable), max_size=12)
caps = st.one_of(st.integers(0, 40), st.integers(41, 400))


def span(parts: Sequence[tuple[Role, str]], first_id: int = 1) -> list[StoredMessage]:
    return [message(first_id + at, role, text) for at, (role, text) in enumerate(parts)]


def test_a_summary_quotes_what_carries_the_span_with_message_ids() -> None:
    assert summarise(BOOKING).splitlines() == [
        HEADING,
        '#1 user: "I\'m looking to book a flight from New York to Seattle on May 20th."',
        '#3 user: "Sure, my user ID is mia_li_3668."',
        '#6 assistant: "Flight HAT069 leaves at 6 AM and costs $121."',
        '#7 user: "I never fly before 11 AM otherwise, because of my medication."',
        '#8 assistant: "Your reservation ZFA04Y is booked."',
    ]


def test_a_tool_result_is_one_short_line_with_the_call_it_answers() -> None:
    failing = (
        message(1, "ai", "", tool_calls=[call("c", "buy", flight="HAT069")]),
        message(
            2,
            "tool",
            "Error: the amounts do not add up." + " filler" * 99,
            tool_call_id="c",
        ),
        message(3, "ai", "", tool_calls=[call("c", "buy", flight="HAT083")]),
        message(4, "tool", "ok" + " seats" * 99, tool_call_id="c"),
    )

    assert summarise(failing).splitlines() == [
        HEADING,
        "#2 tool buy(flight=HAT069) → Error: the amounts do not add up." + " filler" * 8 + "…",
        "#4 tool buy(flight=HAT083) → ok" + " seats" * 14 + "…",
    ]


@settings(max_examples=300, deadline=None)
@given(spans, spans, caps)
def test_a_summary_never_exceeds_its_cap_and_is_the_same_each_time(
    old: list[tuple[Role, str]], new: list[tuple[Role, str]], cap: int
) -> None:
    previous = summarise(span(old), max_tokens=cap)
    messages = span(new, first_id=len(old) + 1)

    summary = summarise(messages, previous, cap)

    assert text_tokens(summary) <= cap
    assert summary == summarise(messages, previous, cap)
    assert summary.encode("utf-8").decode("utf-8") == summary


@settings(max_examples=300, deadline=None)
@given(spans, caps)
def test_every_quote_stands_in_the_message_it_names(parts: list[tuple[Role, str]], cap: int) -> None:
    messages = span(parts)
    texts = {stored.id: one_line(stored.text) for stored in messages}

    for line in summarise(messages, max_tokens=cap).splitlines()[1:]:
        found = LINE.fullmatch(line)
        assert found is not None
        words = found[2] if found[2] is not None else found[3]
        assert words in texts[int(found[1])] or words.removesuffix("…") in texts[int(found[1])]


@settings(max_examples=200, deadline=None)
@given(spans, spans, caps)
def test_every_line_of_a_second_summary_comes_from_the_first_or_the_span(
    old: list[tuple[Role, str]], new: list[tuple[Role, str]], cap: int
) -> None:
    previous = summarise(span(old), max_tokens=cap)

    summary = summarise(span(new, first_id=len(old) + 1), previous, cap)

    ids = [int(found[1]) for line in summary.splitlines() if (found := LINE.fullmatch(line))]
    assert ids == sorted(ids)
    assert all(id > len(old) or f"#{id} " in previous for id in ids)


def test_a_chain_of_summaries_stays_flat_and_keeps_something_old() -> None:
    summary = summarise(BOOKING, max_tokens=150)
    for fold in range(20):
        chat = [
            message(10 + fold * 5 + at, "human", f"Topic {fold}-{at} is about gardens number {at}.") for at in range(5)
        ]
        summary = summarise(chat, summary, max_tokens=150)

    assert text_tokens(summary) <= 150
    assert "mia_li_3668" in summary


def test_prose_of_an_earlier_summary_leads_in_its_share() -> None:
    prose = "The user is Mia Li. " + "She asked for flights to Seattle and compared several of them at length. " * 40

    summary = summarise(BOOKING, prose, max_tokens=200)

    lead, rest = summary.split("\n", 1)
    assert lead.startswith("The user is Mia Li.")
    assert len(lead) <= 200 * 4 * PREVIOUS_SHARE
    assert rest.startswith(HEADING)


@pytest.mark.parametrize("previous", [None, "", "The user is Mia.", f'{HEADING}\n#3 user: "I am mia_li_3668."'])
def test_an_empty_span_gives_the_previous_summary_back(previous: str | None) -> None:
    assert summarise([], previous) == (previous or "")


def test_an_empty_span_shortens_a_previous_summary_that_is_over_the_cap() -> None:
    assert (
        summarise([], "The user is Mia Li. She lives in Oslo near the old harbour.", 10)
        == "She lives in Oslo near the old harbour."
    )


def test_a_summary_is_smaller_than_the_span_it_replaces() -> None:
    summary = summarise(BOOKING)

    assert text_tokens(summary) < sum(stored.tokens for stored in BOOKING)


def test_one_huge_sentence_is_clipped_with_a_marker() -> None:
    summary = summarise([message(1, "human", "really " * 5000 + "ZFA04Y")], max_tokens=60)

    assert summary.startswith(f'{HEADING}\n#1 user: "really really')
    assert summary.endswith('really…"')
    assert text_tokens(summary) <= 60


def test_excluded_messages_and_reasoning_are_never_quoted() -> None:
    messages = [
        message(1, "human", "My code is ZFA04Y and I live in Oslo.", state="failed"),
        message(2, "ai", "<think>The user lives in Oslo, he must be rich."),
        message(3, "ai", "", tool_calls=[call("t", "think", thought="He is rich")]),
        message(4, "tool", "He is rich", tool_call_id="t"),
    ]

    assert summarise(messages) == ""


def test_a_turn_is_summed_up_as_request_actions_and_response() -> None:
    assert extractive_turn(BOOKING[:6]) == (
        "I'm looking to book a flight from New York to Seattle on May 20th.",
        'get_user(user_id=mia_li_3668) → {"name": "Mia Li", "reservations": ["NO6JO3", "AIXC49"]}',
        "Flight HAT069 leaves at 6 AM and costs $121. Shall I book it?",
    )


def test_a_turn_without_tools_or_answer_says_so() -> None:
    assert extractive_turn([message(1, "human", "Hello?")]) == ("Hello?", NO_ACTIONS, "")


def test_many_calls_of_a_turn_stay_within_the_cap_and_an_error_is_told() -> None:
    calls = [call(f"c{at}", "search_direct_flight", origin="JFK", date=f"2024-05-{at}") for at in range(10, 40)]
    results = [message(2 + at, "tool", "Error: no seats", tool_call_id=f"c{at + 10}") for at in range(30)]

    _, actions, _ = extractive_turn([message(1, "ai", "", tool_calls=calls), *results])

    assert len(actions) <= 400
    assert actions.startswith("search_direct_flight(origin=JFK, date=2024-05-10) → Error: no seats; search")
