"""What was typed is kept for its owner alone."""

from __future__ import annotations

import stat
from pathlib import Path

from prompt_toolkit.history import InMemoryHistory

from memcli.cli.repl.history import open_history


def test_the_file_and_its_directory_are_their_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "prompt_history"

    open_history(path).store_string("hello")

    modes = [stat.S_IMODE(place.stat().st_mode) for place in (path, path.parent)]
    assert modes == [0o600, 0o700]


def test_what_was_typed_comes_back_newest_first(tmp_path: Path) -> None:
    path = tmp_path / "prompt_history"
    for text in ("first", "two\nlines", "lone \ud800"):
        open_history(path).store_string(text)

    assert list(open_history(path).load_history_strings()) == ["lone ?", "two\nlines", "first"]


def test_where_no_file_can_be_made_history_is_kept_in_memory(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")

    assert isinstance(open_history(tmp_path / "taken" / "prompt_history"), InMemoryHistory)
