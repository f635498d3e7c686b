"""A stand-in Ollama server over real HTTP, for tests and for a terminal: `python -m tests.ollama_server --port 0`.

Written from Ollama's public API documentation (docs/api.md, docs/openapi.yaml, docs.ollama.com/api/errors). It answers
/api/chat, /api/tags, /api/show, /api/ps and /api/version, misbehaves on request, and keeps every request it got.
It refuses to know anything of memcli.
"""

from __future__ import annotations

import argparse
import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Literal, Self, cast

from tests.ollama_counts import Counter, as_tokenizers
from tests.ollama_replies import MODES, Ending, Json, Reply, answer_lines, merged, reply_lines
from tests.ollama_served import Processes, card, process, tag, unsupported
from tests.ollama_served import Served as Served

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Overflow = Literal["obey", "truncate", "refuse"]
"""`obey`: as the request's `truncate` says; `truncate`: always, silently, as before 0.12; `refuse`: always 400."""
Answer = Callable[[Sequence[Json], Json], Iterable[str]]

DEFAULT_NUM_CTX = 4096
"""What a server allots when a request names no `num_ctx`. Source: docs/context-length.mdx."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in."""

    method: str
    path: str
    body: bytes

    @property
    def json(self) -> Json:
        return cast("Json", json.loads(self.body))


