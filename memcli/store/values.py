"""What a column can hold, and what becomes of what it cannot. It refuses to know tables and connections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Value = str | int | float | None

LARGEST = 2**63 - 1
"""The largest integer a column holds; a larger one is brought to it, so that an absurd id finds nothing."""


def storable(text: str) -> str:
    """Show what a text column cannot hold: lone surrogates as escapes, NUL as its symbol.

    A stored message keeps the original in its payload, which is ASCII-escaped JSON.
    """
    if "\0" in text:
        text = text.replace("\0", "\u2400")
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def bound(values: Sequence[Value] | dict[str, Value]) -> Sequence[Value] | dict[str, Value]:
    """Copy values with each one made storable."""
    if isinstance(values, dict):
        return dict(zip(values, _each(values.values()), strict=True))
    return _each(values)


def readable(raw: bytes) -> str:
    """Read text that is not valid UTF-8, its bad bytes as escapes: one damaged row must not hide the others."""
    return raw.decode("utf-8", "backslashreplace")


def _each(values: Iterable[Value]) -> list[Value]:
    return [_one(value) for value in values]


def _one(value: Value) -> Value:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, int):
        return max(-LARGEST, min(value, LARGEST))
    return value
