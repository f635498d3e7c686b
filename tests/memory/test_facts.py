import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.memory.carried import parse_values, render_values
from memcli.memory.facts import (
    fidelity,
    fidelity_by_kind,
    select_values,
    survives,
    values_of,
)
from memcli.memory.tokens import text_tokens
from memcli.memory.values import VALUE_KINDS, Value, extract_values, kind_of, normalised

PIECES = [
    "ZFA04Y", "HAT069", "HAT083", "HAT127", "mia_li_3668", "credit_card_4421486", "gift_card_6847880", "$1,200.50",
    "May 20th, 2024", "2024-05-20", "11 AM EST", "a.b@example.com", "`git rebase -i; git push`", "`HAT1/22`",
    "/etc/ssh/keys", "README.md", "get_user()", "5 kg", "30%", "#12345", "https://x.org/a?b=1", "and", "the", "yes",
    "confirm", "\n", "{x}", "``",
]  # fmt: skip
speech = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=20).map(" ".join)
spans = st.lists(st.tuples(st.integers(1, 99), st.sampled_from(["human", "ai", "tool"]), speech), max_size=8)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        ("Nothing here is exact, well, in 2022 or so, 1st of all.", []),
        ("reservation ZFA04Y of mia_li_3668", [("identifier", "ZFA04Y"), ("identifier", "mia_li_3668")]),
        ("flight HAT069 by credit_card_4421486", [("identifier", "HAT069"), ("identifier", "credit_card_4421486")]),
        ("Reservation ID: **UHDAHF**", [("identifier", "UHDAHF")]),
        ("PLEASE STOP SHOUTING", []),
        ('{"reservation_id": "JGFMMX", "origin": "BOSTON"}', [("identifier", "JGFMMX")]),
        ('{"reservations": ["JGFMMA", "LQ940Q"]}', [("identifier", "JGFMMA"), ("identifier", "LQ940Q")]),
        ('{"gift_card_3481935": {"first_name": "Mia"}}', [("identifier", "gift_card_3481935")]),
        ("card ending in 7447, order #123", [("identifier", "7447"), ("identifier", "#123")]),
        ("550e8400-e29b-41d4-a716-446655440000", [("identifier", "550e8400-e29b-41d4-a716-446655440000")]),
        ("commit 9f86d081 broke it", [("identifier", "9f86d081")]),
        ("pay $121 or 1,200.50 EUR", [("amount", "$121"), ("amount", "1,200.50 EUR")]),
        ("on 2024-05-20, at 11 AM EST", [("date", "2024-05-20"), ("date", "11 AM EST")]),
        ("May 20th or 3 June 2024, 5月20日", [("date", "May 20th"), ("date", "3 June 2024"), ("date", "5月20日")]),
        ("created 2024-05-11T08:28:51Z", [("date", "2024-05-11T08:28:51Z")]),
        ("write to a.b+c@mail.example.com.", [("email", "a.b+c@mail.example.com")]),
        ("see https://x.org/a?b=1).", [("url", "https://x.org/a?b=1")]),
        ("in /etc/ssh/keys and src/app.py", [("path", "/etc/ssh/keys"), ("path", "src/app.py")]),
        ("and/or, 24/7", []),
        ("run `git rebase -i` now", [("command", "git rebase -i")]),
        ("$ make test\nfine", [("command", "make test")]),
        ("`render` calls get_user()", [("code", "render"), ("code", "get_user()")]),
        ("of os.path.join", [("code", "os.path.join")]),
        ("snake_case and CamelCase", [("code", "snake_case"), ("code", "CamelCase")]),
        ("5 kg, 30% and 2 bags", [("number", "5 kg"), ("number", "30%"), ("number", "2 bags")]),
        ("$1,200 is $1200 is $1,200.00", [("amount", "$1,200")]),
    ],
)  # fmt: skip
def test_exact_values_are_found_in_order_each_once(text: str, values: list[tuple[str, str]]) -> None:
    assert [(value.kind, value.text) for value in extract_values(text)] == values


@given(speech)
def test_what_is_extracted_stands_in_the_text(text: str) -> None:
    values = extract_values(text)

    assert all(value.text in " ".join(text.split()) or value.text in text for value in values)
    assert len({normalised(value.text) for value in values}) == len(values)
    assert {value.kind for value in values} <= set(VALUE_KINDS)


