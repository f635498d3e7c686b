"""Summaries as trees: beside each what it folded or was folded into, what it stands for, what it cost and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from memcli.cli.cleaning import clean, clean_line
from memcli.cli.render.palette import counted, span
from memcli.cli.render.proposal import edited_line
from memcli.cli.render.summaries import cost_line, values_line
from memcli.memory.lineage import Descent
from memcli.records import MemoryModel, SummaryKind

_MEMORY_OF: dict[SummaryKind, MemoryModel] = {
    "running": "window", "turn": "turns", "compaction": "turns", "recap": "turns"
}  # fmt: skip
_FATE_STYLES = {
    "in force": "bold green",
    "superseded": "dim",
    "proposed": "cyan",
    "undone": "yellow",
    "rewound": "yellow",
}


@dataclass(frozen=True, slots=True)
class Lineage:
    """Trees one below another, each ending with what nothing took the place of."""

    descents: Sequence[Descent]
    memory: MemoryModel
    """The one the conversation is kept under."""
    full: bool
    """Also show the whole text of what was superseded; else its first line."""
    is_plain: bool
    """Wrap nothing: for pipes."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Write every summary behind its mark, a blank line after each that is told in full."""
        for descent in self.descents:
            mark, rail = _marks(descent)
            for place, line in enumerate(self._lines(console, descent, options.max_width - len(mark))):
                yield Text.assemble((mark if place == 0 else rail, "dim"), line, no_wrap=True, overflow="ignore")

    def _lines(self, console: Console, descent: Descent, width: int) -> list[Text]:
        text = head_text(descent, self.memory)
        is_whole = self.full or self.is_plain or descent.fate in ("in force", "proposed")
        if is_whole:
            text = Text("\n").join([text, *_body(descent), Text()])
        lines = text.split("\n", allow_blank=True) if self.is_plain else text.wrap(console, max(width, 1), tab_size=4)
        if not is_whole:
            excerpt = Text(clean_line(str(descent.summary.details.get("user") or descent.summary.text)), "dim")
            excerpt.truncate(max(width, 1), overflow="ellipsis")
            return [*lines, excerpt] if excerpt.plain else list(lines)
        return list(lines)


def lineage_view(
    descents: Sequence[Descent], memory: MemoryModel, *, full: bool, is_plain: bool = False
) -> Lineage:  # fmt: skip
    """Show summaries as trees."""
    return Lineage(descents, memory, full, is_plain)


def head_text(descent: Descent, memory: MemoryModel) -> Text:
    """Write which summary it is, whether it counts, and over what."""
    summary = descent.summary
    name = "cleared" if descent.is_cleared else {"turn": "turn summary"}.get(summary.kind, summary.kind)
    shown = Text.assemble((f"s{summary.id}", "bold"), " ", (name, "bold yellow"))
    shown.append(f"  {_fate(descent, memory)}", _FATE_STYLES.get(descent.fate, "dim"))
    shown.append(f"  {_covers(descent)}")
    if made := _made_of(descent):
        shown.append(f", {made}", "dim")
    return shown


def _fate(descent: Descent, memory: MemoryModel) -> str:
    if descent.fate == "superseded" and descent.into is not None:
        return f"folded into s{descent.into}" if descent.is_branch else f"superseded by s{descent.into}"
    belongs = _MEMORY_OF[descent.summary.kind]
    if descent.fate == "in force" and belongs != memory:
        return f"in force under memory {belongs}"
    return {"rewound": "its turn was taken back", "ended": "its turn is over"}.get(descent.fate, descent.fate)


def _covers(descent: Descent) -> str:
    summary = descent.summary
    ids = span(summary.first_message_id, summary.last_message_id)
    turns = _turns(descent.turns)
    if descent.is_cleared:
        return f"drops {ids}{f', {turns}' if turns else ''}"
    if summary.kind in ("turn", "recap"):
        return f"{f'of {turns}, ' if turns else ''}{ids}"
    return f"covers {ids}{f', {turns}' if turns else ''}"


def _turns(turns: tuple[int, int] | None) -> str:
    if turns is None:
        return ""
    return f"turn {turns[0]}" if turns[0] == turns[1] else f"turns {turns[0]}–{turns[1]}"


def _made_of(descent: Descent) -> str:
    summary = descent.summary
    onto = f" onto s{summary.parent_id}" if summary.parent_id is not None and summary.kind != "turn" else ""
    if descent.folds:
        folds = span(min(descent.folds), max(descent.folds)).replace("#", "s")
        return f"folded {counted(len(descent.folds), 'turn summary')} ({folds}){onto}"
    if summary.kind == "turn":
        return f"made again after s{summary.parent_id}" if summary.parent_id is not None else ""
    return f"folded {span(*descent.folded)}{onto}" if onto else ""


def _body(descent: Descent) -> list[Text]:
    summary = descent.summary
    lines = [Text(cost_line(summary), "dim")] if not descent.is_cleared else []
    if summary.fallback and summary.kind == "turn":
        lines.append(Text("[a fallback: the model could not, so the words stand as they were said]", "yellow"))
    elif summary.fallback:
        lines.append(Text("[a fallback: the model kept failing, so sentences were quoted instead]", "yellow"))
    if descent.is_cleared:
        lines.append(Text("[nothing stands for them: on_full = clear dropped what was summarised]", "yellow"))
    if by_hand := edited_line(summary):
        lines.append(Text(f"[{by_hand}]", "dim"))
    if summary.instructions:
        lines.append(Text(f"[asked for: {clean_line(summary.instructions)}]", "dim"))
    if summary.text.strip():
        lines.append(Text(clean(summary.text).strip()))
    return [*lines, values_line(summary)] if summary.values else lines


def _marks(descent: Descent) -> tuple[str, str]:
    """Draw the mark before a summary's first line, and the rail before its others."""
    if descent.is_branch:
        return ("┌─ " if descent.is_first else "├─ "), "│  "
    if descent.is_root:
        return ("○  " if descent.is_first else "●  "), "   "
    return "●  ", "│  "
