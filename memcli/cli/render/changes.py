"""What changed between two contexts, on a screen: the tokens by source, the messages by fate, the parts one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memcli.cli.cleaning import clean_line
from memcli.cli.render.palette import MOST_SPANS, ROLE_NAMES, SEGMENT_OF, STYLE_OF, Detail, counted, ids_of, spans
from memcli.cli.render.parts import said_by
from memcli.cli.render.sections import inside, spaced
from memcli.cli.render.words import called
from memcli.memory.changes import ChangedPart, Changes, PartChange
from memcli.memory.context import Part
from memcli.memory.spans import Spans
from memcli.memory.travel import Moment
from memcli.records import Conversation

EXCERPT = 200
"""Characters of a part that are shown at most; a terminal cuts it shorter."""
_MARKS: Mapping[PartChange, tuple[str, str]] = {
    "added": ("+", "green"),
    "dropped": ("−", "red"),
    "changed": ("~", "yellow"),
}


@dataclass(frozen=True, slots=True)
class ChangesView:
    """What changed, as it is shown."""

    conversation: Conversation
    before: Moment
    after: Moment
    changed: Changes
    span_tokens: Mapping[str, int]
    detail: Detail

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw every section, a blank line between two."""
        is_plain = self.detail == "plain"
        sections: list[RenderableType] = [self._heading()]
        if not self.changed.is_empty:
            sections += [self._fates(), self._sources(is_plain=is_plain), self._parts(is_plain=is_plain)]
        yield from spaced(console, inside(options, self.detail), sections)

    def _heading(self) -> Text:
        name = called(self.conversation)
        shown = Text.assemble((name, "bold"), f"  {self.before.label} → {self.after.label}")
        if self.changed.is_empty:
            return shown.append("\nnothing is different")
        was, now = self.changed.tokens_before, self.changed.tokens_after
        shown.append(f"\n{was:,} → {now:,} tokens, ")
        return shown.append_text(_delta(self.changed.tokens))

    def _fates(self) -> Padding:
        """Say which messages stand elsewhere now: `summarised: #1–#20 (20 messages, 2,310 tokens)`."""
        table = Table.grid(padding=(0, 1))
        table.add_column(no_wrap=True)
        table.add_column()
        for name, ids, style, meaning in _fates(self.changed):
            size = counted(ids.count, "message")
            if name in self.span_tokens:
                size += f", {counted(self.span_tokens[name], 'token')}"
            most = MOST_SPANS if self.detail == "brief" else None
            said = Text.assemble((spans(ids, most=most), "bold"), f" ({size})", (f" · {meaning}", "dim"))
            table.add_row(Text(f"{name}:", style), said)
        if not table.row_count:
            table.add_row("", Text("every message stands where it stood", "dim"))
        return Padding(table, (0, 1), expand=False)

    def _sources(self, *, is_plain: bool) -> Table:
        table = Table(box=None if is_plain else box.SIMPLE, padding=(0, 1), show_edge=False, show_footer=True)
        changed = self.changed
        table.add_column("source", Text("total", "bold"), no_wrap=True)
        table.add_column("before", Text(f"{changed.tokens_before:,}", "bold"), justify="right", no_wrap=True)
        table.add_column("after", Text(f"{changed.tokens_after:,}", "bold"), justify="right", no_wrap=True)
        table.add_column("change", _delta(changed.tokens), justify="right", no_wrap=True)
        for row in changed.sources:
            style = STYLE_OF[SEGMENT_OF[row.source]]  # type: ignore[index]
            name = Text("window" if row.source == "message" else row.source.replace("_", " "), style)
            table.add_row(name, f"{row.before:,}", f"{row.after:,}", _delta(row.after - row.before))
        return table

    def _parts(self, *, is_plain: bool) -> Table:
        table = Table.grid(padding=(0, 1), expand=not is_plain)
        for justify in ("left", "left", "left", "right"):
            table.add_column(no_wrap=True, justify=justify)
        table.add_column(no_wrap=True, ratio=None if is_plain else 1, overflow="ellipsis")
        for group in _groups(self.changed.parts, joined=self.detail == "brief"):
            table.add_row(*_cells(group))
        return table


def _fates(changed: Changes) -> list[tuple[str, Spans, str, str]]:
    listed = [
        ("added", changed.added, "green", "shown now, and not before"),
        ("summarised", changed.summarised, STYLE_OF["summary"], "a summary stands for them now"),
        ("clipped", changed.clipped, "yellow", "shortened now"),
        ("dropped", changed.dropped, "bold red", "in no form any more"),
        ("excluded", changed.excluded, "dim", "outside every context now"),
    ]
    return [fate for fate in listed if fate[1]]


def _groups(parts: Sequence[ChangedPart], *, joined: bool) -> list[list[ChangedPart]]:
    """Put neighbours of one kind and source together; one by one otherwise."""
    if not joined:
        return [[part] for part in parts]
    return [list(group) for _, group in groupby(parts, key=lambda item: (item.kind, item.part.source))]


def _cells(group: Sequence[ChangedPart]) -> tuple[Text, Text, Text, Text, Text]:
    first = group[0]
    mark, style = _MARKS[first.kind]
    parts = [item.part for item in group]
    tokens = sum(item.tokens for item in group)
    return Text(mark, f"bold {style}"), _name(parts), Text(_ids(parts), "bold"), _delta(tokens), _said(group)


def _name(parts: Sequence[Part]) -> Text:
    part = parts[0]
    name = part.source.replace("_", " ")
    if part.summary_id is not None and len(parts) == 1:
        name += f" s{part.summary_id}"
    elif len(parts) > 1:
        name = counted(len(parts), "turn summary" if part.source == "turn_summary" else name)
    return Text(name, STYLE_OF[SEGMENT_OF[part.source]])


def _ids(parts: Sequence[Part]) -> str:
    if all(part.message is not None for part in parts):
        return ids_of(parts)
    firsts = [part.first_message_id for part in parts if part.first_message_id is not None]
    lasts = [part.last_message_id for part in parts if part.last_message_id is not None]
    return spans(Spans.of([(min(firsts), max(lasts))])) if firsts and lasts else ""


def _said(group: Sequence[ChangedPart]) -> Text:
    """Say what the part says, or how it changed; of several the first and the last."""
    first = group[0]
    before, after = first.before, first.after
    if len(group) == 1 and before is not None and after is not None and before.state != after.state:
        return Text(f"{before.state} → {after.state}", "dim")
    return Text(_excerpt(first.part), "dim")


def _excerpt(part: Part) -> str:
    if part.message is None:
        text = part.text.partition("\n")[2] if part.text.startswith("[[") else part.text  # a recall's metadata line
        return clean_line((text or part.why)[:EXCERPT])
    role = ROLE_NAMES.get(part.message.role, part.message.role)
    return f"{role}: {clean_line(said_by(part)[:EXCERPT])}"


def _delta(tokens: int) -> Text:
    """Write a difference with its sign: more tokens are neither good nor bad, so it has no colour."""
    sign = "+" if tokens > 0 else "−" if tokens < 0 else "±"
    return Text(f"{sign}{abs(tokens):,}", "bold")
