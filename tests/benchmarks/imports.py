"""Importing a large file: the most memory `memcli import` takes, against a file a twentieth of the size."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from tests.benchmarks.conversations import DISTINCT_TURNS, Stage, turn
from tests.benchmarks.figures import Bound, Figure

SMALL_MB, LARGE_MB = 10, 200
TURNS_A_CONVERSATION = 10
FLAT = Bound("at most", 1.1)
_WATCH = (
    "import resource, subprocess, sys;"
    "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);"
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)
"""Run a command from a small process: a child inherits its parent's peak, and ours is larger than the import's."""


@dataclass(frozen=True, slots=True)
class Import:
    """What one import took."""

    seconds: float
    peak_mb: float


def figures(stage: Stage) -> Iterator[Figure]:
    """Import both files, each in a process of its own, and compare their peaks."""
    small, large = _import(stage.folder, SMALL_MB), _import(stage.folder, LARGE_MB)
    yield Figure(
        f"peak memory, memcli import of {LARGE_MB} MB at {LARGE_MB / large.seconds:.1f} MB/s",
        f"{large.peak_mb:.0f} MB",
        f"itself at {SMALL_MB} MB {small.peak_mb:.0f} MB",
        large.peak_mb / small.peak_mb,
        FLAT,
    )


def _import(folder: Path, megabytes: int) -> Import:
    path = folder / f"chats-{megabytes}.jsonl"
    _write(path, megabytes * 1_000_000)
    command = [sys.executable, "-m", "memcli", "import", str(path), "--db", str(folder / f"imported-{megabytes}.db")]
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _WATCH, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    path.unlink()
    unit = 1 if sys.platform == "darwin" else 1024
    return Import(time.perf_counter() - started, int(done.stdout) * unit / 1e6)


def _write(path: Path, size: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < size:
            turns = (turn((number + offset) % DISTINCT_TURNS) for offset in range(TURNS_A_CONVERSATION))
            messages = [_openai(message) for messages in turns for message in messages]
            file.write(json.dumps({"id": f"chat-{number}", "messages": messages}) + "\n")
            number += TURNS_A_CONVERSATION + 1


def _openai(message: BaseMessage) -> dict[str, object]:
    shaped: dict[str, object] = {
        "role": "user" if message.type == "human" else message.type,
        "content": message.content,
    }
    if isinstance(message, AIMessage):
        shaped["role"] = "assistant"
        if message.tool_calls:
            shaped["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
                }
                for call in message.tool_calls
            ]
    if isinstance(message, ToolMessage):
        shaped["tool_call_id"] = message.tool_call_id
    return shaped
