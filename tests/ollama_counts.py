"""What a stand-in Ollama server counts of a prompt: as a tokenizer would, the tools' schemas with it.

It refuses to know anything of memcli: its counts are not memcli's estimates under another name.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence

from tests.ollama_replies import Json

Counter = Callable[[Sequence[Json], Sequence[Json]], int]
"""Counts a request's messages and tools."""

FRAME_TOKENS = 5
"""What a chat template puts around a message. Source: ChatML."""
TOOLS_PREAMBLE_TOKENS = 90
"""What a chat template says about tools before their schemas. Source: Qwen2.5's template, roughly."""
_TOKEN = re.compile(r" ?[A-Za-z]{1,7}|[0-9]{1,2}|[^\x00-\x7f]{1,2}|[!-/:-@\[-`{-~]{1,2}|\s+(?=\S)|\s+")


def tokens(text: str) -> int:
    """Count a text's tokens: up to seven letters, two digits, two signs, two characters of another script."""
    return len(_TOKEN.findall(text))


def as_tokenizers(messages: Sequence[Json], tools: Sequence[Json]) -> int:
    """Count a prompt as a tokenizer does."""
    spoken = sum(tokens(_content(message)) + _calls(message) + FRAME_TOKENS for message in messages)
    offered = sum(tokens(json.dumps(tool)) for tool in tools)
    return spoken + (offered + TOOLS_PREAMBLE_TOKENS if tools else 0)


def as_characters(messages: Sequence[Json], tools: Sequence[Json]) -> int:
    """Count a prompt without a tokenizer: characters / 4 rounded up, + 3 a message; the tools not at all."""
    return sum(math.ceil(len(_content(message)) / 4) + 3 for message in messages)


def _content(message: Json) -> str:
    return str(message.get("content") or "")


def _calls(message: Json) -> int:
    calls = message.get("tool_calls")
    return tokens(json.dumps(calls, ensure_ascii=False)) if calls else 0
