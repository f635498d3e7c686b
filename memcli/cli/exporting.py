"""Conversations written for other tools, one a line in OpenAI's chat format, to a stream or a file of their own.

Used by `memcli export` and the REPL's /export. It refuses to know the format: `transcripts/` does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from memcli.errors import UsageError
from memcli.records import Conversation
from memcli.store import Store
from memcli.transcripts.openai_writer import write_openai

FORMAT = "OpenAI's chat format"


def export_to_file(store: Store, conversations: Iterable[Conversation], path: Path, *, overwrite: bool = False) -> None:
    """Write conversations to a file, whole or not at all. Raises UsageError when it is there or cannot be written."""
    with _written(path, overwrite=overwrite) as out:
        export_to(store, conversations, out)


def export_to(store: Store, conversations: Iterable[Conversation], out: TextIO) -> None:
    """Write conversations to a stream, a message at a time. What a turn that failed or was undone left is not in it."""
    for conversation in conversations:
        write_openai(conversation, store.messages.oldest_first(conversation.id), out)


@contextmanager
def _written(path: Path, *, overwrite: bool) -> Iterator[TextIO]:
    """Open a file to write, and leave what was there before when writing fails."""
    try:
        if not path.exists():
            with _new(path) as file:
                yield file
        elif not overwrite:
            raise UsageError(f"{path} is already there", "name another file, or overwrite it with -y")
        elif path.is_file():
            draft = path.resolve().with_name(f".{path.name}.{os.getpid()}")
            with _new(draft) as file:
                yield file
            draft.replace(path.resolve())
        else:
            with path.open("w", encoding="utf-8") as file:
                yield file
    except OSError as err:
        raise UsageError(f"{path} cannot be written ({err.strerror})", "name another file") from err


@contextmanager
def _new(path: Path) -> Iterator[TextIO]:
    """Make a file that is there only if everything could be written to it."""
    with path.open("x", encoding="utf-8") as file:
        try:
            yield file
        except BaseException:
            path.unlink()
            raise
