"""Where the user's directories are: what platformdirs says, or where the user says."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from memcli.config import Settings, prompt_history_path, store_path, user_config_path


@pytest.mark.parametrize("base", [None, "", "relative/base", "/somewhere/else"])
@pytest.mark.parametrize("home", ["/home/ann", "/root/"])
def test_the_users_directories_are_where_platformdirs_says(
    monkeypatch: pytest.MonkeyPatch, home: str, base: str | None
) -> None:
    monkeypatch.setenv("HOME", home)
    for kind in ("CONFIG", "DATA", "STATE"):
        monkeypatch.delenv(f"MEMCLI_{kind}_DIR", raising=False)
        monkeypatch.delenv(f"XDG_{kind}_HOME", raising=False)
        if base is not None:
            monkeypatch.setenv(f"XDG_{kind}_HOME", base)

    assert [user_config_path(), store_path(Settings()), prompt_history_path()] == [
        platformdirs.user_config_path("memcli", appauthor=False) / "config.toml",
        platformdirs.user_data_path("memcli", appauthor=False) / "memcli.db",
        platformdirs.user_state_path("memcli", appauthor=False) / "prompt_history",
    ]


def test_a_directory_of_our_own_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/somewhere/else")
    monkeypatch.setenv("MEMCLI_DATA_DIR", str(tmp_path))

    assert store_path(Settings()) == tmp_path / "memcli.db"
