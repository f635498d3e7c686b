"""Running memcli as its users do: as a process in a pipe, and in a terminal of a given width."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from memcli.config import describe

CLEARED = (
    "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "PAGER", "LESS", "OLLAMA_HOST", "MEMCLI_DEBUG", "TTY_COMPATIBLE",
    *(f"MEMCLI_{name.upper()}" for name, _, _ in describe()),
)  # fmt: skip
"""Variables that would change what a command shows."""
MEMCLI = (sys.executable, "-m", "memcli")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, object]:
        """The JSON document on standard output."""
        return cast("dict[str, object]", json.loads(self.out))

    def listed(self, key: str) -> list[dict[str, object]]:
        """Read one array of the document on standard output."""
        return cast("list[dict[str, object]]", self.document[key])

    @property
    def rows(self) -> list[dict[str, object]]:
        """The JSON lines on standard output."""
        return [json.loads(line) for line in self.out.splitlines()]


def in_pipe(*args: str, stdin: bytes = b"", environ: Mapping[str, str] | None = None) -> Outcome:
    """Run memcli as a process whose output is a pipe."""
    done = subprocess.run(
        [*MEMCLI, *args],
        input=stdin,
        capture_output=True,
        env={**os.environ, **(environ or {})},
        check=False,
        timeout=60,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def in_shell(line: str) -> Outcome:
    """Run a bash line in which `memcli` is a command and a failure anywhere in a pipe is the line's."""
    script = f"set -o pipefail; memcli() {{ '{sys.executable}' -m memcli \"$@\"; }}; {line}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False, timeout=60)
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def in_terminal(*args: str, columns: int = 80, environ: Mapping[str, str] | None = None) -> Outcome:
    """Run memcli in a terminal; `out` is everything that reached its screen, escape sequences included."""
    screen, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", **(environ or {})}
    process = subprocess.Popen([*MEMCLI, *args], stdin=side, stdout=side, stderr=side, env=env, close_fds=True)
    os.close(side)
    shown = b""
    while chunk := _read(screen):
        shown += chunk
    os.close(screen)
    return Outcome(process.wait(timeout=60), shown.decode().replace("\r\n", "\n"), "")


def _read(screen: int) -> bytes:
    try:
        return os.read(screen, 65536)
    except OSError:  # how Linux says that the other side was closed
        return b""
