"""What goes wrong between us and an Ollama server, in memcli's own words.

It refuses to know what was asked and what happens next: an exception goes in, one of ours or None comes out.
"""

from __future__ import annotations

import json
import re

import httpx
import ollama
from langchain_core.exceptions import OutputParserException
from pydantic import ValidationError

from memcli.agent.ollama_host import without_password
from memcli.errors import ContextOverflow, MemcliError, ModelError, ModelTimeout, ModelUnreachable, NotFound

START_HINT = "start Ollama with `ollama serve`, or set OLLAMA_HOST to where it runs"
_LIMIT_HINT = "shorten the message, raise `limit_tokens`, or compact the conversation"
_AGAIN_HINT = "run it again; the log of `ollama serve` says more"
_SERVER_ROOM = re.compile(r"(\d+) tokens?\D+?(\d+) tokens?")
"""llama.cpp's words: `request (20001 tokens) exceeds the available context size (8192 tokens)`."""
_SERVER_EXCESS = re.compile(r"exceeded max context length by (\d+)")
"""Ollama's own words, which name the excess only."""
_NO_DATA = ("No generation chunks were returned", "No data received from Ollama stream.")
"""What langchain-core and langchain-ollama raise as a plain ValueError when a stream ends with nothing in it."""


def translate(err: Exception, limit_tokens: int | None = None) -> MemcliError | None:
    """Put what came out of ChatOllama's `stream` or `invoke`, or of httpx, into our words. None for anything else.

    `limit_tokens` is the context limit the call was made with; it lets an overflow name needed and available.
    """
    if isinstance(err, httpx.HTTPStatusError):
        return http_failure(err.response.status_code, err.response.text, limit_tokens)
    if isinstance(err, ollama.ResponseError):
        return http_failure(err.status_code, str(err.error), limit_tokens)
    if isinstance(err, httpx.RequestError):
        return request_failure(err)
    # ollama raises the builtin itself for a refused connection; its subclasses (a broken pipe of ours) are not meant.
    if type(err) is ConnectionError:
        return ModelUnreachable("no Ollama server answers", START_HINT)
    if isinstance(err, (json.JSONDecodeError, ValidationError, OutputParserException)):
        return ModelError(f"the model server sent what cannot be read: {_one_line(str(err))}", _AGAIN_HINT)
    if type(err) is ValueError and str(err) in _NO_DATA:
        return ModelError("the model server sent no answer at all", _AGAIN_HINT)
    return None


def request_failure(err: httpx.RequestError) -> MemcliError:
    """Name a request that got no whole response: nobody there, no answer in time, or broken off."""
    place = _place(err)
    if isinstance(err, (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)):
        return ModelUnreachable(f"no Ollama server answers at {place}", START_HINT)
    if isinstance(err, httpx.TimeoutException):
        hint = "a large model may still be loading: run it again, or raise `timeout_s`"
        return ModelTimeout(f"the model server at {place} sent nothing in time", hint)
    return ModelError(f"the model server at {place} broke off: {_one_line(str(err))}", _AGAIN_HINT)


def http_failure(status: int, text: str, limit_tokens: int | None = None) -> MemcliError:
    """Name an error the server itself reported. A negative status means it came inside a stream."""
    said = _one_line(error_text(text))
    if status == 404:
        return NotFound(f"the model server says: {said}", "run `ollama list` to see the models that are there")
    if "context" in said and ("exceed" in said or "too long" in said):
        return _overflow(said, limit_tokens)
    if status in (401, 403):
        return ModelError(
            f"the model server wants to know who you are: {said}", "set OLLAMA_API_KEY, or `ollama signin`"
        )
    if status == 400:
        return ModelError(f"the model server refused the request: {said}", None)
    code = f" with {status}" if status > 0 else ""
    return ModelError(f"the model server failed{code}: {said}", _AGAIN_HINT)


def error_text(text: str) -> str:
    """Take the message out of an error body: `{"error": "…"}`, `{"error": {"message": "…"}}`, or plain text."""
    try:
        body = json.loads(text)
    except json.JSONDecodeError:
        return text
    error = body.get("error", text) if isinstance(body, dict) else text
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)


def _overflow(said: str, limit_tokens: int | None) -> MemcliError:
    if room := _SERVER_ROOM.search(said):
        return ContextOverflow("the prompt", int(room[1]), int(room[2]), _LIMIT_HINT)
    excess = _SERVER_EXCESS.search(said)
    if excess and limit_tokens is not None:
        return ContextOverflow("the prompt", limit_tokens + int(excess[1]), limit_tokens, _LIMIT_HINT)
    return ModelError(f"the prompt does not fit the model's context: {said}", _LIMIT_HINT)


def _place(err: httpx.RequestError) -> str:
    try:
        url = err.request.url
    except RuntimeError:
        return "an unknown address"
    return without_password(str(url.copy_with(raw_path=b"/"))).rstrip("/")


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300] or "it gave no reason"