@pytest.mark.parametrize(("text", "kind"), [("HAT069", "identifier"), ("UHDAHF", "identifier"), ("$121", "amount")])
def test_a_value_alone_has_a_kind(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_identifiers_of_the_user_come_before_what_a_tool_lists() -> None:
    span = [
        (1, "tool", '{"reservations": ["JG7FMM", "LQ940Q"], "dob": "1982-10-19"}'),
        (2, "human", "Cancel LQ940Q, it cost $121."),
        (3, "ai", "LQ940Q is cancelled."),
    ]

    assert select_values(span, max_tokens=200) == ("LQ940Q", "JG7FMM", "$121", "1982-10-19")


def test_carried_values_compete_and_the_chain_stays_bounded() -> None:
    carried: tuple[str, ...] = ()
    for fold in range(50):
        carried = select_values(
            [(fold, "human", f"my code is AB{fold:04}X, then CD{fold:04}Y")], max_tokens=20, previous=carried
        )

    assert text_tokens(render_values(carried)) <= 20
    assert {"AB0049X", "CD0049Y"} <= set(carried)


def test_a_user_s_identifier_outlives_later_tool_listings() -> None:
    carried = select_values([(1, "human", "I am mia_li_3668")], max_tokens=12)
    for fold in range(20):
        carried = select_values([(2, "tool", f'["HAT{fold:03}", "X{fold:03}YZ"]')], max_tokens=12, previous=carried)

    assert carried[0] == "mia_li_3668"


def test_nothing_is_carried_without_room() -> None:
    assert select_values([(1, "human", "I am mia_li_3668")], max_tokens=0) == ()


def test_numbered_identifiers_share_their_beginning() -> None:
    values = ("HAT069", "mia_li_3668", "HAT083", "HAT1271", "May 20, 2024")

    assert render_values(values) == "HAT069/083; mia_li_3668; HAT1271; May 20, 2024"


@settings(max_examples=300)
@given(spans, st.integers(0, 60))
def test_carried_values_fit_their_cap_and_every_one_reads_back(span: list[tuple[int, str, str]], cap: int) -> None:
    values = select_values(span, max_tokens=cap)

    assert text_tokens(render_values(values)) <= cap
    assert sorted(parse_values(render_values(values))) == sorted(values)
    assert set(values) <= {value.text for value in values_of([text for _, _, text in span])}


@given(spans, st.integers(0, 60))
def test_the_same_span_carries_the_same_values(span: list[tuple[int, str, str]], cap: int) -> None:
    assert select_values(span, max_tokens=cap) == select_values(span, max_tokens=cap)


@pytest.mark.parametrize(
    ("value", "summary", "alive"),
    [
        (Value("identifier", "ZFA04Y"), "The reservation zfa04y stands.", True),
        (Value("identifier", "ZFA04Y"), "The reservation ZFA04YX stands.", False),
        (Value("amount", "$1,859"), "It cost $1859.00.", True),
        (Value("amount", "$18"), "It cost $18.50.", False),
        (Value("amount", "$18"), "It cost $18.", True),
        (Value("amount", "$18"), "It cost $18,500.", False),
        (Value("date", "May  20th"), "On may 20th.", True),
        (Value("identifier", "3668"), "mia_li_3668", False),
        (Value("identifier", "7447"), "", False),
    ],
)
def test_a_value_survives_only_exactly(value: Value, summary: str, alive: bool) -> None:
    assert survives([value], summary) == [alive]


def test_fidelity_is_the_share_that_is_still_present() -> None:
    values = values_of(["HAT069 and HAT083 on 2024-05-20", "HAT069 for $121"])

    assert fidelity(values, "They took hat069.", ("2024-05-20",)) == 0.5
    assert fidelity_by_kind(values, "They took hat069.", ("2024-05-20",)) == {
        "identifier": 0.5,
        "amount": 0.0,
        "date": 1.0,
    }


def test_a_span_without_values_has_no_fidelity() -> None:
    assert fidelity([], "anything") is None
    assert fidelity_by_kind([], "anything") == {}
