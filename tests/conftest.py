"""What every test has: settings and directories of its own, and a store in a fresh place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from memcli.store import Store

settings.register_profile(
    "memcli", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
settings.load_profile("memcli")

_LEFT_OUT = ("OLLAMA_HOST", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "PAGER", "VISUAL", "EDITOR")


@pytest.fixture(autouse=True)
def isolated_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the developer's own settings, data and model server out of every test."""
    for name in [name for name in os.environ if name.startswith("MEMCLI_")]:
        monkeypatch.delenv(name)
    for name in _LEFT_OUT:
        monkeypatch.delenv(name, raising=False)
    for kind in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"MEMCLI_{kind}_DIR", str(tmp_path / "memcli" / kind.lower()))


@pytest.fixture
def store_file(tmp_path: Path) -> Path:
    """Name the file that the `store` fixture keeps."""
    return tmp_path / "store" / "memcli.db"


@pytest.fixture
def store(store_file: Path) -> Iterator[Store]:
    """Open a new, empty store."""
    with Store(store_file, busy_timeout_s=30.0) as opened:
        yield opened
