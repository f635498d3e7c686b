"""The GGUF header reader, on files written here."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.agent.gguf import Header, context_length, read_header


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def gguf(*entries: bytes, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(entries)) + b"".join(entries)


ARCHITECTURE = text("general.architecture") + struct.pack("<I", 8) + text("llama")
LENGTH = text("llama.context_length") + struct.pack("<II", 4, 2048)
NAME = text("general.name") + struct.pack("<I", 8) + text("Tiny")
TAGS = text("general.tags") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("bc")
SIZES = text("general.sizes") + struct.pack("<IIQ3H", 9, 2, 3, 1, 2, 3)
TOKENS = text("tokenizer.ggml.tokens") + b"never read"


def test_a_header_says_what_the_model_is_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(gguf(LENGTH, TAGS, SIZES, NAME, ARCHITECTURE, TOKENS))
    assert read_header(tmp_path / "m") == Header("llama", "Tiny", 2048)
    assert context_length(tmp_path / "m") == 2048


def test_a_header_that_does_not_say_a_length_gives_none(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(gguf(ARCHITECTURE, TOKENS))
    assert read_header(tmp_path / "m") == Header("llama", None, None)
    assert context_length(tmp_path / "m") is None


@pytest.mark.parametrize("content", [b"", b"GGUF", b"PK\x03\x04" * 9, gguf(version=1), gguf(b"\xff" * 40)])
def test_what_is_no_gguf_file_gives_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m").write_bytes(content)
    assert read_header(tmp_path / "m") is None


def test_a_directory_or_an_absent_file_gives_none(tmp_path: Path) -> None:
    assert (read_header(tmp_path), context_length(tmp_path / "absent")) == (None, None)


@given(cut=st.integers(min_value=0, max_value=len(gguf(LENGTH, TAGS, SIZES, NAME, ARCHITECTURE)) - 1))
def test_a_header_cut_anywhere_gives_none(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.getbasetemp() / "cut"
    path.write_bytes(gguf(LENGTH, TAGS, SIZES, NAME, ARCHITECTURE)[:cut])
    assert read_header(path) is None
