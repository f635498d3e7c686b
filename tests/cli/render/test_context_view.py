from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from memcli.cli.picture import Picture, take
from memcli.cli.render.bar import segment_tokens, share_out
from memcli.cli.render.context import ContextView
from memcli.cli.render.palette import Detail, spans
from memcli.cli.render.parts import rows
from memcli.memory.context import Policy
from memcli.memory.running import settle
from memcli.memory.spans import Spans
from memcli.memory.summarizer import ExtractiveSummarizer
from memcli.store import Store
from tests.cli.conversations import add_chat, add_turn, said

POLICY = Policy(max_tokens=300)


@pytest.fixture
def picture(tmp_path: Path) -> Picture:
    """A conversation with a summary, a gap that is forgotten, a failed turn, and a window."""
    with Store(tmp_path / "view.db") as store:
        made = add_chat(store, "parcels", 12)
        settle(store, made, POLICY, ExtractiveSummarizer(), if_needed=False)
        add_turn(store, made, said("human", "A question that failed"), status="failed")
        for number in range(13, 33):
            answer = f"Depot {number} sent parcels."
            add_turn(store, made, said("human", f"And what did depot {number} send?"), said("ai", answer))
        return take(store, store.conversations.get(made.id), POLICY)


def _shown(picture: Picture, width: int, *, detail: Detail = "brief", color: bool = False) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=color, color_system="standard" if color else None, markup=False,
        highlight=False, emoji=False,
    )  # fmt: skip
    console.print(ContextView(picture, detail))
    return stream.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal(picture: Picture, width: int) -> None:
    assert max(map(len, _shown(picture, width).splitlines())) <= width


def test_the_picture_names_what_is_summarised_forgotten_and_excluded(picture: Picture) -> None:
    lines = [line.strip() for line in _shown(picture, 120).splitlines()]
    outside, summary = picture.outside, picture.context.parts[0].tokens + picture.context.parts[1].tokens
    held = f"24 messages, {outside.summarised:,} tokens"
    assert f"summarised: #1–#24 ({held}) · in summary s1, {summary:,} tokens" in lines
    assert f"forgotten:  #26–#39 (14 messages, {outside.forgotten:,} tokens) · in no form in the context" in lines
    assert "excluded:   #25 (1 message, 10 tokens) · outside the total: failed, rewound or unreadable" in lines


def test_the_summary_and_the_window_stand_side_by_side_with_their_tokens(picture: Picture) -> None:
    titles = [line for line in _shown(picture, 100).splitlines() if "╭─ summary s1" in line]
    parts = picture.context.parts
    summary, window = parts[0].tokens + parts[1].tokens, picture.context.window_tokens
    assert len(titles) == 1
    assert f"summary s1 #1–#24 · {summary} tokens" in titles[0]
    assert f"window #40–#65 · {window} tokens" in titles[0]


def test_the_two_are_stacked_where_it_is_narrow(picture: Picture) -> None:
    titles = [line[:10] for line in _shown(picture, 60).splitlines() if line.startswith("╭─")]
    assert titles == ["╭─ summary", "╭─ window "]


def test_the_bars_numbers_add_up_to_the_limit_and_the_legend_says_them(picture: Picture) -> None:
    sizes = segment_tokens(picture.context)
    assert sum(sizes.values()) == picture.context.limit_tokens
    legend = " + ".join(f"{letter} {name} {sizes[name]:,}" for name, letter in (
        ("summary", "m"), ("values", "v"), ("window", "w"), ("free", "."), ("reserve", "r"),
    ))  # fmt: skip
    assert f" {legend} = limit 8,192" in [line.rstrip() for line in _shown(picture, 120).splitlines()]


def test_the_tables_rows_add_up_to_its_total(picture: Picture) -> None:
    listed = rows(picture.context.parts, detail="brief", max_tokens=300)
    assert sum(row.tokens for row in listed if not row.is_inner) == picture.context.tokens
    assert sum(row.tokens for row in listed if row.is_inner) == picture.context.window_tokens


