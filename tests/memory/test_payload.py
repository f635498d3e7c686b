"""Strict JSON that gives back what it was given: property over every tagged kind, and what becomes of the rest."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import NamedTuple
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.memory.payload import DEEPEST, TAG, dumps, loads

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(0, 9).map(lambda more: 2 ** (12_000 + more)),
    st.floats(),
    st.text(alphabet=st.characters(exclude_categories=()), max_size=8),
    st.binary(max_size=8),
    st.datetimes(timezones=st.sampled_from([None, UTC, timezone(timedelta(minutes=-90))])),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.decimals(),
    st.uuids(),
    st.complex_numbers(),
)
hashables = st.one_of(
    st.integers(), st.text(max_size=4), st.binary(max_size=4), st.tuples(st.integers(), st.text(max_size=2))
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(max_size=4), st.just(TAG)), inner, max_size=3),
        st.dictionaries(hashables, inner, max_size=3),
        st.sets(hashables, max_size=3),
        st.frozensets(hashables, max_size=3),
    ),
    max_leaves=10,
)


def same(one: object, other: object) -> bool:
    """Compare values and types, NaN with NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return repr(one) == repr(other) or one == other


@settings(max_examples=500, deadline=None)
@given(values)
def test_fault_16_every_tagged_kind_comes_back_as_it_was(value: object) -> None:
    text = dumps(value)
    assert same(loads(text), value)
    assert text.isascii()
    assert "\n" not in text
    json.loads(text, parse_constant=pytest.fail)


@pytest.mark.parametrize(
    "value",
    [
        "\ud800",
        "a\0b",
        math.nan,
        -math.inf,
        -0.0,
        2**13000,
        b"\xff\x00",
        bytearray(b"ab"),
        datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
        date(2024, 1, 2),
        time(3, 4),
        timedelta(days=-1, microseconds=1),
        Decimal("1.10"),
        UUID(int=7),
        {1, 2},
        frozenset({"a"}),
        (1, (2, [3])),
        {(1, 2): "tuple key", 3: "int key"},
        {TAG: "float", "value": "1"},
        [],
        {},
    ],
    ids=lambda value: type(value).__name__,
)
def test_fault_16_each_odd_value_comes_back_with_its_type(value: object) -> None:
    assert same(loads(dumps({"in": [value]})), {"in": [value]})


class Opaque:
    def __repr__(self) -> str:
        return "<Opaque>"


class Unspeakable:
    def __repr__(self) -> str:
        raise ValueError("no")


class Colour(Enum):
    RED = 1


class Broken(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("closed")

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "<Broken>"


@pytest.mark.parametrize(
    ("value", "type_name", "shown"),
    [
        (Opaque(), "Opaque", "<Opaque>"),
        (Unspeakable(), "Unspeakable", "<repr failed: ValueError>"),
        (Colour.RED, "Colour", "<Colour.RED: 1>"),
        (Broken(), "Broken", "<Broken>"),
        (1 + 2j, None, None),
    ],
)
def test_fault_16_an_object_becomes_its_type_and_its_repr(
    value: object, type_name: str | None, shown: str | None
) -> None:
    back = loads(dumps(value))
    if type_name is None:
        assert back == value
    else:
        assert back == {TAG: "repr", "value": {"type": f"{__name__}.{type_name}", "repr": shown}}


def test_a_substitution_survives_being_stored_again() -> None:
    once = loads(dumps(Opaque()))
    assert loads(dumps(once)) == once


def test_a_set_that_holds_an_object_keeps_a_visible_form() -> None:
    assert json.loads(dumps({Opaque()}))[TAG] == "set"
    assert loads(dumps({Opaque()})) == json.loads(dumps({Opaque()}))


class Point(NamedTuple):
    x: int
    y: int


class Level(IntEnum):
    LOW = 1


class Word(StrEnum):
    YES = "yes"


class Items(list[int]):
    pass


def test_subclasses_come_back_as_the_built_in_value_they_equal() -> None:
    given_values = [Point(1, 2), Level.LOW, Word.YES, Items([1]), OrderedDict(a=1)]
    assert loads(dumps(given_values)) == [(1, 2), 1, "yes", [1], {"a": 1}]


def test_a_cycle_ends_in_a_substitution_at_once() -> None:
    cyclic: list[object] = [1]
    cyclic += [cyclic, cyclic]
    back = loads(dumps(cyclic))
    substitution = {TAG: "repr", "value": {"type": "builtins.list", "repr": "[1, [...], [...]]"}}
    assert back == [1, substitution, substitution]


def test_the_same_value_twice_is_no_cycle() -> None:
    shared = [1]
    assert loads(dumps([shared, shared])) == [[1], [1]]


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: (inner,), lambda inner: {1: inner}])
def test_a_nest_is_kept_to_the_deepest_level_and_never_exhausts_a_reader(wrap: object) -> None:
    assert callable(wrap)
    value: object = "core"
    for _ in range(DEEPEST - 1):
        value = wrap(value)
    assert loads(dumps(value)) == value
    for _ in range(5000):
        value = wrap(value)
    assert loads(dumps(value)) != value


def test_a_tag_of_a_newer_version_stays_visible() -> None:
    assert loads('{"__memcli__":"quaternion","value":"1"}') == {TAG: "quaternion", "value": "1"}


def test_a_tag_whose_value_is_damaged_stays_visible() -> None:
    assert loads('{"__memcli__":"uuid","value":"no"}') == {TAG: "uuid", "value": "no"}


def test_text_that_is_no_json_is_an_error() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        loads("{")


def test_a_uuid_is_not_mistaken_for_text() -> None:
    id = uuid4()
    assert isinstance(loads(dumps(id)), UUID)
