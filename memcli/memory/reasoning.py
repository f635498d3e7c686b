"""Reasoning in a model's text: it is kept beside a message, never summarised and never counted as an answer."""

from __future__ import annotations

import re

_TAGS = r"think|thinking|thought|reasoning|reflection|scratchpad"
_OPEN_OR_CLOSE = re.compile(rf"<(/?)\s*(?:{_TAGS})\b[^>]*>", re.IGNORECASE)


def without_reasoning(text: str) -> str:
    """Take reasoning out: closed, nested and unclosed tags, and an answer whose opening tag was lost."""
    kept: list[str] = []
    depth, place = 0, 0
    for tag in _OPEN_OR_CLOSE.finditer(text):
        if depth == 0:
            kept.append(text[place : tag.start()])
        if tag.group(1):
            if depth == 0:
                kept.clear()
            depth = max(0, depth - 1)
        else:
            depth += 1
        place = tag.end()
    if depth == 0:
        kept.append(text[place:])
    return "".join(kept).strip()


def answer_text(text: str) -> str:
    """Take the reasoning off an answer that begins with it. A tag further on is what it speaks of, and stays."""
    first = _OPEN_OR_CLOSE.search(text)
    if first is None or (not first.group(1) and text[: first.start()].strip()):
        return text
    return without_reasoning(text)
