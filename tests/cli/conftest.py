"""What the command line's tests stand on: a home of their own, a store, and a way to run a command."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memcli.cli import main
from memcli.store import Store
from tests.cli.terminals import CLEARED, Outcome
from tests.ollama_server import FakeOllama

Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty directory with no settings of the machine's user."""
    for name in CLEARED:
        monkeypatch.delenv(name, raising=False)
    for kind in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"MEMCLI_{kind}_DIR", str(tmp_path / kind.lower()))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    """Make the store that commands use when nobody names one."""
    with Store(home / "data" / "memcli.db") as opened:
        yield opened


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process, as in a pipe."""

    def call(*args: str) -> Outcome:
        capsys.readouterr()
        code = main.main(args)
        said = capsys.readouterr()
        return Outcome(code, said.out, said.err)

    return call


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOllama]:
    """Answer as an Ollama server, for a command to which nothing is piped."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with FakeOllama() as fake:
        monkeypatch.setenv("OLLAMA_HOST", fake.url)
        yield fake
