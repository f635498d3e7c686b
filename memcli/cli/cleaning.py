"""Untrusted text made safe to show: model, user and file text may hold anything. It refuses to know Rich.

Whole escape sequences go, because their letters mean nothing to a reader. What is left of control characters becomes
the replacement character, so that a reader sees something was there. Text direction controls go: they reorder what
follows.
"""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"

SEQUENCE = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC with its end: titles, clipboard, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # DCS, SOS, PM, APC with their end
    r"|\x1b[ -/]+[0-~]"  # character sets
    r"|\x1b[0-Z\\^-~]"  # two-letter escapes
)
"""A whole escape sequence, as a regular expression."""
_DIRECTION = "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
_CONTROL = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"
_SUSPECT = re.compile(f"{_DIRECTION}|{_CONTROL}")
"""Every text is tested by this one; the others are compiled when a text first needs them."""


def clean(text: str) -> str:
    """Make text safe to print: printable characters, tabs and newlines are left, nothing a terminal would act on."""
    if _SUSPECT.search(text) is None:
        return text
    text = re.sub(SEQUENCE, "", text)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(_CONTROL, REPLACEMENT, re.sub(_DIRECTION, "", text))


def clean_line(text: str) -> str:
    """Make text safe to print on one line: every run of white space becomes one space."""
    return " ".join(clean(text).split())
