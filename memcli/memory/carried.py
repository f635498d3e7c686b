"""How carried values are written on one line, and read back. It refuses to know what a value is and which are carried.

Numbered identifiers that begin alike share the beginning. Reading a context starts through here, so what finds values
in a text (`values`) and what chooses them (`facts`) stay out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

SEPARATOR = "; "
"""Between carried values: dates and amounts have commas of their own."""


def render_values(values: Sequence[str]) -> str:
    """Write carried values on one line; `parse_values` reads every one of them back exactly.

    Numbered identifiers that begin alike share the beginning: HAT069, HAT083 → HAT069/083. '' for none.
    """
    groups: dict[object, list[str]] = {}
    for value in values:
        groups.setdefault(shared_beginning(value) or value, []).append(value)
    return SEPARATOR.join(_render_group(key, members) for key, members in groups.items())


def parse_values(line: str) -> tuple[str, ...]:
    """Read the values of a rendered line, each in full; the order within a shared beginning is kept."""
    values: list[str] = []
    for item in re.finditer(_ITEM, line, re.DOTALL):
        if item["quoted"] is not None:
            values.append(item["quoted"])
            continue
        shared = re.fullmatch(_SHARED, item["plain"])
        if shared is None:
            values.append(item["plain"])
        else:
            values.extend(shared[1] + number for number in (shared[2] + shared[3]).split("/"))
    return tuple(values)


def shared_beginning(value: str) -> tuple[str, int] | None:
    """Name the beginning a numbered identifier can share, with its count of digits; None for any other value."""
    numbered = re.fullmatch(_NUMBERED, value)
    return (numbered[1], len(numbered[2])) if numbered else None


def added_characters(value: str, *, shares: bool) -> int:
    """Count what one more value adds to a line; `shares` tells that its beginning stands there already."""
    beginning = shared_beginning(value)
    if beginning is not None and shares:
        return 1 + beginning[1]
    return len(_render_group(None, [value])) + len(SEPARATOR)


_NUMBERED = r"([A-Za-z_-]+)([0-9]{2,})"
_SHARED = r"([A-Za-z_-]+)([0-9]{2,})((?:/[0-9]{2,})+)"
_ITEM = r"``(?P<quoted>.*?)``(?:; |$)|(?P<plain>.+?)(?:; |$)"


def _render_group(key: object, members: Sequence[str]) -> str:
    if isinstance(key, tuple) and len(members) > 1:
        beginning = str(key[0])
        return beginning + "/".join(member[len(beginning) :] for member in members)
    text = members[0]
    return f"``{text}``" if SEPARATOR in text or "``" in text or re.fullmatch(_SHARED, text) else text
