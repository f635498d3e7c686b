"""What a turn says beside its answer, each as one quiet line: the model, tools, folds, notices, how it ended."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rich.text import Text

from memcli.cli.cleaning import clean_line
from memcli.cli.render.palette import counted, span
from memcli.errors import MemcliError
from memcli.memory.fold import FoldResult

MOST_ARGUMENTS = 60
"""Characters of a tool call's arguments that are shown."""
MOST_RESULT = 100
"""Characters of a tool's result that are shown."""
TOY = "a toy to try things with: small, often wrong, cannot call tools; `--model NAME` asks for a real one"


def model_line(name: str, backend: str, why: str) -> Text:
    """Say which model answers, through which backend, and why."""
    return Text.assemble((f"{clean_line(name)}", "bold"), (f" · {backend} · {clean_line(why)}", "dim"))


def call_text(name: str, args: Mapping[str, object]) -> Text:
    """Write a tool call: its name and what it is called with."""
    shown = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False, default=str)}" for key, value in args.items())
    return Text.assemble(
        ("→ ", "dim"), (clean_line(name), "magenta"), (f"({_cut(clean_line(shown), MOST_ARGUMENTS)})", "dim")
    )


def tool_line(name: str, args: Mapping[str, object], result: str, *, is_error: bool) -> Text:
    """Write a tool call with the beginning of what came back."""
    said = _cut(clean_line(result), MOST_RESULT) or "nothing"
    return Text.assemble(call_text(name, args), ("  ", ""), (said, "red" if is_error else "dim"))


def fold_line(result: FoldResult) -> Text:
    """Say what became of a compaction."""
    if result.status == "compacted" and result.summary is not None:
        ids = span(result.first_message_id, result.last_message_id)
        sizes = f"{result.tokens_before:,} → {counted(result.tokens_after, 'token')}"
        by = f"by {clean_line(result.summary.model)}"
        late = ", standing in for a model that keeps failing" if result.summary.fallback else ""
        if result.turn_summaries or result.folds:
            return Text(f"{_upkeep(result)}: {sizes}, {by}{late}", "dim")
        return Text(f"folded {ids} into summary s{result.summary.id}: {sizes}, {by}{late}", "dim")
    if result.status == "nothing":
        return Text(f"nothing to fold: {clean_line(result.error or 'everything is covered already')}", "dim")
    why = clean_line(result.error or "no reason was given")
    how = "was rejected" if result.status == "rejected" else "failed"
    return Text(f"the fold {how}, the memory is as it was: {why}", "yellow")


def _upkeep(result: FoldResult) -> str:
    """Say what Model B made: turn summaries, and folds of them."""
    assert result.summary is not None
    ids = span(result.first_message_id, result.last_message_id)
    if not result.folds:
        return f"summarised {ids} in {counted(result.turn_summaries, 'turn summary')}, the last s{result.summary.id}"
    made = f"made {counted(result.turn_summaries, 'turn summary')} and " if result.turn_summaries else ""
    return f"{made}folded the oldest into compaction s{result.summary.id}"


def cut_line() -> Text:
    """Say that an answer ended because there was no more room for it."""
    return Text(
        "the answer was cut: it reached the limit of its tokens; a larger limit_tokens leaves more room", "yellow"
    )


def error_lines(err: MemcliError) -> Text:
    """Write an error, and its hint on a second line."""
    shown = Text.assemble(("error: ", "bold red"), clean_line(err.message))
    return shown.append("\nhint: ", "cyan").append(clean_line(err.hint)) if err.hint else shown


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
