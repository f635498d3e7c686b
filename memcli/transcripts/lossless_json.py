"""JSON that loses nothing: what strict JSON cannot hold is parsed into a tagged object and stays one.

    NaN, Infinity, -Infinity, 1e999   {"__memcli__": "float", "value": "nan" | "inf" | "-inf"}
    an integer of over 4,000 digits   {"__memcli__": "int", "value": "123…"}

Lone surrogates stay in the text, as `\\udXXX` escapes. It refuses to know what the values mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeAlias, cast

from memcli.memory.payload import MOST_DIGITS, TAG

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None

MAX_NESTING = 200
"""Levels of lists and objects; deeper values would exhaust the stack of whoever walks them later."""


def parse(text: str) -> Json:
    """Parse one JSON value. Raises ValueError, its text a reason for a person, if there is none or it is too deep."""
    try:
        value = cast(
            "Json", json.loads(text, parse_int=_parse_int, parse_float=_parse_float, parse_constant=_parse_constant)
        )
    except json.JSONDecodeError as err:
        raise ValueError(f"not valid JSON: {err.msg} at character {err.pos + 1}") from err
    except RecursionError as err:
        raise ValueError(f"nested deeper than {MAX_NESTING} levels") from err
    if _is_deeper_than(value, MAX_NESTING):
        raise ValueError(f"nested deeper than {MAX_NESTING} levels")
    return value


def encode(value: Json) -> str:
    """Write strict ASCII JSON on one line, keys in the order they have."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def canonical(value: Json) -> str:
    """Write strict ASCII JSON that is equal for equal values: keys sorted, no spaces."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":"))


def _parse_int(digits: str) -> Json:
    return int(digits) if len(digits) <= MOST_DIGITS else {TAG: "int", "value": digits}


def _parse_float(digits: str) -> Json:
    number = float(digits)
    return number if number - number == 0.0 else {TAG: "float", "value": str(number)}


def _parse_constant(name: str) -> Json:
    return {TAG: "float", "value": str(float(name))}


def _is_deeper_than(value: Json, levels: int) -> bool:
    if not isinstance(value, list | dict):
        return False
    children: Iterable[Json] = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper_than(child, levels - 1) for child in children)
