"""Ids and shares as they are typed: `s3`, `#12`, `90%`. It refuses to know whether such a thing is there."""

from __future__ import annotations

from memcli.errors import UsageError


def parse_summary_id(text: str) -> int:
    """Read a summary's id, with or without the `s` it is shown with. Raises UsageError."""
    return _id(text, "s", "summary", "run `memcli summaries` to list them")


def parse_message_id(text: str) -> int:
    """Read a message's id, with or without the `#` it is shown with. Raises UsageError."""
    return _id(text, "#", "message", "run `memcli history CONVERSATION` to list them")


def parse_share(text: str) -> float:
    """Read a share of 0 to 1, or a percentage with its sign. Raises UsageError."""
    bare = text.strip()
    try:
        share = float(bare.removesuffix("%")) / (100 if bare.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"{text!r} is no share of 0 to 1", "use 0.9 or 90%")
    return share


def _id(text: str, mark: str, noun: str, hint: str) -> int:
    digits = text.strip().lower().removeprefix(mark)
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _MOST_DIGITS:
        raise UsageError(f"{text!r} is no {noun}'s id", hint)
    return int(digits)


_MOST_DIGITS = 18
"""What SQLite's integers hold in any case."""
