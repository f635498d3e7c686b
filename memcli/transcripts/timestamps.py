"""Moments as other tools write them. Advisory: order never depends on them. It refuses to guess a time zone but UTC."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from memcli.transcripts.lossless_json import Json

FIELDS = ("created_at", "created", "create_time", "timestamp")
"""Where a moment may stand, the best known first."""
_FIRST_MILLISECONDS = 1e11
_FIRST_MICROSECONDS = 1e14
"""As seconds these are the years 5138 and beyond three million: such numbers count smaller units."""


def find_moment(fields: Mapping[str, Json]) -> tuple[str, datetime] | None:
    """Find the first of FIELDS that holds a moment, and which it was; None when none does."""
    for name in FIELDS:
        moment = read_moment(fields.get(name))
        if moment is not None:
            return name, moment
    return None


def read_moment(value: Json) -> datetime | None:
    """Read seconds, milliseconds or microseconds since 1970, or ISO 8601; None for anything else."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(_seconds(value), UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _seconds(number: int | float) -> float:
    size = abs(number)
    return number / (1e6 if size >= _FIRST_MICROSECONDS else 1e3 if size >= _FIRST_MILLISECONDS else 1.0)
