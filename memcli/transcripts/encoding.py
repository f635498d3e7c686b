"""Bytes of a transcript file as UTF-8, whatever byte order mark it came with.

It refuses to guess eight-bit encodings: bytes that are not UTF-8 stay as they are, for the reader to name.
"""

from __future__ import annotations

import codecs
import io
import json
from typing import TYPE_CHECKING, BinaryIO, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_CHUNK_BYTES = 65_536


def as_utf8(stream: BinaryIO) -> io.BufferedReader:
    """Give the stream's bytes as UTF-8 without a byte order mark; UTF-16 and UTF-32 are transcoded as they are read.

    Half a surrogate pair comes out as bytes that are not UTF-8, so that its line is named and the rest is read.
    """
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", stream))
    start = buffered.peek(4)[:4]
    encoding = json.detect_encoding(start)
    if encoding == "utf-8":
        return buffered
    if encoding == "utf-8-sig":
        buffered.read(len(codecs.BOM_UTF8))
        return buffered
    return io.BufferedReader(_Transcoder(buffered, encoding), _CHUNK_BYTES)


class _Transcoder(io.RawIOBase):
    """Read another Unicode encoding as UTF-8."""

    def __init__(self, source: io.BufferedReader, encoding: str) -> None:
        self._source = source
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
        self._pending = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        while not self._pending:
            chunk = self._source.read(_CHUNK_BYTES)
            if not chunk:
                return 0
            self._pending = self._decoder.decode(chunk).encode("utf-8", "surrogatepass")
        taken, self._pending = self._pending[: len(target)], self._pending[len(target) :]
        target[: len(taken)] = taken
        return len(taken)
