"""The REPL in a real terminal, with a stand-in Ollama server and with the embedded model."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from memcli.store import Store
from tests.cli.terminals import MEMCLI
from tests.ollama_replies import MODES, text
from tests.ollama_server import FakeOllama

CTRL_C, CTRL_D = b"\x03", b"\x04"
POSITION = b"\x1b[6n"
"""What a program asks a terminal to learn where its cursor is."""
DEADLINE_S = 60


class Screen:
    """A person at a terminal: reads until something is shown, and presses keys."""

    def __init__(self, process: subprocess.Popen[bytes], side: int) -> None:
        self.process = process
        self._side = side
        self._unread = b""

    def wait_for(self, shown: str) -> str:
        """Read until `shown` is on the screen and give everything up to it."""
        wanted = shown.encode()
        while wanted not in self._unread:
            assert select.select([self._side], [], [], DEADLINE_S)[0], f"{shown!r} is not in {self._unread!r}"
            read = self._read()
            assert read, f"it ended before {shown!r} was shown: {self._unread!r}"
            self._unread += read
        before, _, self._unread = self._unread.partition(wanted)
        return before.decode() + shown

    def press(self, keys: bytes) -> None:
        os.write(self._side, keys)

    def end(self) -> int:
        """Read what is left and give the exit code."""
        while self._read():
            pass
        return self.process.wait(timeout=DEADLINE_S)

    def _read(self) -> bytes:
        try:
            read = os.read(self._side, 65536)
        except OSError:  # how Linux says that the other side was closed
            return b""
        if POSITION in read:
            os.write(self._side, b"\x1b[1;1R")
        return read


@contextmanager
def at_terminal(*args: str) -> Iterator[Screen]:
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    process = subprocess.Popen(
        [*MEMCLI, *args], stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"},
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(theirs)
    try:
        yield Screen(process, mine)
    finally:
        process.kill()
        process.wait()
        os.close(mine)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOllama]:
    with FakeOllama() as fake:
        monkeypatch.setenv("OLLAMA_HOST", fake.url)
        yield fake


def test_nothing_of_the_repl_imports_langchain_before_the_prompt() -> None:
    source = (
        "import sys, memcli.cli.chat, memcli.cli.repl.start;"
        "print([name for name in sys.modules if name.startswith(('langchain', 'pydantic', 'xllamacpp'))])"
    )

    shown = subprocess.run([sys.executable, "-c", source], capture_output=True, check=True, text=True).stdout

    assert shown == "[]\n"


def test_a_message_is_answered_and_ctrl_d_leaves(server: FakeOllama, store: Store) -> None:
    with at_terminal("chat") as screen:
        screen.wait_for("> ")
        screen.press(b"hello\r")
        screen.wait_for("Hello from the stand-in.")
        screen.wait_for("fold in 9 turns")
        screen.press(CTRL_D)
        code = screen.end()

    assert code == 0
    assert store.conversations.find("last").turns == 1


def test_what_is_typed_while_an_answer_comes_is_the_next_message(server: FakeOllama, store: Store) -> None:
    server.script.extend([text("First answer."), text("Second answer.")])
    with at_terminal("chat") as screen:
        screen.wait_for("> ")
        screen.press(b"one\rtwo\r")
        screen.wait_for("First answer.")
        screen.wait_for("Second answer.")
        screen.wait_for("fold in 8 turns")
        screen.press(CTRL_D)
        screen.end()

    conversation = store.conversations.find("last")
    said = [message.text for message in store.messages.oldest_first(conversation.id)]
    assert said == ["one", "First answer.", "two", "Second answer."]


def test_ctrl_c_stops_a_silent_model_and_the_repl_goes_on(server: FakeOllama, store: Store) -> None:
    server.script.extend([MODES["hangs"], text("Here again.")])
    with at_terminal("chat") as screen:
        screen.wait_for("tiny:latest")
        screen.press(b"one\r")
        screen.wait_for("thinking")
        screen.press(CTRL_C)
        screen.wait_for("interrupted: no answer had arrived")
        screen.wait_for("fold in")
        screen.press(b"two\r")
        screen.wait_for("Here again.")
        screen.wait_for("fold in")
        screen.press(CTRL_D)
        code = screen.end()

    assert code == 0
    statuses = [turn.status for turn in store.turns.newest_first(store.conversations.find("last").id)]
    assert statuses == ["done", "interrupted"]


def test_ctrl_c_pressed_with_enter_gives_the_message_back_and_nothing_is_sent(server: FakeOllama, store: Store) -> None:
    with at_terminal("chat") as screen:
        screen.wait_for("tiny:latest")
        screen.press(b"one\r" + CTRL_C)
        screen.wait_for("interrupted")
        screen.wait_for("one")
        screen.press(b" more\r")
        screen.wait_for("Hello from the stand-in.")
        screen.wait_for("fold in 9 turns")
        screen.press(CTRL_D)
        code = screen.end()

    said = [message.text for message in store.messages.oldest_first(store.conversations.find("last").id)]
    assert (code, said) == (0, ["one more", "Hello from the stand-in."])


def test_killed_in_mid_turn_it_goes_on_where_it_was(server: FakeOllama, store: Store) -> None:
    server.script.extend([MODES["hangs"], text("After the crash.")])
    with at_terminal("chat", "--name", "work") as screen:
        screen.wait_for("tiny:latest")
        screen.press(b"one\r")
        screen.wait_for("thinking")
        screen.process.send_signal(signal.SIGKILL)
        screen.end()
    with at_terminal("chat", "-c", "work") as screen:
        screen.wait_for("its last turn did not end: /retry asks again")
        screen.wait_for("tiny:latest")
        screen.press(b"/retry\r")
        screen.wait_for("After the crash.")
        screen.wait_for("fold in")
        screen.press(CTRL_D)
        screen.end()

    said = [message.text for message in store.messages.oldest_first(store.conversations.find("work").id)]
    assert said == ["one", "After the crash."]


def test_without_a_model_it_ends_with_exit_code_4_and_says_what_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    with at_terminal("chat", "-m", "llama3.2") as screen:
        screen.wait_for("error: 'llama3.2' is an Ollama model, and no Ollama server answers")
        screen.wait_for("ollama pull llama3.2")
        code = screen.end()

    assert code == 4


def test_the_embedded_model_answers_and_ctrl_c_keeps_what_it_said(
    monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    pytest.importorskip("xllamacpp")
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    with at_terminal("chat") as screen:
        screen.wait_for("(toy)")
        screen.press(b"Write a very long story about a ship.\r")
        screen.wait_for("thinking")
        screen.wait_for(".")
        screen.press(CTRL_C)
        screen.wait_for("interrupted: ")
        screen.wait_for("fold in")
        screen.press(b"/exit\r")
        code = screen.end()

    assert code == 0
    conversation = store.conversations.find("last")
    assert [turn.status for turn in store.turns.newest_first(conversation.id)] == ["interrupted"]
