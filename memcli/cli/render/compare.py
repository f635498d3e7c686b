"""Policies side by side, on a screen: a bar of the limit each, their numbers in columns, and what each would forget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memcli.cli.cleaning import clean_line
from memcli.cli.render.bar import LimitBar
from memcli.cli.render.palette import MOST_SPANS, SEGMENT_OF, STYLE_OF, Detail, counted, spans
from memcli.cli.render.sections import inside, spaced
from memcli.cli.render.words import called
from memcli.cli.sides import Side
from memcli.memory.context import Context, Source
from memcli.records import Conversation

LABEL_COLUMNS = 14
SIDE_COLUMNS = 16
"""Columns a policy takes at least; what does not fit beside the others goes below."""


@dataclass(frozen=True, slots=True)
class CompareView:
    """The sides as they are shown."""

    conversation: Conversation
    sides: Sequence[Side]
    detail: Detail

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the bars, the columns and the verdicts, a blank line between two."""
        is_plain = self.detail == "plain"
        within = inside(options, self.detail)
        sections: list[RenderableType] = [self._heading()]
        if not is_plain:
            sections.append(Group(*(_bar(side) for side in self.sides if side.context is not None)))
        at_once = len(self.sides) if is_plain else max(1, (within.max_width - LABEL_COLUMNS) // SIDE_COLUMNS - 1)
        others = self.sides[1:]
        for start in range(0, max(len(others), 1), max(at_once, 1)):
            chunk = [self.sides[0], *others[start : start + at_once]]
            sections.append(_columns(chunk, is_plain=is_plain))
        sections.append(self._verdicts())
        yield from spaced(console, within, sections)

    def _heading(self) -> Text:
        name = called(self.conversation)
        stored = counted(self.conversation.last_message_id, "message")
        return Text.assemble((name, "bold"), (f"  nothing is changed · {stored} stored", "dim"))

    def _verdicts(self) -> Padding:
        table = Table.grid(padding=(0, 1))
        table.add_column(no_wrap=len(self.sides) < 4, overflow="ellipsis")
        table.add_column()
        most = MOST_SPANS if self.detail == "brief" else None
        for place, side in enumerate(self.sides):
            table.add_row(Text(f"{clean_line(side.label)}:", "bold"), _verdict(side, is_first=place == 0, most=most))
        return Padding(table, (0, 1), expand=False)


def _bar(side: Side) -> RenderableType:
    assert side.context is not None
    table = Table.grid()
    table.add_row(Padding(Text(clean_line(side.label), "bold"), (0, 1)))
    table.add_row(LimitBar(side.context, has_legend=False))
    return table


def _columns(sides: Sequence[Side], *, is_plain: bool) -> Table:
    table = Table(box=None if is_plain else box.SIMPLE, padding=(0, 1), show_edge=False)
    table.add_column("", no_wrap=True)
    for side in sides:
        table.add_column(Text(clean_line(side.label)), justify="right", overflow="fold")
    for name, style, tell in _rows(sides):
        cells = [tell(side) for side in sides]
        if any(cell.plain not in ("", "–") for cell in cells):
            table.add_row(Text(name, style), *cells)
    return table


_Tell = Callable[[Side], Text]


def _rows(sides: Sequence[Side]) -> list[tuple[str, str, _Tell]]:
    """List the rows: the policy, the tokens by part, the messages by fate, the next fold."""
    listed: list[tuple[str, str, _Tell]] = [
        ("memory", "", lambda side: Text(side.outcome.alternative.memory)),
        ("max_tokens", "", lambda side: Text(f"{side.outcome.alternative.policy.max_tokens:,}")),
        ("limit", "", lambda side: Text(f"{side.outcome.alternative.policy.limit_tokens:,}")),
    ]
    sources = dict.fromkeys(source for side in sides for source, _ in side.outcome.tokens_by_source)
    listed += [(_part_name(source), STYLE_OF[SEGMENT_OF[source]], _of_source(source)) for source in sources]  # type: ignore[index,arg-type]
    listed += [
        ("to send", "bold", _seen(lambda context: context.prompt_tokens)),
        ("estimate", "", lambda side: Text(f"≈{side.estimate.tokens:,}") if side.estimate else Text("–")),
        ("free", "dim", _seen(lambda context: max(context.limit_tokens - context.tokens, 0))),
        ("verbatim", STYLE_OF["window"], _seen(lambda context: context.ledger.verbatim.count)),
        ("clipped", "yellow", _seen(lambda context: context.ledger.clipped.count)),
        ("summarised", STYLE_OF["summary"], _seen(lambda context: context.ledger.summarised.count)),
        ("forgotten", "bold red", _seen(lambda context: context.ledger.forgotten.count)),
        ("next fold", "", _fold),
    ]
    return listed


def _part_name(source: str) -> str:
    return "window" if source == "message" else source.replace("_", " ")


def _of_source(source: Source) -> _Tell:
    def tell(side: Side) -> Text:
        tokens = dict(side.outcome.tokens_by_source).get(source)
        return Text("–", "dim") if tokens is None else Text(f"{tokens:,}")

    return tell


def _seen(number: Callable[[Context], int]) -> _Tell:
    return lambda side: Text(f"{number(side.context):,}") if side.context is not None else Text("–", "dim")


def _fold(side: Side) -> Text:
    due = side.outcome.due
    if due is None:
        return Text("–", "dim")
    if due.reason:
        return Text("due at once", "yellow")
    return Text(f"in {counted(due.turns_left, 'message' if side.outcome.alternative.memory == 'window' else 'turn')}")


def _verdict(side: Side, *, is_first: bool, most: int | None) -> Text:
    """Say what a policy would forget, and what of it the first one keeps."""
    if side.context is None:
        why = side.outcome.overflow.message if side.outcome.overflow else "it does not fit"
        return Text(f"does not fit: {clean_line(why)}", "bold red")
    forgotten = side.context.ledger.forgotten
    if not forgotten:
        return Text("forgets nothing", "green")
    size = f"{counted(forgotten.count, 'message')}, {counted(side.forgotten_tokens, 'token')}"
    said = Text.assemble(("forgets ", "red"), (spans(forgotten, most=most), "bold red"), f" ({size})")
    if is_first or side.newly_forgotten == forgotten:
        return said
    if not side.newly_forgotten:
        return said.append(", nothing more than as it is", "dim")
    return said.append(f", more than as it is: {spans(side.newly_forgotten, most=most)}", "dim")
