"""`memcli context --svg` and `--html`: what would be shown, as a file."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.conversations import add_chat, add_turn, said
from tests.cli.stories import EVIL

VIEWS = (
    (),
    ("--find", "depot"),
    ("--at", "3"),
    ("--diff", "m3", "next"),
    ("--compare", "max_tokens=100"),
    ("--replay",),
)


@pytest.fixture(autouse=True)
def parcels(store: Store) -> None:
    add_chat(store, "parcels", 4)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: " ".join(view) or "picture")
def test_every_screen_is_saved_and_where_it_went_is_said(run: Run, home: Path, view: tuple[str, ...]) -> None:
    outcome = run("context", "parcels", *view, "--svg", "shown.svg", "--html", "shown.html")

    assert (outcome.code, outcome.out) == (0, "saved shown.svg\nsaved shown.html\n")
    image = ElementTree.fromstring((home / "shown.svg").read_text(encoding="utf-8"))
    assert image.tag == "{http://www.w3.org/2000/svg}svg"
    assert "parcels" in (home / "shown.html").read_text(encoding="utf-8")


def test_a_file_that_is_there_is_not_overwritten_unless_asked(run: Run, home: Path) -> None:
    kept = home / "shown.svg"
    kept.write_text("mine")

    refused = run("context", "parcels", "--svg", "shown.svg")

    assert (refused.code, refused.out, kept.read_text()) == (2, "", "mine")
    assert refused.err == (
        "error: shown.svg is there already\nhint: name another file, or overwrite it with -y\n"
    )  # fmt: skip
    assert run("context", "parcels", "--svg", "shown.svg", "-y").code == 0
    assert kept.read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--json", "--svg", "a.svg"), "--svg saves a picture, and --json prints none"),
        (("--raw", "--html", "a.html"), "--html saves a picture, and --raw prints none"),
    ],
)
def test_what_prints_no_picture_saves_none(
    run: Run, home: Path, flags: tuple[str, ...], message: str
) -> None:  # fmt: skip
    outcome = run("context", "parcels", *flags)

    assert (outcome.code, message in outcome.out + outcome.err) == (2, True)
    assert [path.name for path in home.iterdir() if path.suffix in (".svg", ".html")] == []


def test_a_folder_that_is_not_there_is_named(run: Run) -> None:
    outcome = run("context", "parcels", "--svg", "nowhere/shown.svg")

    assert (outcome.code, outcome.err) == (1, "error: nowhere/shown.svg: No such file or directory\n")


def test_markup_in_messages_is_text_in_a_file(run: Run, home: Path, store: Store) -> None:
    add_turn(store, store.conversations.create(name="evil"), said("human", f"<script>alert(1)</script> {EVIL}"))

    run("context", "evil", "--svg", "evil.svg", "--html", "evil.html")

    for name in ("evil.svg", "evil.html"):
        text = (home / name).read_text(encoding="utf-8")
        assert "<script>" not in text
        assert "\x1b" not in text


def test_a_saved_picture_is_the_same_every_time(run: Run, home: Path) -> None:
    run("context", "parcels", "--svg", "one.svg")
    run("context", "parcels", "--svg", "two.svg")

    assert (home / "one.svg").read_bytes() == (home / "two.svg").read_bytes()
