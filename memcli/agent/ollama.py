"""The Ollama door: ask a server what it has, and connect a chat model to it.

It refuses to know which model to choose (`models.py` does) and what to do after a failure (the turn loop does).
Source of every format: Ollama's docs/api.md and docs/openapi.yaml.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import httpx
from langchain_ollama import ChatOllama

from memcli.agent.bodies import body_text
from memcli.agent.ollama_failures import START_HINT, http_failure, request_failure
from memcli.agent.ollama_failures import translate as translate
from memcli.agent.ollama_host import is_loopback, server_url, without_password
from memcli.agent.sent import tell
from memcli.errors import ModelUnreachable, NotFound

CONNECT_TIMEOUT_S = 2.0
"""A server that is there accepts at once; a host that is not must not hold up a chat."""
ASK_TIMEOUT_S = 10.0
"""For what answers without loading a model: /api/version, tags, show and ps."""

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class OllamaModel:
    """One model a server has."""

    name: str
    """With its tag: `llama3.2:latest`."""
    size_bytes: int
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What a server says of one model."""

    context_length: int | None
    """The model's own, in its tokens; None when the server does not say, as for some remote models."""
    capabilities: frozenset[str]
    """`completion`, `tools`, `thinking`, `vision`, `embedding`, …"""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """One model in the server's memory."""

    name: str
    context_length: int | None
    """What it is loaded with, which may be less than the model's own; None from servers that do not say."""


class OllamaServer:
    """Ask one Ollama server what it has. Every question is one short request; nothing is cached.

    Every method raises ModelUnreachable when nothing answers, or what answers is not Ollama, and ModelTimeout when
    the answer does not come.
    """

    def __init__(self, host: str = "", *, timeout_s: float = ASK_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self.url = server_url(host)
        self.shown = without_password(self.url)
        """The address as it may be shown to a person."""

    def version(self) -> str:
        """Tell the server's version."""
        return str(self._get("/api/version").get("version") or "")

    def models(self) -> list[OllamaModel]:
        """List the models that are there, the most recently modified first. [] for a fresh server."""
        found = [
            OllamaModel(str(tag.get("name") or ""), _whole(tag.get("size")) or 0, _moment(tag.get("modified_at")))
            for tag in _objects(self._get("/api/tags").get("models"))
        ]
        return sorted(found, key=lambda model: model.modified_at, reverse=True)

    def show(self, name: str) -> ModelCard:
        """Read one model's card. Raises NotFound, listing the models that are there."""
        response = self._ask("POST", "/api/show", {"model": name})
        if response.status_code in (400, 404):
            raise self._not_found(name)
        if response.status_code != 200:
            raise http_failure(response.status_code, response.text)
        return _card(self._body(response))

    def loaded(self) -> list[LoadedModel]:
        """List the models in the server's memory, in its order. [] when none is."""
        return [
            LoadedModel(str(entry.get("name") or ""), _whole(entry.get("context_length")) or None)
            for entry in _objects(self._get("/api/ps").get("models"))
        ]

    def _not_found(self, name: str) -> NotFound:
        names = [model.name for model in self.models()]
        if not names:
            return NotFound(f"{self.shown} has no models", f"get one with `ollama pull {name}`")
        close = difflib.get_close_matches(name, [*names, *(known.partition(":")[0] for known in names)], n=1)
        meant = f"did you mean {close[0]!r}? " if close else ""
        there = f"{meant}there are {', '.join(names)}; `ollama pull {name}` gets it"
        return NotFound(f"no model is called {name!r} at {self.shown}", there)

    def _get(self, path: str) -> Json:
        response = self._ask("GET", path)
        if response.status_code >= 500:
            raise http_failure(response.status_code, response.text)
        if response.status_code != 200:
            raise ModelUnreachable(f"{self.shown}{path} answers {response.status_code}, not as Ollama does", START_HINT)
        return self._body(response)

    def _ask(self, method: str, path: str, body: Json | None = None) -> httpx.Response:
        try:
            with _open(self.url, self._timeout_s) as client:
                return client.request(method, path, json=body)
        except httpx.RequestError as err:
            raise request_failure(err) from err

    def _body(self, response: httpx.Response) -> Json:
        try:
            body = response.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise ModelUnreachable(f"{self.shown} answers, but not as an Ollama server does", START_HINT)
        return body


def connect(
    model: str,
    *,
    host: str,
    limit_tokens: int,
    timeout_s: float,
    output_tokens: int | None = None,
    reasoning: bool | None = None,
) -> ChatOllama:
    """Make a chat model that speaks to an Ollama server; nothing is sent yet.

    `limit_tokens` becomes `num_ctx`; `output_tokens` becomes `num_predict`, None meaning the whole limit, so that no
    answer is endless. `timeout_s` is the longest silence, the model's loading included. `reasoning` True asks for the
    thinking apart from the answer: only for a model whose capabilities say `thinking`, the server refuses it otherwise.
    """
    url = server_url(host)
    timeout = httpx.Timeout(timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s))
    shared: dict[str, object] = {"timeout": timeout, "follow_redirects": False, "trust_env": not is_loopback(url)}
    return ChatOllama(
        model=model,
        base_url=url,
        num_ctx=limit_tokens,
        num_predict=output_tokens if output_tokens is not None else limit_tokens,
        reasoning=reasoning,
        client_kwargs={**shared, "verify": url.startswith("https")},
        sync_client_kwargs={"transport": _UncutTransport(url)},
    )


class _UncutTransport(httpx.HTTPTransport):
    """Ask the server to refuse an over-long prompt, and to stop at the limit, instead of dropping the oldest silently.

    `truncate` and `shift` stand beside `options` in a request, default to true, and are ignored by servers older than
    them; the ollama package has no argument for them. Source: api/types.go, ChatRequest.
    A connection is not kept: one left over from before a server's restart looks like a server that died.
    """

    def __init__(self, url: str) -> None:
        https = url.startswith("https")
        limits = httpx.Limits(max_keepalive_connections=0)
        super().__init__(verify=https, limits=limits, trust_env=not is_loopback(url))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; a chat's gets the two fields first, and its body is told."""
        if request.url.path.endswith("/api/chat"):
            body = body_text({**json.loads(request.read()), "truncate": False, "shift": False})
            headers = [(name, value) for name, value in request.headers.multi_items() if name != "content-length"]
            request = httpx.Request(
                request.method, request.url, headers=headers, content=body.encode(), extensions=request.extensions
            )
            tell(body, "ollama")
        return super().handle_request(request)


def _open(url: str, timeout_s: float) -> httpx.Client:
    timeout = httpx.Timeout(timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s))
    return httpx.Client(base_url=url, timeout=timeout, trust_env=not is_loopback(url), verify=url.startswith("https"))


def _card(body: Json) -> ModelCard:
    info = body.get("model_info")
    about = cast("Json", info) if isinstance(info, dict) else {}
    length = _whole(about.get(f"{about.get('general.architecture')}.context_length"))
    named = body.get("capabilities")
    if isinstance(named, list):
        return ModelCard(length, frozenset(str(capability) for capability in named))
    # Servers before 0.6.4 name no capabilities; Ollama itself looks for the tools in the template.
    tools = {"tools"} if ".Tools" in str(body.get("template")) else set()
    return ModelCard(length, frozenset({"completion"} | tools))


def _objects(value: object) -> list[Json]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _moment(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
