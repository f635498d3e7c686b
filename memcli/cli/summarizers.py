"""Who summarises in this run, and why: the choice is said, never silent.
LangChain is loaded only when a model is asked. It refuses to know how a summary is made.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from memcli.config import DEFAULT_LIMIT_TOKENS, Settings
from memcli.memory.prompts import Prompt
from memcli.memory.summarizer import EXTRACTIVE, Completion, ExtractiveSummarizer, Summarizer

PROBE_TIMEOUT_S = 0.5
"""A server that is there accepts at once; whether one is decides only who summarises by default."""
EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A summarizer and why it is this one."""

    summarizer: Summarizer
    why: str
    """One line, for a person."""


class Summarizers:
    """The summarizers of one run: each model is connected once."""

    def __init__(self) -> None:
        self._chosen: dict[tuple[str, str], Chosen] = {}

    def choose(self, settings: Settings) -> Summarizer:
        """Choose by the settings of one conversation. Raises what choose_summarizer raises."""
        key = (settings.summarizer, settings.model)
        if key not in self._chosen:
            self._chosen[key] = choose_summarizer(settings)
        return self._chosen[key].summarizer

    @property
    def reasons(self) -> list[str]:
        """Say who summarised and why, a line each."""
        return [chosen.why for chosen in self._chosen.values()]


def choose_summarizer(settings: Settings, environ: Mapping[str, str] = os.environ) -> Chosen:
    """Choose by the setting `summarizer`; empty lets a real model do it and the embedded toy not.

    Raises ModelUnreachable when a model is asked for and there is none.
    """
    if settings.summarizer == EXTRACTIVE:
        return Chosen(ExtractiveSummarizer(), "the extractive summarizer, as set")
    if not settings.summarizer and (reason := _no_real_model(settings, environ)):
        return Chosen(ExtractiveSummarizer(), f"the extractive summarizer: {reason}")
    return _model(settings, environ)


def standing_in(settings: Settings) -> Summarizer:
    """Stand in for the summarizer of a run that calls none: its label and its window, from the settings alone."""
    named = settings.model.strip()
    if settings.summarizer == EXTRACTIVE or (not settings.summarizer and _is_embedded(named)):
        return ExtractiveSummarizer()
    return silent(named or "the model", settings.limit_tokens or DEFAULT_LIMIT_TOKENS)


def silent(label: str, window_tokens: int) -> Summarizer:
    """Stand in for a model that is never asked: only its label and its window are there."""
    return _Silent(label, window_tokens)


@dataclass(frozen=True, slots=True)
class _Silent:
    label: str
    window_tokens: int

    def complete(self, prompt: Prompt) -> Completion:  # noqa: ARG002 - the protocol asks for it
        raise AssertionError("a proposal asks no model")


def _model(settings: Settings, environ: Mapping[str, str]) -> Chosen:
    from memcli.agent.models import choose, default_summarizer
    from memcli.agent.summarizer import ModelSummarizer

    choice = choose(settings, environ)
    if not settings.summarizer and default_summarizer(choice) == EXTRACTIVE:
        return Chosen(ExtractiveSummarizer(), f"the extractive summarizer: {choice.name} is {choice.why}")
    summarizer = ModelSummarizer(choice.chat, label=choice.name, window_tokens=choice.limit_tokens)
    return Chosen(summarizer, f"{choice.name} ({choice.why})")


def _no_real_model(settings: Settings, environ: Mapping[str, str]) -> str | None:
    """Say why there is no real model, where that can be told without loading anything; None when there may be one."""
    named = settings.model.strip()
    if named:
        return "the embedded model is too small to summarise" if _is_embedded(named) else None
    host = environ.get("OLLAMA_HOST", "")
    return None if _answers(host) else "no model is named and no Ollama server answers"


def _is_embedded(name: str) -> bool:
    return name == EMBEDDED or name.startswith(f"{EMBEDDED}:")


def _answers(host: str) -> bool:
    import socket
    from urllib.parse import urlsplit

    from memcli.agent.ollama_host import server_url

    place = urlsplit(server_url(host))
    try:
        socket.create_connection((place.hostname or "", place.port or 0), PROBE_TIMEOUT_S).close()
    except OSError:
        return False
    return True