@dataclass
class FakeOllama:
    """The server. Scripted replies are used up first, then `answer`, then `otherwise`."""

    models: tuple[Served, ...] = (Served(),)
    script: deque[Reply] = field(default_factory=deque)
    otherwise: Reply = MODES["text"]
    answer: Answer | None = None
    overflow: Overflow = "obey"
    allots: int | None = None
    """The context it really has, whatever it is asked for and /api/show says; None keeps its word."""
    processes: Processes = "honest"
    count: Counter = as_tokenizers
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    loaded: dict[str, int] = field(default_factory=dict)
    """The context length each model was last loaded with."""
    asked: dict[str, int] = field(default_factory=dict)
    """The context length each model was last asked for."""
    closing: threading.Event = field(default_factory=threading.Event)
    open_sockets: set[socket.socket] = field(default_factory=set)

    def __enter__(self) -> Self:
        self._http = _Server(("127.0.0.1", self.port), self)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        for open_socket in list(self.open_sockets):
            _shut(open_socket)
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def chats(self) -> list[Json]:
        """The bodies of the /api/chat requests so far, oldest first."""
        return [request.json for request in self.requests if request.path == "/api/chat"]

    def find(self, name: str) -> Served | None:
        """Look a model up as Ollama does: no tag means `latest`."""
        full = name if ":" in name else f"{name}:latest"
        return next((model for model in self.models if model.name == full), None)

    def next_reply(self) -> Reply:
        return self.script.popleft() if self.script else self.otherwise


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, address: tuple[str, int], fake: FakeOllama) -> None:
        self.fake = fake
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.fake.open_sockets.add(self.connection)

    def finish(self) -> None:
        self.server.fake.open_sockets.discard(self.connection)
        super().finish()

    def handle(self) -> None:
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        fake = self.server.fake
        fake.requests.append(Request("GET", self.path, b""))
        if self.path == "/api/version":
            self._json(200, {"version": "0.12.6"})
        elif self.path == "/api/tags":
            self._json(200, {"models": [tag(model) for model in fake.models]})
        elif self.path == "/api/ps":
            self._processes(fake)
        else:
            self._json(404, {"error": "404 page not found"})

    def _processes(self, fake: FakeOllama) -> None:
        if fake.processes == "hangs":
            fake.closing.wait()
            self.close_connection = True
        elif fake.processes == "missing":
            self._json(404, {"error": "404 page not found"})
        elif fake.processes == "garbage":
            self._json(200, ["no", "object"])
        else:
            held = [model for model in fake.models if model.name in fake.loaded]
            lengths = {"honest": fake.loaded, "boasts": fake.asked}.get(fake.processes, {})
            self._json(200, {"models": [process(model, lengths.get(model.name)) for model in held]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request("POST", self.path, body)
        self.server.fake.requests.append(request)
        wanted = str(request.json.get("model") or "")
        model = self.server.fake.find(wanted)
        if model is None:
            self._json(404, {"error": f"model '{wanted}' not found"})
        elif self.path == "/api/show":
            self._json(200, card(model))
        elif self.path == "/api/chat":
            self._chat(request.json, model)
        else:
            self._json(404, {"error": "404 page not found"})

    def _chat(self, body: Json, model: Served) -> None:
        if complaint := unsupported(body, model):
            return self._json(400, {"error": complaint})
        fake = self.server.fake
        options = cast("Json", body.get("options") or {})
        asked = int(cast("int", options.get("num_ctx") or DEFAULT_NUM_CTX))
        num_ctx = min(asked, model.context_length, fake.allots or model.context_length)
        messages = cast("Sequence[Json]", body.get("messages") or [])
        tools = cast("Sequence[Json]", body.get("tools") or [])
        prompt_tokens = fake.count(messages, tools)
        refuses = fake.overflow == "refuse" or (fake.overflow == "obey" and body.get("truncate") is False)
        if prompt_tokens > num_ctx and refuses:
            over = prompt_tokens - num_ctx
            return self._json(400, {"error": f"prompt too long; exceeded max context length by {over} tokens"})
        messages = _truncate(messages, tools, num_ctx, fake.count)
        prompt_tokens = fake.count(messages, tools)
        fake.loaded[model.name], fake.asked[model.name] = num_ctx, asked
        if fake.answer is not None and not fake.script:
            lines = answer_lines(model.name, fake.answer(messages, options), prompt_tokens)
            return self._send(lines, body, "done")
        return self._reply(fake.next_reply(), body, model, prompt_tokens)

    def _reply(self, reply: Reply, body: Json, model: Served, prompt_tokens: int) -> None:
        if reply.wait_for is not None:
            reply.wait_for.wait()
        if reply.status != 200:
            return self._json(reply.status, {"error": reply.error})
        if reply.ending == "hang" and not reply.chunks:
            self.server.fake.closing.wait()
            self.close_connection = True
            return None
        return self._send(reply_lines(model.name, reply, prompt_tokens), body, reply.ending)

    def _send(self, lines: Iterable[Json], body: Json, ending: Ending) -> None:
        if body.get("stream") is False:
            return self._json(200, merged(list(lines)))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in lines:
            data = json.dumps(line).encode() + b"\n"
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        if ending == "hang":
            self.server.fake.closing.wait()
        if ending in ("cut", "hang"):
            self.close_connection = True
            return _shut(self.connection)
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _json(self, status: int, body: Json | Sequence[object]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _shut(open_socket: socket.socket) -> None:
    try:
        open_socket.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def _truncate(messages: Sequence[Json], tools: Sequence[Json], num_ctx: int, count: Counter) -> Sequence[Json]:
    """Drop the oldest messages until the rest fits, keeping system messages and the last one, as Ollama does."""
    kept = list(messages)
    while len(kept) > 1 and count(kept, tools) > num_ctx:
        oldest = next((index for index, message in enumerate(kept[:-1]) if message.get("role") != "system"), None)
        if oldest is None:
            break
        del kept[oldest]
    while kept and count(kept, tools) > num_ctx and (said := str(kept[-1].get("content") or "")):
        over = count(kept, tools) - num_ctx
        kept[-1] = {**kept[-1], "content": said[over:]}
    return kept


def answer_with(chat: BaseChatModel) -> Answer:
    """Let a LangChain chat model speak behind the server, one request at a time."""
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

    kinds: Mapping[str, type[BaseMessage]] = {"system": SystemMessage, "assistant": AIMessage}
    lock = threading.Lock()

    def answer(messages: Sequence[Json], options: Json) -> Iterator[str]:
        said = [kinds.get(str(m["role"]), HumanMessage)(content=str(m.get("content") or "")) for m in messages]
        with lock:
            yield from (chunk.text for chunk in chat.stream(said) if chunk.text)

    return answer


def _main() -> None:
    parser = argparse.ArgumentParser(description="A stand-in Ollama server.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--mode", choices=[*MODES, "embedded"], default="text")
    parser.add_argument("--context-length", type=int, default=32_768)
    parser.add_argument("--capabilities", default="completion,tools,thinking")
    parser.add_argument("--allots", type=int, help="the context it really has, whatever it is asked for")
    parser.add_argument("--overflow", choices=["obey", "truncate", "refuse"], default="obey")
    given = parser.parse_args()
    name = given.model if ":" in given.model else f"{given.model}:latest"
    served = Served(name, given.context_length, tuple(given.capabilities.split(",")))
    fake = FakeOllama(models=(served,), port=given.port, overflow=given.overflow, allots=given.allots)
    if given.mode == "embedded":
        from memcli.agent import embedded

        fake.answer = answer_with(embedded.EmbeddedChat(n_ctx=2048))
    else:
        fake.otherwise = MODES[given.mode]
    with fake:
        print(fake.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    _main()
