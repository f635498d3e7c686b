"""What a GGUF model file says of itself, read from its header without loading it.

It refuses to know the runtime that runs the file, and reads no tensor. Layout: the GGUF specification of ggml
(docs/gguf.md), versions 2 and 3: magic, version, number of tensors, number of keys, then the keys with their values.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Header:
    """What is worth knowing before a model is loaded; None where the file does not say."""

    architecture: str | None
    name: str | None
    context_length: int | None
    """The longest context the model was trained on, in the model's own tokens."""


def read_header(path: Path) -> Header | None:
    """Read a model file's header. None when it is missing, unreadable, damaged or not GGUF version 2 or later."""
    try:
        with path.open("rb") as file:
            return _describe(dict(_scalars(file)))
    except (OSError, ValueError, struct.error):
        return None


def context_length(path: Path) -> int | None:
    """Read the longest context a model was trained on, in its own tokens; None when the file does not say."""
    header = read_header(path)
    return header.context_length if header else None


_MAGIC = b"GGUF"
_FIRST_VERSION = 2
"""Version 1 counted in 32 bits; no model in use has it."""
_STRING, _ARRAY = 8, 9
_LAYOUTS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_LONGEST_STRING = 1 << 24
"""A longer string means a damaged file; chat templates take some thousands of bytes."""


def _describe(values: dict[str, Scalar]) -> Header:
    architecture = values.get("general.architecture")
    name = values.get("general.name")
    length = values.get(f"{architecture}.context_length")
    return Header(
        architecture if isinstance(architecture, str) else None,
        name if isinstance(name, str) else None,
        length if isinstance(length, int) and length > 0 else None,
    )


def _scalars(file: BinaryIO) -> Iterator[tuple[str, Scalar]]:
    """Yield the keys that hold one value, up to the tokenizer's: its lists are long and come last."""
    if file.read(len(_MAGIC)) != _MAGIC or int(_number(file, "<I")) < _FIRST_VERSION:
        raise ValueError("not a GGUF file of version 2 or later")
    _number(file, "<Q")
    for _ in range(int(_number(file, "<Q"))):
        key = _string(file)
        kind = int(_number(file, "<I"))
        if key.startswith("tokenizer."):
            return
        if kind == _ARRAY:
            _skip_array(file)
        else:
            yield key, _value(file, kind)


def _value(file: BinaryIO, kind: int) -> Scalar:
    if kind == _STRING:
        return _string(file)
    if kind not in _LAYOUTS:
        raise ValueError(f"unknown GGUF value type {kind}")
    return _number(file, _LAYOUTS[kind])


def _skip_array(file: BinaryIO) -> None:
    kind, length = int(_number(file, "<I")), int(_number(file, "<Q"))
    if kind in _LAYOUTS:
        file.seek(length * struct.calcsize(_LAYOUTS[kind]), 1)
        return
    for _ in range(length):
        if kind == _ARRAY:
            _skip_array(file)
        else:
            _value(file, kind)


def _number(file: BinaryIO, layout: str) -> int | float | bool:
    number: int | float | bool = struct.unpack(layout, file.read(struct.calcsize(layout)))[0]
    return number


def _string(file: BinaryIO) -> str:
    length = int(_number(file, "<Q"))
    if length > _LONGEST_STRING:
        raise ValueError(f"a GGUF string of {length} bytes")
    data = file.read(length)
    if len(data) < length:
        raise ValueError("the GGUF header ends early")
    return data.decode("utf-8", errors="replace")
