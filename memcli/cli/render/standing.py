"""The side of the picture that stands for the past: the running summary, or the compaction and the turn summaries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from rich.console import Console
from rich.text import Text

from memcli.cli.cleaning import clean, clean_line
from memcli.cli.picture import Picture
from memcli.cli.render.palette import STANDING, counted, span
from memcli.cli.render.words import percent
from memcli.memory.context import Part
from memcli.memory.prompts import SUMMARY_HEADING

MOST_LINES = 20
"""Lines the side has at most, short of --full."""
LINES_OF_COMPACTION = 8
"""Lines a compaction takes at most beside turn summaries, short of --full."""
LINES_A_SUMMARY = 3
"""Lines a turn summary, or a compaction's values, takes at most, short of --full."""


def standing_parts(picture: Picture) -> list[Part]:
    """Take the parts that stand for what was before the ongoing turn, in the order the model sees them."""
    fixed = takewhile(lambda part: part.source != "new", picture.context.parts)
    return [part for part in fixed if part.source in STANDING]


def is_recap(part: Part, picture: Picture) -> bool:
    """Tell whether a part stands for the middle of the ongoing turn, and is not the compaction in force."""
    return part.source == "compaction" and (picture.summary is None or part.summary_id != picture.summary.id)


def standing_title(picture: Picture) -> str:
    """Name the side, with its tokens."""
    parts = standing_parts(picture)
    is_window = picture.context.memory == "window"
    if not parts:
        return f"no {'summary' if is_window else 'summaries'} · 0 tokens"
    tokens = counted(sum(part.tokens for part in parts), "token")
    name = f"summary s{picture.summary.id}" if is_window and picture.summary else "summaries"
    firsts = [part.first_message_id for part in parts if part.first_message_id is not None]
    lasts = [part.last_message_id for part in parts if part.last_message_id is not None]
    return f"{name} {span(min(firsts), max(lasts))} · {tokens}"


def standing_note(picture: Picture) -> str:
    """Say what it is made of, who wrote it and which share of the exact values it kept; '' without any."""
    summary = picture.summary
    told = sum(part.source == "turn_summary" for part in standing_parts(picture))
    pieces = [f"compaction s{summary.id}"] if summary and picture.context.memory == "turns" else []
    pieces += [counted(told, "turn summary")] if told else []
    made_of = " + ".join(pieces)
    if summary is None:
        return made_of
    by = f"by {clean_line(summary.model)}" + (", standing in for a model that failed" if summary.fallback else "")
    kept = f"{by} · fidelity {percent(summary.fidelity)}" if summary.fidelity is not None else by
    return f"{made_of} · {kept}" if made_of else kept


def standing_texts(picture: Picture) -> list[Text]:
    """Write it whole, a piece a part; where there is none, why."""
    parts = standing_parts(picture)
    if parts:
        return [_told(part) for part in parts]
    if picture.lacks is not None and picture.lacks.turns:
        return [Text(f"Nothing stands for the past yet: {counted(picture.lacks.turns, 'turn')} without a summary.")]
    if not picture.context.ledger.forgotten:
        return [Text("Nothing needs one: every message is in the context.")]
    return [
        Text("Nothing stands for the past: what left the window is forgotten."),
        Text("`memcli compact` folds it into a summary."),
    ]


def standing_lines(console: Console, picture: Picture, width: int, *, full: bool) -> list[Text]:
    """Wrap it; short of `full` each piece is cut, and of the turn summaries the newest that fit are kept."""
    parts = standing_parts(picture)
    if picture.context.memory == "window" or full or not parts:
        lines = _stacked([wrapped(console, text, width) for text in standing_texts(picture)])
        return lines if full else cut(lines, MOST_LINES, "--full")
    head = [part for part in parts if part.source != "turn_summary"]
    lines = _stacked([_brief(console, part, width) for part in head])
    told = [part for part in parts if part.source == "turn_summary"]
    room = MOST_LINES - len(lines) - bool(lines)
    return _stacked([lines, _newest(console, told, width, room)])


def _newest(console: Console, told: Sequence[Part], width: int, room: int) -> list[Text]:
    lines: list[Text] = []
    for place, part in enumerate(reversed(told)):
        shown = _brief(console, part, width)
        rest = told[: len(told) - place]
        if lines and len(lines) + len(shown) > room - (len(rest) > 1):
            tokens = counted(sum(item.tokens for item in rest), "token")
            return [Text(f"… {counted(len(rest), 'earlier summary')}, {tokens}", "dim", no_wrap=True), *lines]
        lines = [*shown, *lines]
    return lines


def _brief(console: Console, part: Part, width: int) -> list[Text]:
    return cut(
        wrapped(console, _told(part), width), LINES_OF_COMPACTION if part.source == "compaction" else LINES_A_SUMMARY
    )


def _told(part: Part) -> Text:
    """Write one part: its text, and for a turn summary which it is."""
    text = clean(part.text.removeprefix(f"{SUMMARY_HEADING}\n"))
    if text.startswith("[[harness "):  # the line we put there ourselves: the title says it
        text = text.partition("\n")[2]
    if part.source != "turn_summary":
        return Text(text)
    ids = span(part.first_message_id, part.last_message_id)
    flag = (" [word for word: the model could not]", "yellow") if "word for word" in part.why else ""
    return Text.assemble((f"s{part.summary_id} {ids}", "bold yellow"), flag, " ", text)


def _stacked(pieces: Sequence[Sequence[Text]]) -> list[Text]:
    """Put a blank line between pieces that are there."""
    lines: list[Text] = []
    for piece in pieces:
        if lines and piece:
            lines.append(Text())
        lines += piece
    return lines


def wrapped(console: Console, text: Text, width: int) -> list[Text]:
    """Break a text into lines of at most `width` columns."""
    return list(text.wrap(console, max(width, 1), tab_size=4))


def cut(lines: Sequence[Text], most: int, note: str = "") -> list[Text]:
    """Keep at most so many lines, and say that there are more: how many, with a note of how to see them."""
    if len(lines) <= most:
        return list(lines)
    if note:
        return [*lines[: most - 1], Text(f"… {counted(len(lines) - most + 1, 'more line')} ({note})", "dim")]
    last = lines[most - 1].copy()
    last.rstrip()
    last.append(" …")
    return [*lines[: most - 1], last]
