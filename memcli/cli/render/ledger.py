"""Where every stored message is: verbatim, clipped, summarised, forgotten or excluded, with spans and tokens."""

from __future__ import annotations

from dataclasses import dataclass

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memcli.cli.picture import Picture
from memcli.cli.render.palette import MOST_SPANS, STANDING, STYLE_OF, counted, spans
from memcli.cli.render.standing import is_recap
from memcli.memory.spans import Spans


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of some of the messages."""

    name: str
    ids: Spans
    tokens: int
    meaning: str
    style: str


def fates(picture: Picture) -> list[Fate]:
    """List what became of the messages: `forgotten` is always said, the others where there are any."""
    ledger, outside = picture.context.ledger, picture.outside
    by_state = {"verbatim": 0, "clipped": 0}
    for part in picture.context.parts:
        if part.state in by_state and part.message is not None:
            by_state[part.state] += part.tokens
    stands = _stands(picture)
    lost = "in no form in the context" if ledger.forgotten else "every message is in the context in some form"
    listed = [
        Fate("verbatim", ledger.verbatim, by_state["verbatim"], "word for word", STYLE_OF["window"]),
        Fate("clipped", ledger.clipped, by_state["clipped"], "shortened, with a marker", "yellow"),
        Fate("summarised", ledger.summarised, outside.summarised, stands, STYLE_OF["summary"]),
        Fate(
            "forgotten",
            ledger.forgotten,
            outside.forgotten,
            lost,
            "bold red" if ledger.forgotten else STYLE_OF["window"],
        ),
        Fate("excluded", ledger.excluded, outside.excluded, "outside the total: failed, rewound or unreadable", "dim"),
    ]
    return [fate for fate in listed if fate.ids or fate.name == "forgotten"]


def _stands(picture: Picture) -> str:
    """Say what stands for the summarised messages, and what it takes."""
    standing = [part for part in picture.context.parts if part.source in STANDING]
    tokens = counted(sum(part.tokens for part in standing), "token")
    if picture.context.memory == "window":
        return f"in summary s{picture.summary.id}, {tokens}" if picture.summary else "in the summary"
    told = sum(part.source == "turn_summary" for part in standing)
    recaps = [part for part in standing if is_recap(part, picture)]
    names = [f"compaction s{picture.summary.id}"] if picture.summary else []
    names += [counted(told, "turn summary")] if told else []
    names += [f"recap s{part.summary_id}" for part in recaps]
    return f"in {' and '.join(names)}, {tokens}"


def ledger_table(picture: Picture, *, full: bool) -> Padding:
    """Lay the fates out, one a line: `forgotten: #12–#31 (20 messages, 3,410 tokens)`."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column()
    for fate in fates(picture):
        table.add_row(Text(f"{fate.name}:", fate.style), _said(fate, most=None if full else MOST_SPANS))
    return Padding(table, (0, 1), expand=False)


def _said(fate: Fate, *, most: int | None) -> Text:
    if not fate.ids:
        return Text.assemble("nothing", (f" · {fate.meaning}", "dim"))
    size = f"{counted(fate.ids.count, 'message')}, {counted(fate.tokens, 'token')}"
    return Text.assemble((spans(fate.ids, most=most), "bold"), f" ({size})", (f" · {fate.meaning}", "dim"))
