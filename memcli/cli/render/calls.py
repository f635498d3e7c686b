"""Recorded calls as a table, one a row. A model's name and an error come in untrusted and are cleaned here."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from rich.table import Table
from rich.text import Text

from memcli.cli.cleaning import clean_line
from memcli.cli.render.words import briefly
from memcli.records import Call, CallPurpose, CallStatus

_WORDS: dict[CallPurpose, str] = {"chat": "chat", "compaction": "fold"}
_STYLES: dict[CallStatus, str] = {"done": "green", "failed": "bold red", "rejected": "red"}


def calls_table(calls: Iterable[Call], now: datetime) -> Table:
    """Lay out calls in the order given; where space is short, a model's name and an error give way."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("call", no_wrap=True, justify="right", style="cyan")
    table.add_column("when", no_wrap=True, style="dim")
    table.add_column("for", no_wrap=True)
    table.add_column("model")
    table.add_column("up to", no_wrap=True, justify="right")
    for heading in ("parts", "estimate", "reported"):
        table.add_column(heading, no_wrap=True, justify="right")
    table.add_column("ended", min_width=len("interrupted"))
    for call in calls:
        table.add_row(
            str(call.id),
            briefly(call.started_at, now),
            Text(_WORDS[call.purpose]),
            Text(clean_line(call.model), no_wrap=True, overflow="ellipsis"),
            f"#{call.newest_seen}" if call.newest_seen else "–",
            f"{len(call.seen):,}" if call.seen else "–",
            f"{call.estimated_tokens:,}",
            f"{call.input_tokens:,}" if call.input_tokens is not None else "–",
            _ended(call),
        )
    return table


def _ended(call: Call) -> Text:
    told = Text(call.status, _STYLES.get(call.status, "yellow"), no_wrap=True, overflow="ellipsis")
    return told.append(f": {clean_line(call.error)}", "dim") if call.error else told
