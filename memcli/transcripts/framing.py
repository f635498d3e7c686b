"""Where one JSON value of a file ends and the next begins, without holding the file.

Two kinds of file: lines (one value a line, so that one bad line costs one line) and documents (values over many lines;
an array is opened and its elements come one by one). It refuses to parse what it frames, and to know what a chat is.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain

MAX_VALUE_BYTES = 256 * 1024 * 1024
"""One line or array element may be this long; a longer one is named and passed over, so that memory is bounded."""
_CHUNK_BYTES = 65_536
_STRUCTURE = re.compile(rb'["\[\]{},]')
_REST_OF_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Frame:
    """The bytes of one value and where it stands."""

    line: int
    """The line it begins on, from 1."""
    data: bytes
    """Empty when there is a problem."""
    array: int | None = None
    """Which of the file's arrays it is an element of, from 1; None for a value that stands alone."""
    problem: str | None = None
    """Why there are no bytes."""


def frames(
    stream: io.BufferedReader, is_record: Callable[[bytes], bool], *, max_bytes: int = MAX_VALUE_BYTES
) -> Iterator[Frame]:
    """Cut the stream into values, in file order. Nothing for an empty or blank file.

    `is_record` tells whether bytes are by themselves a whole value of the kind that is looked for; it decides between
    lines and a document where the first line alone cannot. A value longer than `max_bytes` is a problem, not bytes.
    """
    line_number = _pass_blanks(stream)
    if stream.peek(1)[:1] == b"[":
        return _document_frames(_chunks(stream), _Splitter(line_number, max_bytes))
    lines = _lines(stream, max_bytes)
    first = next(lines, b"")
    if not first.startswith(b"{") or is_record(first) or not _is_left_open(first):
        return _line_frames(chain([first], lines), line_number, max_bytes)
    second = next(lines, b"")
    if is_record(second):
        return _line_frames(chain([first, second], lines), line_number, max_bytes)
    return _document_frames(chain([first, second], _chunks(stream)), _Splitter(line_number, max_bytes))


def _pass_blanks(stream: io.BufferedReader) -> int:
    """Read up to the first byte that is not white space and tell its line number."""
    number = 1
    while (byte := stream.peek(1)[:1]) and byte.isspace():
        number += stream.read(1) == b"\n"
    return number


def _lines(stream: io.BufferedReader, max_bytes: int) -> Iterator[bytes]:
    """Read lines with their newlines; a longer one than `max_bytes` comes in pieces of one byte more."""
    return iter(lambda: stream.readline(max_bytes + 1), b"")


def _chunks(stream: io.BufferedReader) -> Iterator[bytes]:
    return iter(lambda: stream.read(_CHUNK_BYTES), b"")


def _is_left_open(line: bytes) -> bool:
    splitter = _Splitter(1, len(line))
    for _ in splitter.feed(line):
        return False
    return splitter.depth > 0 and not splitter.is_in_string


def _line_frames(pieces: Iterator[bytes], line_number: int, max_bytes: int) -> Iterator[Frame]:
    tail_of_long_line = False
    for piece in pieces:
        whole = piece.endswith(b"\n") or len(piece) <= max_bytes
        if not whole and not tail_of_long_line:
            yield Frame(line_number, b"", problem=_too_long(max_bytes))
        elif whole and not tail_of_long_line and piece.strip():
            yield Frame(line_number, piece)
        tail_of_long_line = not whole
        line_number += piece.endswith(b"\n")


def _document_frames(chunks: Iterator[bytes], splitter: _Splitter) -> Iterator[Frame]:
    for chunk in chunks:
        yield from splitter.feed(chunk)
    yield from splitter.finish()


def _too_long(max_bytes: int) -> str:
    return f"longer than {max_bytes:,} bytes"


@dataclass(slots=True)
class _Splitter:
    """Follow brackets and strings over chunks of bytes, and give each value when it is complete."""

    line: int
    max_bytes: int
    depth: int = 0
    is_in_string: bool = False
    array: int | None = None
    _arrays: int = 0
    _value: bytearray = field(default_factory=bytearray)
    _overflowed: bool = False
    _lines_passed: int = 0
    _held: bytes = b""

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        chunk, self._held = self._held + chunk, b""
        backslashes = len(chunk) - len(chunk.rstrip(b"\\"))
        if backslashes % 2:
            chunk, self._held = chunk[:-1], b"\\"
        position = 0
        while position < len(chunk):
            if self.is_in_string:
                position = self._pass_string(chunk, position)
                continue
            found = _STRUCTURE.search(chunk, position)
            self._keep(chunk[position : found.start() if found else len(chunk)])
            if found is None:
                return
            position = found.end()
            yield from self._meet(found.group())

    def finish(self) -> Iterator[Frame]:
        """Give what is left at the end of the file."""
        if self.depth > (self.array is not None) or self.is_in_string:
            yield Frame(self.line, b"", self.array, "the file ends inside it")
        else:
            yield from self._close()
            if self.array is not None:
                yield Frame(self.line, b"", self.array, "the file ends inside an array")

    def _pass_string(self, chunk: bytes, position: int) -> int:
        match = _REST_OF_STRING.match(chunk, position)
        end = match.end() if match else position
        if end < len(chunk):
            self.is_in_string = False
            end += 1
        self._keep(chunk[position:end])
        return end

    def _meet(self, token: bytes) -> Iterator[Frame]:
        if token == b"[" and self.depth == 0:
            yield from self._close()
            self._arrays += 1
            self.array, self.depth = self._arrays, 1
        elif token == b"]" and self.depth == 1 and self.array is not None:
            yield from self._close()
            self.array, self.depth = None, 0
        elif token == b"," and self.depth == (self.array is not None):
            yield from self._close()
        else:
            yield from self._meet_inside(token)

    def _meet_inside(self, token: bytes) -> Iterator[Frame]:
        self._keep(token)
        if token == b'"':
            self.is_in_string = True
        elif token in b"[{":
            self.depth += 1
        elif token in b"]}":
            self.depth = max(self.depth - 1, int(self.array is not None))
            if self.depth == 0:
                yield from self._close()

    def _keep(self, data: bytes) -> None:
        if not self._value and not self._overflowed:
            stripped = data.lstrip()
            self.line += data.count(b"\n", 0, len(data) - len(stripped))
            data = stripped
        if len(self._value) + len(data) > self.max_bytes:
            self._lines_passed += self._value.count(b"\n")
            self._value.clear()
            self._overflowed = True
        if self._overflowed:
            self._lines_passed += data.count(b"\n")
        else:
            self._value += data

    def _close(self) -> Iterator[Frame]:
        if self._overflowed:
            yield Frame(self.line, b"", self.array, _too_long(self.max_bytes))
        elif self._value:
            yield Frame(self.line, bytes(self._value), self.array)
        self.line += self._lines_passed + self._value.count(b"\n")
        self._value.clear()
        self._overflowed, self._lines_passed = False, 0
