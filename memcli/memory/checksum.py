"""A sum of a text, kept in its place, by which another text is noticed. It refuses to know what the text is."""

from __future__ import annotations

import zlib


def checksum(text: str) -> str:
    """Sum a text up: its length in bytes and its CRC-32. What no encoding holds counts as its escape."""
    raw = text.encode("utf-8", "backslashreplace")
    return f"{len(raw)}:{zlib.crc32(raw):08x}"
