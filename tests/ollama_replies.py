"""What a stand-in Ollama server says to one /api/chat request, and the lines it says it in.

Written from Ollama's public API documentation (docs/api.md, docs/openapi.yaml, docs.ollama.com/api/errors).
It refuses to know HTTP and anything of memcli.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

Json = Mapping[str, object]
Ending = Literal["done", "cut", "fade", "hang", "error"]
"""`cut`: the socket dies; `fade`: the body ends properly, without a done line; `hang`: silence until the server closes;
`error`: an error line in the stream."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server does with one /api/chat request."""

    chunks: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    tool_calls: tuple[Json, ...] = ()
    done_reason: str = "stop"
    ending: Ending = "done"
    status: int = 200
    error: str = ""
    """The body of a failure, or the in-stream error line of the ending `error`."""
    wait_for: threading.Event | None = None
    """A slow load: nothing is sent, not even headers, before this is set."""


def text(*chunks: str) -> Reply:
    return Reply(chunks=chunks)


def thinks(thinking: str, *chunks: str) -> Reply:
    return Reply(thinking=(thinking,), chunks=chunks)


def calls(*wanted: tuple[str, object], say: str = "") -> Reply:
    """Ask for tools, each a name and its arguments; several are parallel calls.

    Arguments that are no object are sent as they are.
    """
    made = tuple({"function": {"name": name, "arguments": arguments}} for name, arguments in wanted)
    return Reply(chunks=(say,) if say else (), tool_calls=made)


def fails(status: int, error: str) -> Reply:
    return Reply(status=status, error=error)


def breaks(*chunks: str, ending: Ending = "cut", error: str = "") -> Reply:
    """Send the chunks, then end badly."""
    return Reply(chunks=chunks, ending=ending, error=error)


def loads(event: threading.Event, *chunks: str) -> Reply:
    return Reply(chunks=chunks, wait_for=event)


MODES: Mapping[str, Reply] = {
    "text": text("Hello", " from", " the", " stand-in."),
    "thinking": thinks("The user greets me. ", "Hello."),
    "tool": calls(("now", {})),
    "parallel": calls(("now", {}), ("recall", {"query": "hello"})),
    "broken-arguments": calls(("recall", '{"query": "hel')),
    "error500": fails(500, "llama runner process has terminated: exit status 2"),
    "dies": breaks("Half an", " answer"),
    "fades": breaks("Half an", " answer", ending="fade"),
    "stream-error": breaks("Half an", ending="error", error="an error was encountered while running the model"),
    "hangs": breaks(ending="hang"),
    "length": Reply(chunks=("An answer that is cut",), done_reason="length"),
    "empty": Reply(),
}
"""The scripted behaviours by name, for the command line."""


def _line(name: str, message: Json) -> Json:
    spoken = {"role": "assistant", "content": "", **message}
    return {"model": name, "created_at": "2026-05-04T17:37:44.706015Z", "message": spoken, "done": False}


def _done_line(name: str, done_reason: str, prompt_tokens: int, output_tokens: int) -> Json:
    counts = {"prompt_eval_count": prompt_tokens, "eval_count": output_tokens}
    times = {"total_duration": 5_000_000, "load_duration": 1_000_000}
    parts = {"prompt_eval_duration": 1_000_000, "eval_duration": 3_000_000}
    return {**_line(name, {}), "done": True, "done_reason": done_reason, **counts, **times, **parts}


def reply_lines(name: str, reply: Reply, prompt_tokens: int) -> Iterator[Json]:
    yield from (_line(name, {"thinking": thought}) for thought in reply.thinking)
    yield from (_line(name, {"content": chunk}) for chunk in reply.chunks)
    yield from (_line(name, {"tool_calls": [call]}) for call in reply.tool_calls)
    if reply.ending == "error":
        yield {"error": reply.error}
    if reply.ending == "done":
        output_tokens = len(reply.thinking) + len(reply.chunks) + len(reply.tool_calls)
        yield _done_line(name, reply.done_reason, prompt_tokens, output_tokens)


def answer_lines(name: str, chunks: Iterable[str], prompt_tokens: int) -> Iterator[Json]:
    output_tokens = 0
    for chunk in chunks:
        output_tokens += 1
        yield _line(name, {"content": chunk})
    yield _done_line(name, "stop", prompt_tokens, output_tokens)


def merged(lines: Sequence[Json]) -> Json:
    """Make the one object of `stream: false`; an error line stands alone."""
    if "error" in lines[-1]:
        return lines[-1]
    messages = [cast("Json", line["message"]) for line in lines]
    whole: dict[str, object] = {"role": "assistant", "content": "".join(str(m["content"]) for m in messages)}
    if thinking := "".join(str(m.get("thinking") or "") for m in messages):
        whole["thinking"] = thinking
    if made := [call for m in messages for call in cast("Sequence[Json]", m.get("tool_calls") or [])]:
        whole["tool_calls"] = made
    return {**lines[-1], "message": whole}
