"""The runtime's protocol with llama.cpp, on scripted servers: what a real one does not do on demand."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from itertools import count
from typing import cast

import pytest

from memcli.agent.bodies import PlainMessage
from memcli.agent.generation import Chunk
from memcli.agent.llama import Piece, Request, Runtime
from memcli.errors import ModelError, ModelTimeout


class ScriptedServer:
    """Say the same things for as long as the callback lets it, then `last`."""

    def __init__(self, script: Iterator[Chunk]) -> None:
        self._script = script

    def handle_chat_completions(self, body: object, callback: object, /) -> object:
        for chunk in self._script:
            if callback(chunk):  # type: ignore[operator]
                return None
        return None

    def handle_completions(self, body: object, /) -> object:
        return {"error": {"message": "no"}}


REQUEST = Request((PlainMessage("user", "hi"),), max_tokens=1, temperature=0, top_p=1, seed=0)
ENDLESS: Chunk = {"choices": [{"finish_reason": None, "delta": {"content": "a"}}]}


def test_closing_a_stream_ends_a_generation_that_would_never_end() -> None:
    answer = Runtime(ScriptedServer(ENDLESS for _ in count()), 512).generate(REQUEST, timeout_s=60)
    assert next(answer) == Piece("a", "")
    cast("Generator[Piece]", answer).close()
    join_generations()


def test_a_generation_that_just_stops_is_an_error() -> None:
    answer = Runtime(ScriptedServer(iter([ENDLESS])), 512).generate(REQUEST, timeout_s=60)
    assert next(answer) == Piece("a", "")
    with pytest.raises(ModelError, match="stopped before its answer was finished"):
        next(answer)


def test_an_error_of_the_runtime_is_a_model_error_with_its_words() -> None:
    failing = ScriptedServer(iter([{"error": {"message": "no such template"}}]))
    with pytest.raises(ModelError, match="refused the call: no such template"):
        next(Runtime(failing, 512).generate(REQUEST, timeout_s=60))
    with pytest.raises(ModelError, match="cannot count tokens: no"):
        Runtime(failing, 512).count_tokens("x")


def test_a_runtime_without_a_sign_of_life_times_out() -> None:
    release = threading.Event()

    def silence() -> Iterator[Chunk]:
        release.wait()
        yield ENDLESS

    with pytest.raises(ModelTimeout, match=r"said nothing for 0\.01 s"):
        next(Runtime(ScriptedServer(silence()), 512).generate(REQUEST, timeout_s=0.01))
    release.set()
    join_generations()


def join_generations() -> None:
    """Wait until no generation runs, and fail if one goes on."""
    for thread in threading.enumerate():
        if thread.name == "memcli-embedded":
            thread.join(timeout=60)
            assert not thread.is_alive()
