"""`memcli config`: every setting, its value, and which of the five sources it came from."""

from __future__ import annotations

from pathlib import Path

import pytest

from memcli.config import describe
from tests.cli.conftest import Run
from tests.cli.terminals import Outcome


def test_every_setting_is_shown_in_its_order(run: Run) -> None:
    lines = run("config").out.splitlines()
    assert [line.split()[0] for line in lines] == ["setting", *(name for name, _, _ in describe())]
    assert "max_tokens           3000    default  the window's budget in tokens" in lines


def test_a_value_says_which_source_won(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "config").mkdir()
    (home / "config" / "config.toml").write_text("model = 'a'\nmax_tokens = 1\nthreads = 1\nmax_rounds = 1\n")
    (home / ".memcli.toml").write_text("model = 'b'\nmax_tokens = 2\nthreads = 2\n")
    monkeypatch.setenv("MEMCLI_MODEL", "c")
    monkeypatch.setenv("MEMCLI_MAX_TOKENS", "3")
    rows = run("config", "--model", "d", "--json").document["settings"]
    assert isinstance(rows, list)
    chosen = [(row["name"], row["value"], row["source"], row["where"]) for row in rows if row["source"] != "default"]
    assert chosen == [
        ("model", "d", "flag", None),
        ("max_tokens", 3, "environment", "MEMCLI_MAX_TOKENS"),
        ("max_rounds", 1, "user", str(home / "config" / "config.toml")),
        ("threads", 2, "project", str(home / ".memcli.toml")),
    ]


def test_path_shows_where_files_are(run: Run, home: Path) -> None:
    paths = {
        "store": f"{home}/data/memcli.db", "user_config": f"{home}/config/config.toml", "project_config": None,
        "prompt_history": f"{home}/state/prompt_history",
    }  # fmt: skip
    assert run("config", "path", "--json").document == {"version": 1, "paths": paths}
    assert run("config", "path").out.splitlines() == [
        f"store           {home}/data/memcli.db  (not there)",
        f"user_config     {home}/config/config.toml  (not there)",
        "project_config  none",
        f"prompt_history  {home}/state/prompt_history  (not there)",
    ]


def test_anything_but_path_is_refused(run: Run) -> None:
    said = "error: invalid value for 'path': 'paths' is not one of path\nhint: run `memcli config --help`\n"
    assert run("config", "paths") == Outcome(2, "", said)


def test_a_value_with_controls_in_it_is_shown_clean(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCLI_SYSTEM_PROMPT", "\x1b[31mred\x07")
    assert "red\ufffd" in run("config").out
    assert "\x1b" not in run("config").out
