"""Where a message lies: its conversation's number and its own id in one integer, the key of the table of messages.

A conversation's messages lie side by side in the order of their ids, so that reading and appending walk one tree, and
nothing is looked up twice. It refuses to know what is read there.
"""

from __future__ import annotations

LARGEST_ID = 2**32 - 1
"""The largest id a message can have."""

START = "(select number << 32 from conversations where id = ?1)"
"""Where conversation ?1 begins; null when there is none, which is before everything and finds nothing."""
ONE = f"place = {START} + ?2"
"""Message ?2 of conversation ?1."""
SPAN = f"place between {START} + ?2 and {START} + ?3"
"""The messages ?2 to ?3 of conversation ?1; none where ?3 is the smaller."""


def within(id: int) -> int:
    """Bring an id to what fits in a place: an absurd one finds nothing, and no other conversation's message."""
    return max(0, min(id, LARGEST_ID))
