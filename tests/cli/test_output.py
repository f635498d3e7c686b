"""JSON documents: the version first, rows as they come, and a document that stays whole when reading fails."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from memcli.cli.output import ReportedError, document, stream_document, stream_lines
from memcli.errors import StoreCorrupt


def test_a_document_begins_with_its_version() -> None:
    assert document({"a": [1]}) == '{\n  "version": 1,\n  "a": [\n    1\n  ]\n}\n'


@pytest.mark.parametrize("rows", [[], [{"id": 1}], [{"id": 1}, {"id": 2, "text": "\x1b\ud800"}]])
def test_a_streamed_document_is_one_document(rows: list[dict[str, object]]) -> None:
    written: list[str] = []
    stream_document(written.append, {"head": {"x": 1}}, "rows", rows)
    assert json.loads("".join(written)) == {"version": 1, "head": {"x": 1}, "rows": rows}


def test_rows_are_written_as_they_come() -> None:
    written: list[str] = []

    def rows() -> Iterator[dict[str, object]]:
        yield {"id": 1}
        assert written == ['{"id": 1}\n']
        yield {"id": 2}

    stream_lines(written.append, rows())
    assert written == ['{"id": 1}\n', '{"id": 2}\n']


def test_a_document_whose_reading_fails_half_way_is_completed_with_the_error() -> None:
    written: list[str] = []

    def rows() -> Iterator[dict[str, object]]:
        yield {"id": 1}
        raise StoreCorrupt("the store is damaged", "restore a copy")

    with pytest.raises(ReportedError) as ended:
        stream_document(written.append, {}, "rows", rows())
    error = {"message": "the store is damaged", "hint": "restore a copy", "exit_code": 7}
    assert (ended.value.exit_code, json.loads("".join(written))) == (
        7, {"version": 1, "rows": [{"id": 1}], "error": error},
    )  # fmt: skip
