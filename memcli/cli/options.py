"""The flags several commands share: one spelling, one help text, one range each. It refuses to know who uses them.

def history(conversation: ConversationOrNone = None, limit: Limit = None, db: Db = None, as_json: Json = False): ...
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

import typer

from memcli.errors import UsageError


def parse_limit(text: str) -> int | None:
    """Read a row limit; 0 means all, as None. Raises UsageError when it is negative or no whole number."""
    try:
        limit = int(text)
    except ValueError:
        raise UsageError(f"-n {text!r} is not a whole number", "use -n 20, or -n 0 for all") from None
    if limit < 0:
        raise UsageError(f"-n {limit} is negative", "use -n 20, or -n 0 for all")
    return min(limit, _MOST_ROWS) or None


def parse_since(text: str) -> datetime:
    """Read a moment: an age (`30m`, `24h`, `7d`, `2w`) or an ISO date, which is local time unless it says otherwise."""
    unit = _UNITS.get(text[-1:])
    try:
        if unit is not None and text[:-1].isascii() and text[:-1].isdigit():
            return datetime.now(UTC) - timedelta(**{unit: int(text[:-1])})
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        hint = "use an age (30m, 24h, 7d, 2w) or a date (2026-01-31)"
        raise UsageError(f"--since {text!r} is neither an age nor a date", hint) from None


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MOST_ROWS = 2**31

_REFERENCE = "An id, the beginning of one, a name, or `last`."

ConversationName = Annotated[str, typer.Argument(metavar="CONVERSATION", help=_REFERENCE)]
ConversationOrNone = Annotated[str | None, typer.Argument(metavar="CONVERSATION", help=_REFERENCE)]
Conversations = Annotated[
    list[str] | None, typer.Argument(metavar="CONVERSATION", help="Ids, beginnings of ids, names, or `last`.")
]
Memory = Annotated[
    Literal["window", "turns"] | None, typer.Option("--memory", help="How the past is kept in the context.")
]
MaxTokens = Annotated[str | None, typer.Option("--max-tokens", metavar="TOKENS", help="The window's budget.")]
LimitTokens = Annotated[
    str | None, typer.Option("--limit-tokens", metavar="TOKENS", help="The context limit; 0 follows the model.")
]
Search = Annotated[
    str | None, typer.Option("--search", metavar="TEXT", help="Only messages that contain every word of it.")
]
Db = Annotated[str | None, typer.Option("-d", "--db", metavar="FILE", help="The store to use.")]
Model = Annotated[
    str | None,
    typer.Option("-m", "--model", metavar="MODEL", help="An Ollama model, `embedded`, or `provider:model`."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
JsonLines = Annotated[bool, typer.Option("--jsonl", help="Print one JSON object a line.")]
Limit = Annotated[
    int | None,
    typer.Option("-n", "--limit", metavar="ROWS", parser=parse_limit, help="Show at most so many; 0 shows all."),
]
Since = Annotated[
    datetime | None,
    typer.Option("--since", metavar="AGE", parser=parse_since, help="Only what is newer: 30m, 24h, 7d, 2w or a date."),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print the answer and nothing beside it.")]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="Print without colours.")]
