"""JSON on stdout: one versioned document, or one object a line. It refuses to know what a record means.

Everything is ASCII with escapes, so no terminal, pipe or locale can break it, and nothing is cleaned: a reader of JSON
gets the exact text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from memcli.errors import MemcliError

VERSION = 1
"""The version at the top of every document. Keys may be added without changing it; none is renamed or removed."""

Json = Mapping[str, object]
Write = Callable[[str], None]


def document(body: Json) -> str:
    """Write one document as text, the version first."""
    return json.dumps({"version": VERSION, **body}, indent=2, default=_plain) + "\n"


def line(row: Json) -> str:
    """Write one object as one line of text."""
    return json.dumps(row, default=_plain) + "\n"


def stream_lines(write: Write, rows: Iterable[Json]) -> None:
    """Write one object a line, each as soon as it is there."""
    for row in rows:
        write(line(row))


def stream_document(write: Write, head: Json, key: str, rows: Iterable[Json]) -> None:
    """Write one document whose last key is an array, a row at a time.

    When reading fails half-way the document is still completed, with the error as one more key, and the error is raised
    as ReportedError.
    """
    opening = json.dumps({"version": VERSION, **head}, default=_plain)[:-1]
    write(f"{opening}, {json.dumps(key)}: [")
    separator = "\n"
    try:
        for row in rows:
            write(separator + json.dumps(row, default=_plain))
            separator = ",\n"
    except MemcliError as err:
        write(f'\n], "error": {json.dumps(error_body(err))}}}\n')
        raise ReportedError(err.exit_code) from err
    write("\n]}\n")


def error_body(err: MemcliError) -> Json:
    """Describe an error as the value of a document's `error`."""
    return {"message": err.message, "hint": err.hint, "exit_code": err.exit_code}


class ReportedError(Exception):
    """Carry the exit code of an error that is in the output already."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)
