"""A walk under a policy, on one screen: whether it is safe, and a row a turn with tokens and what is forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from memcli.cli.cleaning import clean_line
from memcli.cli.render.palette import Detail, counted
from memcli.cli.render.sections import inside
from memcli.cli.render.words import called
from memcli.cli.walks import Walk
from memcli.memory.replay import ReplayRow
from memcli.records import Conversation

MOST_ROWS = 24
"""Rows of one walk, short of --full; in a longer one a row stands for several turns."""
MOST_PROBLEMS = 5
"""Problems that are told in words, short of a pipe."""
LONG_BAR = 20
NARROW = 100
"""Columns from which the bar is long."""


@dataclass(frozen=True, slots=True)
class ReplayView:
    """Walks as they are shown, one below another."""

    conversation: Conversation
    walks: Sequence[Walk]
    detail: Detail

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Write each verdict above its rows."""
        is_plain = self.detail == "plain"
        within = inside(options, self.detail)
        name = called(self.conversation)
        stored = counted(self.conversation.last_message_id, "message")
        yield Text.assemble((name, "bold"), (f"  {stored} walked from the first turn · nothing is changed", "dim"))
        yield Text("peak: the turn's largest call; after: what the next call would begin with", "dim")
        for walk in self.walks:
            yield Text("")
            for section in self._sections(walk, is_plain=is_plain, bar=LONG_BAR if within.max_width >= NARROW else 10):
                yield from console.render(section, within)

    def _sections(self, walk: Walk, *, is_plain: bool, bar: int) -> Iterator[RenderableType]:
        yield verdict(walk)
        if not walk.rows:
            return
        table = Table(
            box=None if is_plain else box.SIMPLE, padding=(0, 1, 0, 0) if bar < LONG_BAR else (0, 1), show_edge=False
        )
        for name in ("turn", "to", "peak"):
            table.add_column(name, justify="right", no_wrap=True)
        if not is_plain:
            table.add_column("of limit", no_wrap=True)
        for name in ("after", "summary", "verbatim", "folds", "forgotten"):
            table.add_column(name, justify="right", no_wrap=True)
        ranges = _ranges(walk.rows, is_brief=self.detail == "brief")
        for group in ranges:
            table.add_row(*_cells(group, walk.alternative.policy.limit_tokens, 0 if is_plain else bar))
        yield table
        if len(ranges) < len(walk.rows):
            yield Text(f" a row stands for {len(ranges[0])} turns; --full shows each", "dim")
        for problem in walk.problems if is_plain else walk.problems[:MOST_PROBLEMS]:
            yield Text.assemble((f" turn {problem.turn:,}: ", "bold red"), clean_line(problem.problem or ""))


def verdict(walk: Walk) -> Text:
    """Say in two lines whether a policy is safe for this conversation."""
    item, policy, peak, worst = walk.alternative, walk.alternative.policy, walk.peak, walk.worst
    what = f"memory {item.memory} · max_tokens {policy.max_tokens:,} · limit {policy.limit_tokens:,}"
    label = "" if item.label == "as it is" else f"{clean_line(item.label)}  "
    head = Text.assemble((label, "bold"), (what, "dim"), "\n")
    if not walk.rows:
        return head.append("nothing to walk: the conversation is empty")
    head.append("safe" if walk.is_safe else "not safe", "bold green" if walk.is_safe else "bold red")
    sent = peak.peak_tokens if peak is not None else 0
    turns, folds = counted(len(walk.rows), "turn"), counted(walk.folds, "fold")
    head.append(f": {turns}, at most {sent:,} tokens on a call, {folds}")
    if worst is None:
        head.append(", nothing ever forgotten")
    else:
        head.append(f", up to {counted(worst.most_forgotten, 'message')} forgotten (turn {worst.turn})", "red")
    if walk.problems:
        first = walk.problems[0]
        head.append(f", {counted(len(walk.problems), 'problem')} from turn {first.turn} on", "red")
    return head


def _ranges(rows: Sequence[ReplayRow], *, is_brief: bool) -> list[Sequence[ReplayRow]]:
    """Put neighbouring turns of a long walk together, all ranges but the last of one length: one screen shows all."""
    length = -(-len(rows) // MOST_ROWS) if is_brief else 1
    return [rows[start : start + length] for start in range(0, len(rows), length)]


def _cells(group: Sequence[ReplayRow], limit: int, bar: int) -> list[Text]:
    """Write a range of turns: the largest of its calls, the most it forgot, and how things stood at its end."""
    first, last = group[0], group[-1]
    peak, forgotten = max(row.peak_tokens for row in group), max(row.most_forgotten for row in group)
    turns = f"{last.turn:,}" if len(group) == 1 else f"{first.turn:,}–{last.turn:,}"
    cells = [Text(turns), Text(f"#{last.last_message_id}", "dim"), Text(_tokens(peak))]
    if bar:
        cells.append(_bar(peak, limit, bar))
    cells += [Text(_tokens(last.tokens)), Text(_tokens(last.summary_tokens), "yellow"), Text(f"{last.verbatim:,}")]
    return [*cells, Text(f"{last.folds:,}"), Text(f"{forgotten:,}", "bold red" if forgotten else "dim")]


def _tokens(tokens: int) -> str:
    return f"{tokens:,}" if tokens else "–"


def _bar(tokens: int, limit: int, cells: int) -> Text:
    filled = min(cells, -(-tokens * cells // limit)) if limit else 0
    return Text.assemble(("█" * filled, "green" if tokens < 0.8 * limit else "yellow"), ("░" * (cells - filled), "dim"))
