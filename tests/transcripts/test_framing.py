"""A file is cut into values wherever its chunks happen to end."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.transcripts.framing import Frame, frames

CHUNK_BYTES = 65_536
values = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def cut(data: bytes, max_bytes: int = 1_000_000) -> list[Frame]:
    return list(frames(io.BufferedReader(io.BytesIO(data)), lambda line: False, max_bytes=max_bytes))


@given(st.lists(values), st.sampled_from([None, 0, 2]), st.booleans())
def test_an_array_is_cut_into_its_elements(elements: list[object], indent: int | None, ascii: bool) -> None:
    text = json.dumps(elements, indent=indent, ensure_ascii=ascii)
    found = cut(text.encode("utf-8", "surrogatepass"))
    assert [json.loads(frame.data) for frame in found] == elements
    assert {(frame.array, frame.problem) for frame in found} <= {(1, None)}


@pytest.mark.parametrize("shift", range(12))
def test_a_chunk_may_end_anywhere(shift: int) -> None:
    tail = '\\"[{é]},'
    elements = ["x" * (CHUNK_BYTES - shift - 4) + tail, {"a": tail}]
    assert [json.loads(frame.data) for frame in cut(json.dumps(elements).encode())] == elements


def test_a_line_that_is_too_long_costs_itself_and_counts_as_a_line() -> None:
    assert cut(b'"1"\n"' + b"x" * 50 + b'"\n"3"', max_bytes=10) == [
        Frame(1, b'"1"\n'),
        Frame(2, b"", problem="longer than 10 bytes"),
        Frame(3, b'"3"'),
    ]


def test_an_element_that_is_too_long_costs_itself() -> None:
    assert cut(b'[1,\n["' + b"x" * 50 + b'",\n"y"],\n3]', max_bytes=10) == [
        Frame(1, b"1", 1),
        Frame(2, b"", 1, "longer than 10 bytes"),
        Frame(4, b"3", 1),
    ]
