"""The README is true: every command and snippet in it runs, and prints what it says.

A `console` block is a session: lines that begin with `$ ` are run by a shell in a fresh home, in order; the other lines
are their output. Numbers, times and ids may differ; a line that is only `…` stands for any lines. What a model says is
in a block marked `console model`: it must run, its words are not compared. `python` blocks run in the same folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from memcli.agent.embedded import available

README = Path(__file__).parent.parent / "README.md"
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SETS_UP = ("make ",)
"""Commands that set the machine up; `.ci/run` runs them."""
VOLATILE = re.compile(r"\d[\d,.:]*|\b[0-9a-f]{8}\b|\s+|─+|█+|░+|▒+")


@dataclass(frozen=True)
class Block:
    language: str
    marks: str
    text: str


def blocks() -> list[Block]:
    found = FENCE.findall(README.read_text(encoding="utf-8"))
    return [Block(language, marks.strip(), text) for language, marks, text in found]


def sessions(block: Block) -> list[tuple[str, list[str]]]:
    steps: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps:
            steps[-1][1].append(line)
    return steps


def shape(line: str) -> str:
    return VOLATILE.sub(" ", line).strip()


def unmatched(expected: list[str], printed: str) -> list[str]:
    shapes = [shape(line) for line in printed.splitlines()]
    return [line for line in expected if shape(line) not in ("", "…") and shape(line) not in shapes]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("newcomer")


@pytest.fixture(scope="module")
def environment(home: Path) -> dict[str, str]:
    scripts = str(Path(sys.executable).parent)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMCLI_", "XDG_"))}
    return {
        **kept, "HOME": str(home), "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80",
        "OLLAMA_HOST": "127.0.0.1:9", "PYTHONWARNINGS": "error",
    }  # fmt: skip


@pytest.mark.skipif(not available(), reason="the embedded model is not installed; run `make setup`")
def test_every_command_and_snippet_runs_and_prints_what_it_says(home: Path, environment: dict[str, str]) -> None:
    ran = 0
    for block in blocks():
        if block.language == "python":
            done = subprocess.run(
                [sys.executable, "-c", block.text],
                cwd=home,
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert done.returncode == 0, f"{block.text}\n{done.stderr}"
            ran += 1
        for command, expected in sessions(block) if block.language == "console" else []:
            if command.startswith(SETS_UP):
                continue
            done = subprocess.run(
                ["bash", "-c", command], cwd=home, env=environment, capture_output=True, text=True, timeout=300
            )
            assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
            missing = [] if block.marks == "model" else unmatched(expected, done.stdout + done.stderr)
            assert not missing, f"$ {command}\nnot printed: {missing}\nprinted:\n{done.stdout}{done.stderr}"
            ran += 1
    assert ran >= 8, "the README has lost its examples"


def test_the_readme_names_the_two_commands_of_a_newcomer() -> None:
    text = README.read_text(encoding="utf-8")
    assert "$ make run" in text
    assert "$ make test" in text
