"""What a command loads: inspecting never loads the model stack, and JSON never loads Rich."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memcli.store import Store
from tests.cli.stories import a_summary, a_talk

HEAVY = (
    "asyncio", "httpx", "langchain_core", "langchain_ollama", "numpy", "ollama", "prompt_toolkit", "pydantic",
    "sqlite_utils", "xllamacpp",
)  # fmt: skip
"""What no inspection command may load."""
UNREAD = (
    "hashlib", "memcli.memory.extract", "memcli.memory.facts", "memcli.memory.fold", "memcli.memory.text",
    "memcli.memory.values", "secrets", "statistics",
)  # fmt: skip
"""What reading a conversation without a plan has no use for: each costs more than opening the store."""
PROBE = """
import sys
from memcli.cli.main import main
code = main(sys.argv[2:])
print(code, *sorted(set(sys.argv[1].split(",")) & set(sys.modules)), file=sys.stderr)
"""


def loaded(names: tuple[str, ...], *args: str) -> str:
    """Run a command in a new process and name its exit code and which of these modules it loaded."""
    probe = [sys.executable, "-c", PROBE, ",".join(names), *args]
    said = subprocess.run(probe, capture_output=True, text=True, check=True).stderr
    return said.splitlines(keepends=True)[-1]


@pytest.fixture
def db(tmp_path: Path) -> str:
    """Make a store with a talk in it."""
    with Store(tmp_path / "talks.db") as store:
        a_talk(store)
    return str(tmp_path / "talks.db")


@pytest.mark.parametrize(
    "command",
    [
        ["history"],
        ["history", "work"],
        ["history", "work", "--search", "rain"],
        ["history", "--jsonl"],
        ["summaries", "-q"],
        ["summaries", "--json"],
        ["history", "work", "--pins", "-q"],
        ["history", "work", "--pin", "1", "-q"],
        ["context"],
        ["context", "--json"],
        ["context", "--raw"],
        ["context", "--calls"],
        ["compact", "--dry-run", "--summarizer", "extractive"],
        ["config"],
    ],
    ids=" ".join,
)
def test_inspecting_never_loads_the_model_stack(db: str, command: list[str]) -> None:
    assert loaded(HEAVY, *command, "--db", db) == "0\n"


@pytest.mark.parametrize(
    "command",
    [["history"], ["history", "work"], ["summaries"], ["context"], ["context", "--json"], ["context", "--raw"]],
    ids=" ".join,
)
def test_reading_loads_nothing_that_only_folding_needs(db: str, command: list[str]) -> None:
    with Store(Path(db)) as store:
        talk = store.conversations.find("work")
        store.summaries.commit(talk.id, a_summary(1, 4), expected_head=None)

    assert loaded(UNREAD, *command, "--db", db) == "0\n"


@pytest.mark.parametrize(
    "command", [["--help"], ["--version"], ["history", "--help"], ["context", "--help"]], ids=" ".join
)
def test_help_loads_no_model_stack_no_rich_and_no_store(command: list[str]) -> None:
    assert loaded((*HEAVY, "rich"), *command) == "0\n"


@pytest.mark.parametrize("command", [["history"], ["history", "work"], ["summaries"], ["config"]], ids=" ".join)
def test_json_never_loads_rich(db: str, command: list[str]) -> None:
    assert loaded((*HEAVY, "rich"), *command, "--json", "--db", db) == "0\n"


@pytest.mark.parametrize("command", [["context"], ["context", "--json"]], ids=" ".join)
def test_a_plain_picture_loads_nothing_that_only_a_question_needs(db: str, command: list[str]) -> None:
    asked = (
        "memcli.cli.alternatives", "memcli.cli.moments", "memcli.cli.saving", "memcli.memory.alarm",
        "memcli.memory.changes", "memcli.memory.find", "memcli.memory.replay", "memcli.memory.travel",
        "memcli.memory.whatif",
        *(f"memcli.cli.inspect_{name}" for name in ("calls", "compare", "diff", "find", "moment", "raw", "replay")),
    )  # fmt: skip

    assert loaded(asked, *command, "--db", db) == "0\n"


def test_comparing_summaries_loads_no_model_stack(db: str) -> None:
    with Store(Path(db)) as store:
        talk = store.conversations.find("work")
        for last in (2, 4):
            store.summaries.add(talk.id, a_summary(1, last))

    assert loaded(HEAVY, "summaries", "--diff", "1", "2", "--db", db) == "0\n"
    assert loaded((*HEAVY, "rich"), "summaries", "--diff", "1", "2", "--json", "--db", db) == "0\n"


def test_listing_commands_imports_none_of_them() -> None:
    assert loaded(("memcli.cli.chat", "memcli.cli.history", "memcli.cli.context", "memcli.store"), "--help") == "0\n"


def test_the_package_alone_loads_no_floor() -> None:
    said = "import sys, memcli; print([name for name in sys.modules if name.startswith('memcli.')])"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
