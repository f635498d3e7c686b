"""One running call of the embedded model: a thread that works, a queue that is read, and a way to stop.

It holds the shapes of what llama.cpp says while it works, and refuses to know what a request or an answer means.
Source of the shapes: llama.cpp's server, `/v1/chat/completions` with `stream` and `return_progress`.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypedDict

from memcli.errors import ModelError, ModelTimeout


class Generation:
    """One call in a thread of its own, so that Ctrl-C reaches whoever waits for it."""

    def __init__(self, server: Server, body: Mapping[str, object]) -> None:
        self._server = server
        self._body = body
        self._arrivals: queue.SimpleQueue[Chunk | ModelError | None] = queue.SimpleQueue()
        self._is_cancelled = threading.Event()

    def start(self) -> None:
        """Begin. The thread is no daemon: the interpreter waits for it, and it ends when the main thread has."""
        threading.Thread(target=self._run, name="memcli-embedded").start()

    def cancel(self) -> None:
        """Ask the runtime to stop at its next sign of life; without effect once it has finished."""
        self._is_cancelled.set()

    def chunks(self, timeout_s: float) -> Iterator[Chunk]:
        """Yield what the runtime says until it has nothing more to say."""
        while True:
            try:
                arrival = self._arrivals.get(timeout=timeout_s)
            except queue.Empty as err:
                hint = "raise `timeout_s`, or set `threads` lower on a busy machine"
                raise ModelTimeout(f"the embedded model said nothing for {timeout_s:g} s", hint) from err
            if isinstance(arrival, ModelError):
                raise arrival
            if arrival is None:
                return
            yield arrival

    def _run(self) -> None:
        try:
            self._server.handle_chat_completions(self._body, self._receive)
        except (TypeError, ValueError, RuntimeError) as err:
            self._arrivals.put(ModelError(f"the embedded model refused the call: {err}"))
        self._arrivals.put(None)

    def _receive(self, chunk: Chunk) -> bool:
        """Pass one chunk on; True ends the call. The wheel swallows what is raised here."""
        self._arrivals.put(chunk)
        return self._is_cancelled.is_set() or not threading.main_thread().is_alive()


class Server(Protocol):
    def handle_chat_completions(self, body: Mapping[str, object], callback: Callable[[Chunk], bool], /) -> object: ...

    def handle_completions(self, body: Mapping[str, object], /) -> object: ...


class Delta(TypedDict, total=False):
    content: str | None
    reasoning_content: str | None


class Choice(TypedDict, total=False):
    finish_reason: str | None
    delta: Delta


class Error(TypedDict, total=False):
    message: str
    n_prompt_tokens: int


class Progress(TypedDict, total=False):
    total: int


class Usage(TypedDict):
    prompt_tokens: int
    completion_tokens: int


class Timings(TypedDict):
    cache_n: int
    prompt_n: int
    prompt_ms: float
    predicted_ms: float


class Chunk(TypedDict, total=False):
    choices: list[Choice]
    error: Error
    prompt_progress: Progress
    usage: Usage
    timings: Timings
