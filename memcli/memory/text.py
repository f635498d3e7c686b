"""Text as memory reads it: cleaned, cut into sentences, clipped with a marker.

It refuses to know what a text is for; nothing here counts tokens or knows a message.
"""

from __future__ import annotations

import re
import unicodedata

ELLIPSIS = "…"
"""Ends every clipped text."""
MAX_SENTENCE_CHARACTERS = 280
"""Lines of a list are joined up to this length, and nothing longer is quoted whole."""


def one_line(text: str) -> str:
    """Join a text into one line: whitespace collapsed; control, bidi and lone surrogate characters removed."""
    if not text.isascii() or not text.isprintable():
        text = "".join(char for char in text if not _is_hidden(char))
    return " ".join(text.split())


def sentences(text: str) -> list[str]:
    """Cut a text into sentences, in order, each on one line. [] for a text without visible characters.

    Lines end sentences; the lines of a list are kept together with the line that opens it as far as they fit.
    """
    found: list[str] = []
    is_open = False
    for raw in text.splitlines():
        line = one_line(raw)
        if not line:
            is_open = False
            continue
        item = _LIST_ITEM.match(line) is not None
        if item and is_open and len(found[-1]) + len(line) < MAX_SENTENCE_CHARACTERS:
            found[-1] = f"{found[-1]} {line}"
        else:
            found.extend(part for part in _SENTENCE_END.split(line) if part)
        is_open = item or line.endswith((":", "："))
    return found


def clip(text: str, max_characters: int) -> str:
    """Shorten a text to at most `max_characters`, its ellipsis included; cut at a word where one is near.

    A character is never parted from the marks, joiners and modifiers that belong to it. '' where not even one
    character and the ellipsis fit.
    """
    if len(text) <= max_characters:
        return text
    end = max(0, max_characters - len(ELLIPSIS))
    while end > 0 and (_clings(text[end]) or text[end - 1] == _JOINER):
        end -= 1
    space = text.rfind(" ", 0, end + 1)
    head = text[: space if space > end * 2 // 3 else end].rstrip()
    return head + ELLIPSIS if head else ""


_JOINER = "\u200d"
_KEPT_FORMATS = ("\u200c", _JOINER)
"""Format characters that belong to words and emoji; the other ones hide or reorder text."""
_LIST_ITEM = re.compile(r"(?:[-*•–+]|[0-9]{1,2}[.)])\s")
_ABBREVIATIONS = r"(?<!\b[DMJS]r\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bNo\.)(?<!\bvs\.)(?<!\betc\.)"
_BEFORE = r"""(?:(?<=[^\W\d_]{2}[.!?…])|(?<=[0-9]{2}[.!?…])|(?<=[)"'”»*%][.!?…])|(?<=[.!?]["'”»)*]))"""
"""A full stop ends a sentence after a word, a number, a quote or a bracket; not after an initial or a list number."""
_AFTER = r"""(?=["'“«(*\[]*[^\Wa-z_])"""
"""… and before a capital, a digit or a script without capitals."""
_SENTENCE_END = re.compile(rf"{_ABBREVIATIONS}{_BEFORE}\s+{_AFTER}|(?<=[!?])\s+|(?<=[。！？])\s*")


def _is_hidden(char: str) -> bool:
    return not char.isspace() and unicodedata.category(char) in ("Cc", "Cf", "Cs") and char not in _KEPT_FORMATS


def _clings(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Me", "Mc") or char == _JOINER or "\U0001f3fb" <= char <= "\U0001f3ff"
