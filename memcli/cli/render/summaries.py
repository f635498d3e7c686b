"""What a summary cost and kept, and failed attempts at one, as text."""

from __future__ import annotations

from rich.text import Text

from memcli.cli.cleaning import clean_line
from memcli.cli.render.words import percent, when
from memcli.records import Call, Summary

VALUES_SEPARATOR = " · "


def cost_line(summary: Summary) -> str:
    """Write a summary's size, what it kept, who made it at what cost, and when."""
    kept = "no exact values to keep" if summary.fidelity is None else f"fidelity {percent(summary.fidelity)}"
    facts = (
        f"{summary.tokens:,} tokens", kept, clean_line(summary.model),
        _counts(summary.input_tokens, summary.output_tokens), when(summary.created_at),
    )  # fmt: skip
    return "  ".join(facts)


def values_line(summary: Summary) -> Text:
    """Write the exact values a summary carries."""
    values = Text(VALUES_SEPARATOR).join(Text(clean_line(value), "cyan") for value in summary.values)
    return Text.assemble(("values: ", "bold"), values)


def attempt_text(call: Call) -> Text:
    """Write one attempt at a compaction that came to nothing, and why."""
    shown = Text.assemble((f"call {call.id}", "bold"), " ", (f"compaction {call.status}", "bold red"))
    shown.append(
        f"  {when(call.started_at)}  {clean_line(call.model)}  {_counts(call.input_tokens, call.output_tokens)}\n",
        "dim",
    )
    shown.append(f"{clean_line(call.error)}\n" if call.error else "no reason was recorded\n", "red")
    return shown


def _counts(input_tokens: int | None, output_tokens: int | None) -> str:
    if not input_tokens and not output_tokens:
        return "no model tokens"
    return f"{input_tokens or 0:,} tokens in, {output_tokens or 0:,} out"
