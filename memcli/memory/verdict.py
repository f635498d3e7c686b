"""Whether a text that came back is a summary. Pure functions over text; they refuse to know where it came from."""

from __future__ import annotations

import re

from memcli.memory.summarizer import Completion
from memcli.memory.tokens import text_tokens

_ERROR = re.compile(
    r"^\W*(?:(?:\w*error|exception|traceback)[\s*_]*(?:[:(\[]|\d|$)|traceback \(most|an error (?:has )?occurred|"
    r"(?:internal server error|bad gateway|service unavailable|too many requests|rate limit exceeded)\b|"
    r"request timed out\b|"
    r"i(?:['’]m| am) sorry\b|sorry,|i can(?:['’]t|not)\b|i(?:['’]m| am) unable\b|as an ai\b)",
    re.IGNORECASE,
)
_CONTINUES = re.compile(r"^\W*(?:#\d+\s+)?(?:the\s+)?(?:user|human|assistant|ai)\s*:", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][^<>\n]{0,200}>", re.IGNORECASE)
MOST_MARKUP = 0.3
"""The share of a text that tags may take; above it there is no prose. A summary within one pair of tags stays below."""
_WORD = re.compile(r"[^\W\d_]{4,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}")
LEAST_WORDS = 30
"""Content words from which on a summary is expected to share some with what it summarises."""
LEAST_SHARED = 0.15
"""The share of them; a text below it speaks of something else."""


def reject(completion: Completion, text: str, *, max_tokens: int, replaced_tokens: int, source: str) -> str | None:
    """Say why `text`, the completion without its reasoning, is no summary of `source`; None when it is one."""
    tokens = text_tokens(text)
    if completion.asked_for_tools:
        return "the model asked for a tool instead of summarising"
    if not text:
        return "the summary is empty" if not completion.text.strip() else "the answer holds only reasoning"
    if completion.finish_reason == "length":
        return "the summary was cut off before its end"
    if _ERROR.match(text):
        return f"the answer is an error or a refusal: {text[:80]!r}"
    if _CONTINUES.match(text):
        return "the answer continues the conversation instead of summarising it"
    if not completion.is_quoted and sum(map(len, _TAG.findall(text))) > MOST_MARKUP * len(text):
        return "the answer is markup, not prose"
    if tokens >= replaced_tokens:
        return f"the summary ({tokens:,} tokens) is no smaller than what it replaces ({replaced_tokens:,})"
    if tokens > max_tokens:
        return f"the summary ({tokens:,} tokens) is over its cap ({max_tokens:,})"
    if _is_about_something_else(text, source):
        return "the answer does not speak of the conversation"
    return None


def _is_about_something_else(text: str, source: str) -> bool:
    words = [word.lower() for word in _WORD.findall(text)]
    if len(words) < LEAST_WORDS:
        return False
    known = {word.lower() for word in _WORD.findall(source)}
    return sum(word in known for word in words) < LEAST_SHARED * len(words)
