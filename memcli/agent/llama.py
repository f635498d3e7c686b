"""A GGUF model running in this process: llama.cpp through the `xllamacpp` wheel, loaded once and shared.

It refuses to know LangChain. It opens no network port: the wheel insists on a listener, so it gets a socket file in a
private directory, which is removed before anybody could use it. Behaviour relied on: `server.cpp` of xllamacpp 2026.10
(a callback that answers True ends the request; an error reaches the callback as a chunk with `error`).
"""

from __future__ import annotations

import atexit
import importlib.util
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from memcli.agent.bodies import PlainMessage, body_text
from memcli.agent.generation import Chunk, Generation, Server
from memcli.agent.grammar import sentences_grammar
from memcli.agent.sent import tell
from memcli.errors import ContextOverflow, ModelError, ModelUnreachable


@dataclass(frozen=True, slots=True)
class Request:
    """One call."""

    messages: tuple[PlainMessage, ...]
    max_tokens: int
    """The longest answer, in the model's own tokens."""
    temperature: float
    top_p: float
    seed: int | None
    """Equal seeds give equal answers to equal prompts; None draws one."""
    stop: tuple[str, ...] = ()
    repeat_penalty: float = 1.0
    """How much less likely a token of the last 64 becomes, prompt included; 1 leaves it as it is."""
    max_sentences: int | None = None
    """The most sentences the answer may have, each whole; None leaves it free."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the answer as it arrives; one of the two is empty."""

    text: str
    reasoning: str


@dataclass(frozen=True, slots=True)
class Ending:
    """The last thing a finished call says. Counts are in the model's own tokens."""

    finish_reason: str
    """`stop` or `length`."""
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    """Prompt tokens found in the prompt cache."""
    evaluated_tokens: int
    """Prompt tokens evaluated for this call: input less cached, and at least 1."""
    prompt_ms: float
    output_ms: float


class Runtime:
    """One loaded model. Calls from several threads take turns."""

    def __init__(self, server: Server, n_ctx: int) -> None:
        self._server = server
        self.n_ctx = n_ctx

    def generate(self, request: Request, timeout_s: float) -> Iterator[Piece | Ending]:
        """Yield the answer as it comes, its Ending last.

        Closing the iterator ends the generation, after one token or one batch of the prompt. Raises ContextOverflow
        when the prompt leaves no room for an answer, ModelTimeout after `timeout_s` without a sign of life, and
        ModelError with the runtime's words otherwise.
        """
        body = _body(request)
        tell(body_text(body), "plain")
        generation = Generation(self._server, body)
        generation.start()
        finish_reason = "stop"
        try:
            for chunk in generation.chunks(timeout_s):
                self._check(chunk)
                for choice in chunk.get("choices", ()):
                    finish_reason = choice.get("finish_reason") or finish_reason
                    delta = choice.get("delta", {})
                    text, reasoning = delta.get("content") or "", delta.get("reasoning_content") or ""
                    if text or reasoning:
                        yield Piece(text, reasoning)
                if "usage" in chunk:
                    yield _ending(chunk, finish_reason)
                    return
        finally:
            generation.cancel()
        raise ModelError("the embedded model stopped before its answer was finished")

    def count_tokens(self, text: str) -> int:
        """Count a text's tokens with the model's own tokenizer; control tokens such as `<|im_end|>` count as one.

        Waits for a running call. The wheel exposes no tokenizer, so this asks for a completion that cannot fit: the
        refusal states the prompt's exact length, nothing is evaluated, and the prompt cache stays as it is.
        """
        padding = self.n_ctx + _N_CTX_STEP
        body: Mapping[str, object] = {"prompt": [0] * padding + [_clean(text)], "max_tokens": 1}
        error = cast(Chunk, self._server.handle_completions(body)).get("error", {})
        if "n_prompt_tokens" not in error:
            raise ModelError(f"the embedded model cannot count tokens: {error.get('message', 'no count came back')}")
        return error["n_prompt_tokens"] - padding

    def _check(self, chunk: Chunk) -> None:
        error = chunk.get("error", {})
        prompt_tokens = error.get("n_prompt_tokens", chunk.get("prompt_progress", {}).get("total", 0))
        if prompt_tokens >= self.n_ctx:
            hint = "raise `limit_tokens`, lower `max_tokens`, or shorten the message"
            raise ContextOverflow("the prompt with a token of answer", prompt_tokens + 1, self.n_ctx, hint)
        if error:
            raise ModelError(f"the embedded model refused the call: {error.get('message', 'no reason given')}")


