"""A ledger and spans as `--json` describes them. It refuses to know the documents they stand in."""

from __future__ import annotations

from collections.abc import Mapping

from memcli.memory.context import Ledger
from memcli.memory.spans import Spans


def counts_json(ledger: Ledger) -> Mapping[str, int]:
    """Count the messages by what became of them, as cli.md promises."""
    return {
        "total": ledger.total,
        "verbatim": ledger.verbatim.count,
        "clipped": ledger.clipped.count,
        "summarised": ledger.summarised.count,
        "forgotten": ledger.forgotten.count,
        "excluded": ledger.excluded.count,
    }


def pairs(spans: Spans) -> list[list[int]]:
    """Write spans as [first, last] pairs, ascending. [] for none."""
    return [[first, last] for first, last in spans]
