"""What was typed at the prompt, kept in a file for its owner's eyes only. It refuses to know what it means."""

from __future__ import annotations

import os
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from memcli.config import private_directory


def open_history(path: Path) -> History:
    """Open the file (mode 0600, its directory 0700), or keep history in memory where it cannot be written."""
    try:
        private_directory(path.parent)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return TypedHistory(str(path))


class TypedHistory(FileHistory):
    """A history file that takes any text a terminal can send, and a disk that is full."""

    def store_string(self, string: str) -> None:
        """Append one text. What no file can hold is replaced; what cannot be written is left out."""
        try:
            super().store_string(string.encode("utf-8", "replace").decode("utf-8"))
        except OSError:
            return
