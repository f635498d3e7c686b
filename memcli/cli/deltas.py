"""Text that arrives in pieces, made safe to show: an escape sequence may be cut anywhere.

It refuses to know the screen.
"""

from __future__ import annotations

import re

from memcli.cli.cleaning import SEQUENCE, clean

MOST_HELD = 4096
"""Characters held back in the hope of a sequence's end; what is longer is shown as the text it is."""

_BEGUN = r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[ -/]*)?"
"""The beginning of a sequence."""
_UNFINISHED = re.compile(rf"(?:\r(?:{SEQUENCE})*(?:{_BEGUN})?|{_BEGUN})\Z")
"""What the next piece may turn into something else: a newline may follow a return, whatever is taken from between."""


class Deltas:
    """Clean a text piece by piece; together the pieces are what `clean` makes of the whole."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Take some more text and give what of it is safe to show by now."""
        text = self._held + text
        start = self._cut(text)
        self._held = text[start:]
        return clean(text[:start])

    def end(self) -> str:
        """Give what was held back."""
        held, self._held = self._held, ""
        return clean(held)

    @staticmethod
    def _cut(text: str) -> int:
        found = _UNFINISHED.search(text, max(0, len(text) - MOST_HELD))
        return found.start() if found else len(text)
