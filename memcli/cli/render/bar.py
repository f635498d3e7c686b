"""A bar of the context's limit by part, and its legend. The cells add up to the bar, the numbers to the limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.text import Text

from memcli.cli.render.palette import SEGMENT_OF, SWATCHES, Swatch
from memcli.memory.context import Context

MOST_CELLS = 100
"""A wider bar tells nothing more."""


class LimitBar:
    """The bar of one context, as wide as the terminal lets it be."""

    def __init__(self, context: Context, *, has_legend: bool = True) -> None:
        self.context = context
        self.has_legend = has_legend

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the bar and its legend; letters tell the parts apart where there is no colour."""
        sizes = segment_tokens(self.context)
        present = [swatch for swatch in SWATCHES if sizes.get(swatch.name)]
        cells = share_out([sizes[swatch.name] for swatch in present], min(options.max_width - 2, MOST_CELLS))
        has_colour = console.color_system is not None and not console.no_color
        bar = Text(no_wrap=True)
        for swatch, width in zip(present, cells, strict=True):
            bar.append((swatch.fill if has_colour else swatch.letter) * width, swatch.style)
        yield Padding(bar, (0, 1), expand=False)
        if not self.has_legend:
            return
        entries = _legend(present, sizes, self.context.limit_tokens, has_colour=has_colour)
        yield Padding(Text("\n").join(_packed(entries, options.max_width - 2)), (0, 1), expand=False)


def segment_tokens(context: Context) -> Mapping[str, int]:
    """Add a context's parts up by segment, `free` included: together they are the limit."""
    sizes: dict[str, int] = {}
    for part in context.parts:
        name = SEGMENT_OF[part.source]
        sizes[name] = sizes.get(name, 0) + part.tokens
    sizes["free"] = max(context.limit_tokens - context.tokens, 0)
    return sizes


def share_out(sizes: Sequence[int], cells: int) -> list[int]:
    """Divide cells in proportion to the sizes: they add up, and nothing that is there gets none while there is room."""
    total = sum(sizes)
    if not sizes or total <= 0:
        return [0] * len(sizes)
    least = 1 if len(sizes) <= cells else 0
    given = [max(least if size else 0, size * cells // total) for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda index: -(sizes[index] * cells % total))
    for index in by_remainder * cells:
        if sum(given) >= cells:
            break
        given[index] += 1
    while sum(given) > cells:
        given[given.index(max(given))] -= 1
    return given


def _legend(present: Sequence[Swatch], sizes: Mapping[str, int], limit: int, *, has_colour: bool) -> list[Text]:
    """Write the numbers as the sum they are, one entry a part."""
    entries: list[Text] = []
    for index, swatch in enumerate(present):
        mark = swatch.letter
        if has_colour:
            mark = "■" if swatch.fill == "█" else swatch.fill
        plus = ("+ " if index else "", "dim")
        entries.append(
            Text.assemble(plus, (mark, swatch.style), f" {swatch.name} ", (f"{sizes[swatch.name]:,}", "bold"))
        )
    return [*entries, Text.assemble(("= ", "dim"), "limit ", (f"{limit:,}", "bold"))]


def _packed(entries: Sequence[Text], width: int) -> list[Text]:
    """Put as many entries on a line as fit; none is broken."""
    lines: list[Text] = []
    for entry in entries:
        if lines and len(lines[-1]) + 1 + len(entry) <= width:
            lines[-1] = Text(" ").join([lines[-1], entry])
        else:
            lines.append(entry)
    return lines
