"""Summaries and failed attempts at one, as text: what each covers, what it cost, what it kept."""

from __future__ import annotations

from rich.text import Text

from memcli.cli.cleaning import clean, clean_line
from memcli.cli.render.words import percent, when
from memcli.records import Call, Summary

VALUES_SEPARATOR = " · "


def summary_text(summary: Summary, folded: tuple[int, int]) -> Text:
    """Write one summary. `folded` is the span this one was made from, without what its parent stood for already."""
    shown = Text.assemble((f"s{summary.id}", "bold"), " ", (summary.kind, "bold yellow"))
    if summary.in_force:
        shown.append("  in force", "bold green")
    shown.append(f"  covers {_span(summary.first_message_id, summary.last_message_id)}")
    if summary.parent_id is not None:
        shown.append(f", folded {_span(*folded)} onto s{summary.parent_id}", "dim")
    shown.append(f"\n{_cost(summary)}\n", "dim")
    if summary.fallback:
        shown.append("[a fallback: the model kept failing, so sentences were quoted instead]\n", "yellow")
    if summary.instructions:
        shown.append(f"[asked for: {clean_line(summary.instructions)}]\n", "dim")
    shown.append(f"{clean(summary.text).strip()}\n")
    if summary.values:
        shown.append("values: ", "bold")
        shown.append_text(Text(VALUES_SEPARATOR).join(Text(clean_line(value), "cyan") for value in summary.values))
        shown.append("\n")
    return shown


def attempt_text(call: Call) -> Text:
    """Write one attempt at a compaction that came to nothing, and why."""
    shown = Text.assemble((f"call {call.id}", "bold"), " ", (f"compaction {call.status}", "bold red"))
    shown.append(
        f"  {when(call.started_at)}  {clean_line(call.model)}  {_counts(call.input_tokens, call.output_tokens)}\n",
        "dim",
    )
    shown.append(f"{clean_line(call.error)}\n" if call.error else "no reason was recorded\n", "red")
    return shown


def _cost(summary: Summary) -> str:
    kept = "no exact values to keep" if summary.fidelity is None else f"fidelity {percent(summary.fidelity)}"
    facts = (
        f"{summary.tokens:,} tokens", kept, clean_line(summary.model),
        _counts(summary.input_tokens, summary.output_tokens), when(summary.created_at),
    )  # fmt: skip
    return "  ".join(facts)


def _counts(input_tokens: int | None, output_tokens: int | None) -> str:
    if not input_tokens and not output_tokens:
        return "no model tokens"
    return f"{input_tokens or 0:,} tokens in, {output_tokens or 0:,} out"


def _span(first: int, last: int) -> str:
    return f"#{first}" if first == last else f"#{first}–#{last}"