def test_a_long_window_is_counted_in_its_middle_and_shown_whole_with_full(picture: Picture) -> None:
    brief = rows(picture.context.parts, detail="brief", max_tokens=300)
    assert [row.ids for row in brief if row.is_inner] == [
        "#40–#41", "#42–#43", "#44–#55", "#56–#57", "#58–#59", "#60–#61", "#62–#63", "#64–#65",
    ]  # fmt: skip
    full = rows(picture.context.parts, detail="full", max_tokens=300)
    assert [row.ids for row in full if row.is_inner] == [f"#{id}" for id in range(40, 66)]
    assert "more line" not in _shown(picture, 100, detail="full")


def test_colour_fills_the_bar_and_without_it_letters_do(picture: Picture) -> None:
    plain, coloured = _shown(picture, 100), _shown(picture, 100, color=True)
    assert "\x1b" not in plain
    assert "█" not in plain
    assert "█" in coloured


def test_nothing_forgotten_is_said_plainly(tmp_path: Path) -> None:
    with Store(tmp_path / "view.db") as store:
        picture = take(store, add_chat(store, "parcels", 2), Policy())
    shown = _shown(picture, 100)
    assert " forgotten: nothing · every message is in the context in some form" in map(str.rstrip, shown.splitlines())
    assert "next fold: 8 more messages from you" in shown


def test_an_empty_conversation_is_a_picture_too(tmp_path: Path) -> None:
    with Store(tmp_path / "view.db") as store:
        picture = take(store, store.conversations.create(name="empty"), Policy())
    shown = _shown(picture, 80)
    assert "empty window · 0 tokens" in shown
    assert "forgotten: nothing" in shown


def test_hostile_text_is_shown_clean_and_never_as_markup(tmp_path: Path) -> None:
    text = "[bold]loud[/bold] \x1b[31mred\x1b]52;c;aGk=\x07 \u202egnp"
    with Store(tmp_path / "view.db") as store:
        made = store.conversations.create(name="na\x1b[2Jme", system_prompt=text)
        add_turn(store, made, said("human", text), said("ai", "x" * 3000))
        picture = take(store, store.conversations.get(made.id), Policy())
    for width in (60, 100):
        shown = _shown(picture, width)
        assert "[bold]loud[/bold] red" in shown
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_a_clipped_turn_with_a_gap_shows_the_gap(tmp_path: Path) -> None:
    with Store(tmp_path / "view.db") as store:
        made = store.conversations.create(name="long-turn")
        answers = [said("ai", f"Step {number} of the repair is done. " * 20) for number in range(1, 9)]
        add_turn(store, made, said("human", "Please repair it."), *answers)
        picture = take(store, store.conversations.get(made.id), Policy(max_tokens=150))
    listed = rows(picture.context.parts, detail="brief", max_tokens=150)
    assert [(row.label, row.ids) for row in listed] == [
        ("window", "#1, #7–#9"), ("turn", "#1, #7–#9"), ("reserve", "–"),
    ]  # fmt: skip
    assert "window #1, #7–#9 · " in _shown(picture, 100)


@given(st.lists(st.integers(1, 100_000), min_size=1, max_size=9), st.integers(9, 200))
def test_a_bars_cells_add_up_and_nothing_that_is_there_gets_none(sizes: list[int], cells: int) -> None:
    given_cells = share_out(sizes, cells)
    assert sum(given_cells) == cells
    assert min(given_cells) >= 1


def test_many_spans_are_counted_after_the_first_few() -> None:
    ids = Spans.of([(1, 2), (4, 4), (6, 9), (11, 11), (13, 13), (20, 30)])
    assert spans(ids) == "#1–#2, #4, #6–#9, #11, and 2 more spans"
    assert spans(ids, most=None) == "#1–#2, #4, #6–#9, #11, #13, #20–#30"
