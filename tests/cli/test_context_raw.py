"""`memcli context --raw`: exactly what the provider gets, against the bytes a recording server received."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Mapping
from typing import cast

import pytest

from tests.cli.conftest import Run
from tests.ollama_replies import calls, text
from tests.ollama_server import FakeOllama

Message = Mapping[str, object]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOllama]:
    with FakeOllama() as fake:
        monkeypatch.setenv("OLLAMA_HOST", fake.url)
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        yield fake


def received(server: FakeOllama, place: int) -> list[Message]:
    """Read what a chat request brought, as --raw writes it."""
    messages = cast("list[dict[str, object]]", server.chats[place]["messages"])
    return [
        {
            "role": message["role"],
            "content": message["content"],
            "calls": [
                (call["function"]["name"], call["function"]["arguments"])
                for call in cast("list[dict[str, dict[str, object]]]", message.get("tool_calls") or [])
            ],
        }
        for message in messages
    ]


def raw(run: Run, *args: str) -> list[Message]:
    return [
        {
            "role": message["role"],
            "content": message["content"],
            "calls": [(call["name"], call["args"]) for call in cast("list[dict[str, object]]", message["tool_calls"])],
        }
        for message in run("context", "talk", "--raw", *args, "--json").listed("messages")
    ]


def test_raw_of_every_call_is_what_the_server_received(run: Run, server: FakeOllama) -> None:
    server.script.extend([calls(("now", {}), say="Let me look."), text("It is noon."), text("No, {x} [/b] é 京都.")])
    run("chat", "What time is it?", "--name", "talk", "--system", "Be {brief}.", "-q")
    run("chat", "Is it\r\nlate? \x1b[31m", "-c", "talk", "--max-tokens", "40", "-q")

    assert len(server.chats) == 4  # the last one is the fold
    for call in (1, 2, 3):
        assert raw(run, "--call", str(call)) == received(server, call - 1)


def test_raw_of_the_next_call_is_what_the_server_gets_before_the_new_message(run: Run, server: FakeOllama) -> None:
    for number in range(6):
        run("chat", f"Question {number}: what of order PX-{number}? " * 6, *_named(number), "-q")
    expected = raw(run)

    run("chat", "And now?", "-c", "talk", "-q")

    assert received(server, -1) == [*expected, {"role": "user", "content": "And now?", "calls": []}]


def _named(number: int) -> tuple[str, ...]:
    return ("-c", "talk") if number else ("--name", "talk", "--system", "You track parcels.", "--max-tokens", "120")


def test_raw_in_words_is_whole_and_cleaned(run: Run, server: FakeOllama) -> None:
    run("chat", "Hi \x1b[31mred", "--name", "talk", "-q")

    assert run("context", "talk", "--raw", "--call", "1").out.startswith("── user  #1\nHi red\n")
