"""Two summaries word by word: colours where there are some, plain marks where there are none, as `git diff` has them.

Source of the marks: `git diff --word-diff=plain`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from memcli.cli.cleaning import clean, clean_line
from memcli.cli.render.palette import counted, span
from memcli.cli.render.summaries import VALUES_SEPARATOR
from memcli.cli.render.words import percent
from memcli.memory.word_diff import Piece, PieceKind, SummaryDiff
from memcli.records import Summary

STYLES: Mapping[PieceKind, str] = {"same": "", "removed": "red strike", "added": "green underline"}
MARKS: Mapping[PieceKind, tuple[str, str]] = {"same": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}")}


@dataclass(frozen=True, slots=True)
class Difference:
    """The texts of two summaries as one, and the values that came and went."""

    before: Summary
    after: Summary
    found: SummaryDiff

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Write both heads, the text, and the values."""
        has_colour = console.color_system is not None and not console.no_color
        yield _head(self.before, "removed", has_colour=has_colour)
        yield _head(self.after, "added", has_colour=has_colour)
        yield Text()
        yield _text(self.found.pieces, has_colour=has_colour)
        yield Text()
        yield _values("values gained", "green", self.found.gained)
        yield _values("values lost", "red", self.found.lost)


def difference_view(before: Summary, after: Summary, found: SummaryDiff) -> Difference:
    """Show how one summary differs from another."""
    return Difference(before, after, found)


def _head(summary: Summary, kind: PieceKind, *, has_colour: bool) -> Text:
    sign = "-" if kind == "removed" else "+"
    kept = "" if summary.fidelity is None else f", fidelity {percent(summary.fidelity)}"
    shown = Text.assemble((f"{sign} s{summary.id}", f"bold {STYLES[kind].split()[0]}" if has_colour else "bold"))
    covers = span(summary.first_message_id, summary.last_message_id)
    shown.append(f"  {summary.kind} over {covers}, {counted(summary.tokens, 'token')}{kept}")
    return shown


def _text(pieces: Sequence[Piece], *, has_colour: bool) -> Text:
    if all(piece.kind == "same" for piece in pieces):
        return Text("both say the same, word for word", "dim")
    shown = Text()
    for piece in pieces:
        words = clean(piece.text)
        if has_colour or piece.kind == "same":
            shown.append(words, STYLES[piece.kind])
        else:
            shown.append(_marked(words, MARKS[piece.kind]))
    return shown


def _marked(words: str, marks: tuple[str, str]) -> str:
    """Put marks around words, and the white space beside them outside."""
    bare = words.strip()
    if not bare:
        return words
    before, after = words[: words.index(bare)], words[words.index(bare) + len(bare) :]
    return f"{before}{marks[0]}{bare}{marks[1]}{after}"


def _values(label: str, style: str, values: Sequence[str]) -> Text:
    named = Text(VALUES_SEPARATOR).join(Text(clean_line(value), style) for value in values)
    return Text.assemble((f"{label}: ", "bold"), named if values else ("none", "dim"))
