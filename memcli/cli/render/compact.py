"""What a compaction brought about: one told in full, several as a table with their totals."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from memcli.cli.cleaning import clean, clean_line
from memcli.cli.compactions import Outcome
from memcli.cli.render.palette import counted, span
from memcli.cli.render.proposal import edited_line, next_steps
from memcli.cli.render.words import called, percent
from memcli.memory.fold import FoldResult, FoldStatus

STATUS_STYLES: dict[FoldStatus, str] = {
    "compacted": "green",
    "undone": "green",
    "proposed": "cyan",
    "discarded": "yellow",
    "nothing": "dim",
    "rejected": "bold red",
    "failed": "bold red",
    "locked": "bold red",
}


def compactions_view(outcomes: Sequence[Outcome]) -> RenderableType:
    """Show what came about."""
    if not outcomes:
        return Text("nothing to fold: there are no conversations yet")
    return _single(outcomes[0]) if len(outcomes) == 1 else Group(_table(outcomes), Text(""), _totals(outcomes))


def _single(outcome: Outcome) -> RenderableType:
    result = outcome.result
    status = (result.status, STATUS_STYLES[result.status])
    told = Text.assemble((_name(outcome), "bold"), ": ", status, f" {_what(result)}".rstrip())
    lines: list[RenderableType] = [told]
    if result.error and result.status != "nothing":
        lines.append(Text(f"  {clean_line(result.error)}"))
    if result.summary is not None and result.status not in ("undone", "discarded", "nothing"):
        summary = result.summary
        kept = "" if summary.fidelity is None else f" · {percent(summary.fidelity)} of the exact values kept"
        stood_in = " · standing in for a model that keeps failing" if summary.fallback else ""
        edited = f", {by_hand}" if (by_hand := edited_line(summary)) else ""
        by = f"  summary s{summary.id} by {clean_line(summary.model)}{edited} · {_cost(result)}{kept}{stood_in}"
        lines += [Text(by, "dim"), Text(""), Text(clean(summary.text))]
        if summary.values:
            lines += [Text(""), Text.assemble(("values: ", "dim"), clean_line("; ".join(summary.values)))]
        if result.status == "proposed":
            lines += [Text(""), next_steps(outcome.conversation, summary.id)]
    return Group(*lines)


def _what(result: FoldResult) -> str:
    ids = span(result.first_message_id, result.last_message_id)
    if result.status == "nothing":
        return f"to do: {clean_line(result.error or 'everything is covered already')}"
    if result.status == "undone":
        stands = f"s{result.summary.id} is in force again" if result.summary else "no summary is in force"
        return f"{ids}: {stands}"
    if result.status == "discarded" and result.summary is not None:
        return f"s{result.summary.id}, over {ids}; it stays in `memcli summaries`, and nothing in force changed"
    if result.first_message_id is None or result.last_message_id is None:
        return ""
    size = f"{ids} ({counted(result.last_message_id - result.first_message_id + 1, 'message')}){_made(result)}"
    if result.status == "proposed" and result.summary is None:
        cost = f"{_cost(result)} if a model writes it" if result.calls else _cost(result)
        about = "about" if _made(result) else "at most"
        return f"{size}: {result.tokens_before:,} → {about} {counted(result.tokens_after, 'token')}, {cost}"
    before = f"{result.tokens_before:,} → " if result.tokens_before else ""
    return f"{size}: {before}{counted(result.tokens_after, 'token')}"


def _made(result: FoldResult) -> str:
    """Say how many turn summaries and folds it comes to; '' under a memory model without them."""
    pieces = [counted(result.turn_summaries, "turn summary")] if result.turn_summaries else []
    pieces += [counted(result.folds, "fold")] if result.folds else []
    return f" in {' and '.join(pieces)}" if pieces else ""


def _cost(result: FoldResult) -> str:
    if not result.calls:
        return "no model call"
    if not result.output_tokens:
        return f"{counted(result.calls, 'request')} (about {result.input_tokens:,} tokens in)"
    return f"{counted(result.calls, 'request')} ({result.input_tokens:,} tokens in, {result.output_tokens:,} out)"


def _table(outcomes: Sequence[Outcome]) -> Table:
    asked = any(outcome.result.calls for outcome in outcomes)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    table.add_column("conversation", no_wrap=True, overflow="ellipsis", max_width=24)
    table.add_column("status", no_wrap=True)
    table.add_column("messages", no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    if asked:
        table.add_column("requests", justify="right", no_wrap=True)
    table.add_column("why", ratio=1)
    for outcome in outcomes:
        result = outcome.result
        table.add_row(
            Text(_name(outcome)),
            Text(result.status, STATUS_STYLES[result.status]),
            Text(span(result.first_message_id, result.last_message_id)),
            Text(f"{result.tokens_before:,} → {result.tokens_after:,}" if result.tokens_before else "–"),
            *([Text(f"{result.calls:,}")] if asked else []),
            Text(_why(result), "dim"),
        )
    return table


def _why(result: FoldResult) -> str:
    if result.status == "proposed" and result.summary is not None:
        return f"s{result.summary.id} waits for --apply"
    return clean_line(result.error or "")


def _totals(outcomes: Sequence[Outcome]) -> Text:
    results = [outcome.result for outcome in outcomes]
    counts = {status: sum(result.status == status for result in results) for status in STATUS_STYLES}
    told = ", ".join(f"{number} {status}" for status, number in counts.items() if number)
    before, after = sum(result.tokens_before for result in results), sum(result.tokens_after for result in results)
    calls, tokens = sum(result.calls for result in results), sum(result.input_tokens for result in results)
    folded = f" · {before:,} → {after:,} tokens" if before else ""
    cost = f" · {counted(calls, 'request')}, {tokens:,} prompt tokens" if calls else ""
    return Text(f"{counted(len(results), 'conversation')}: {told}{folded}{cost}")


def _name(outcome: Outcome) -> str:
    return called(outcome.conversation)
