"""The content of an OpenAI-format message: in the one shape we store, and as text for a person.

It refuses to know roles and tool calls.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from memcli.transcripts.lossless_json import Json, encode

Content: TypeAlias = str | list[Json]
"""A text, or a list of texts and part objects."""

_LEFT_OUT = {"reasoning", "reasoning_text", "thinking", "redacted_thinking", "summary_text"}
_MARKERS = {
    "image_url": "[image]",
    "input_image": "[image]",
    "image": "[image]",
    "input_audio": "[audio]",
    "audio": "[audio]",
    "audio_url": "[audio]",
    "video_url": "[video]",
    "video": "[video]",
    "file": "[file]",
    "input_file": "[file]",
}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def read_content(value: Json) -> Content:
    """Give content its stored shape without losing a value.

    null is ''; a part object alone becomes a list of it; null parts go; any other value that is neither text nor a part
    becomes its JSON text, as some tools put a tool's result there as it is.
    """
    if value is None:
        return ""
    if isinstance(value, list):
        return [_read_part(part) for part in value if part is not None]
    part = _read_part(value)
    return part if isinstance(part, str) else [part]


def content_text(content: Json) -> str:
    """Write what a person reads: texts a line each, markers for what is no text, no reasoning. '' for nothing."""
    parts = content if isinstance(content, list) else [content]
    lines = [line for line in map(_part_text, parts) if line is not None]
    return clean("\n".join(lines))


def clean(text: str) -> str:
    """Replace lone surrogates and NUL, which a text column or a screen cannot hold, with visible signs."""
    return _LONE_SURROGATE.sub("\ufffd", text).replace("\0", "\u2400")


def _read_part(part: Json) -> Json:
    if isinstance(part, str) or (isinstance(part, dict) and isinstance(part.get("type"), str)):
        return part
    return encode(part)


def _part_text(part: Json) -> str | None:
    if not isinstance(part, dict):
        return part if isinstance(part, str) else encode(part)
    kind = part.get("type")
    if kind in _LEFT_OUT:
        return None
    for field in ("text", "refusal"):
        text = part.get(field)
        if isinstance(text, str):
            return text
    return _MARKERS.get(str(kind), f"[{kind}]")
