"""What a check-up found, a few lines a subject under one margin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.table import Table
from rich.text import Text

from memcli.cli.checkup import ModelFinding, Problems, ServerFinding, StoreFinding
from memcli.cli.cleaning import clean_line
from memcli.cli.render.palette import counted
from memcli.cli.render.words import SHORT_ID
from memcli.records import Problem

MARGIN = 9
"""Columns of the subject's name."""
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def store_text(found: StoreFinding) -> Table:
    """Write where the store is and what is in it."""
    if not found.exists:
        return _lines("store", found.path, Text("not there yet; the first chat or import makes it", "dim"))
    lines = [f"{_size(found.size_bytes)}, mode {found.mode:04o}"]
    if found.conversations is not None:
        lines.append(f"{counted(found.conversations, 'conversation')}, {counted(found.messages or 0, 'message')}")
    return _lines("store", found.path, *lines)


def problems_text(problems: Problems) -> Table:
    """Write what was mended and what is left, or that nothing is wrong."""
    lines = [Text.assemble(("fixed ", "green"), _problem(problem)) for problem in problems.fixed]
    lines += [Text.assemble(("wrong ", "bold red"), _problem(problem), _remedy(problem)) for problem in problems.left]
    return _lines("problems", *(lines or [Text("none", "green")]))


def model_text(found: ModelFinding) -> Table:
    """Write which model a chat would use, and why."""
    if found.name is None:
        return _lines("model", Text(f"none: {clean_line(found.why)}", "yellow"), *_hint(found.hint))
    tools = "can call tools" if found.can_call_tools else "cannot call tools"
    return _lines("model", found.name, found.why, f"limit {found.limit_tokens or 0:,} tokens, {tools}")


def server_text(found: ServerFinding) -> Table:
    """Write what the Ollama server is and has."""
    if found.error is not None:
        return _lines("ollama", Text(clean_line(found.error), "dim"))
    return _lines("ollama", f"{found.address}, version {found.version}", ", ".join(found.models) or "no models")


def embedded_text(state: str) -> Table:
    """Write whether the embedded model can be used."""
    return _lines("embedded", state)


def settings_text(rows: Iterable[Mapping[str, object]]) -> Table:
    """Write the settings that are not at their default, and where each came from."""
    lines = [
        f"{row['name']} = {row['value']}, from {row['where'] or row['source']}"
        for row in rows
        if row["source"] != "default"
    ]
    return _lines("settings", *(lines or ["all at their defaults"]))


def _problem(problem: Problem) -> str:
    owner = f"{problem.conversation_id[:SHORT_ID]}: " if problem.conversation_id else ""
    return owner + clean_line(problem.what)


def _remedy(problem: Problem) -> Text:
    return Text(f"; --fix would {clean_line(problem.fix)}" if problem.fix else "; this needs a person", "dim")


def _hint(hint: str | None) -> list[Text]:
    return [Text(clean_line(hint), "dim")] if hint else []


def _lines(subject: str, *lines: str | Text) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=MARGIN, style="bold")
    table.add_column(overflow="fold")
    for number, line in enumerate(lines):
        table.add_row(subject if number == 0 else "", line if isinstance(line, Text) else Text(clean_line(line)))
    return table


def _size(size_bytes: int) -> str:
    size, unit = float(size_bytes), 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:,.0f} {_UNITS[unit]}" if unit == 0 else f"{size:,.1f} {_UNITS[unit]}"