def load(path: Path, n_ctx: int, threads: int) -> Runtime:
    """Load a model, or hand out the one already loaded with the same arguments.

    Raises ModelUnreachable when the wheel is not installed, and ModelError when it cannot load the file.
    """
    key = (path.resolve(), n_ctx, threads)
    with _loading:
        if key not in _loaded:
            if not _loaded:
                atexit.register(_loaded.clear)
            _loaded[key] = Runtime(_serve(path, n_ctx, threads), n_ctx)
        return _loaded[key]


def is_installed() -> bool:
    """Tell whether the wheel is there, without importing it."""
    return importlib.util.find_spec("xllamacpp") is not None


def require() -> None:
    """Raise ModelUnreachable, saying what to install, unless the wheel is there."""
    if not is_installed():
        raise ModelUnreachable(
            "the embedded model's runtime, xllamacpp, is not installed", "run `pip install 'memcli[embedded]'`"
        )


_loaded: dict[tuple[Path, int, int], Runtime] = {}
_loading = threading.Lock()

_BATCH_TOKENS = 64
"""Prompt tokens evaluated between two chances to cancel: about half a second. 512 would be 7% faster."""
_N_CTX_STEP = 256
"""llama.cpp rounds a context up to a multiple of this."""
_PROMPT_CACHE_MIB = 512
"""Memory for the prompts of earlier calls, so that a compaction does not cost the chat its cache."""
_LONGEST_SOCKET_PATH = 100
"""`sun_path` takes 104 bytes or more, by system."""


def _serve(path: Path, n_ctx: int, threads: int) -> Server:
    require()
    import xllamacpp

    folder = _private_folder()
    params = xllamacpp.CommonParams()
    params.hostnames = [f"{folder}/s.sock"]
    params.n_threads_http = 1
    params.verbosity = -1
    params.model.path = str(path)
    params.n_ctx = n_ctx
    params.fit_params = False
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.warmup = False
    try:
        return cast(Server, xllamacpp.Server(params))
    except (RuntimeError, ValueError) as err:
        hint = "is the file whole, and its architecture known to this version of xllamacpp?"
        raise ModelError(f"{path} cannot be loaded: {err}", hint) from err
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _private_folder() -> str:
    too_long = len(tempfile.gettempdir()) > _LONGEST_SOCKET_PATH - len("/memcli-12345678/s.sock")
    return tempfile.mkdtemp(prefix="memcli-", dir="/tmp" if too_long else None)


def _body(request: Request) -> Mapping[str, object]:
    return {
        "messages": [{"role": message.role, "content": _clean(message.content)} for message in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "repeat_penalty": request.repeat_penalty,
        "seed": -1 if request.seed is None else request.seed,
        "stop": [_clean(text) for text in request.stop],
        **({"grammar": sentences_grammar(request.max_sentences)} if request.max_sentences else {}),
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
    }


def _clean(text: str) -> str:
    """Replace lone surrogates, which are not text and which the runtime rejects."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _ending(chunk: Chunk, finish_reason: str) -> Ending:
    usage, timings = chunk["usage"], chunk["timings"]
    return Ending(
        finish_reason=finish_reason,
        input_tokens=usage["prompt_tokens"],
        output_tokens=usage["completion_tokens"],
        cached_tokens=timings["cache_n"],
        evaluated_tokens=timings["prompt_n"],
        prompt_ms=timings["prompt_ms"],
        output_ms=timings["predicted_ms"],
    )
