"""The user's own editor, opened on one text. It refuses to know what the text is for."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from memcli.cli.terminal import Terminal
from memcli.errors import UsageError


def find_editor(terminal: Terminal, environ: Mapping[str, str] = os.environ) -> Sequence[str]:
    """Find the command that edits a file: $VISUAL, else $EDITOR.

    Raises UsageError when neither is set, or nobody is at a terminal to type.
    """
    if terminal.is_piped or not terminal.can_ask:
        raise UsageError("an editor needs a terminal, and this is a pipe", "run the command in a terminal")
    for name in ("VISUAL", "EDITOR"):
        try:
            command = shlex.split(environ.get(name, ""))
        except ValueError as err:
            raise UsageError(f"{name} cannot be read: {environ[name]!r}", "set it to a command, as `nano`") from err
        if command:
            return command
    raise UsageError("no editor is set", "set VISUAL or EDITOR, as in `EDITOR=nano memcli …`")


def edited(command: Sequence[str], text: str, *, name: str) -> tuple[Path, str]:
    """Let the user edit a text in a file of its own and give the file, which is still there, and what it says now.

    `name` is part of the file's name. Raises UsageError, with no file left, when the editor cannot be run, fails, or
    leaves a file that is no text.
    """
    handle, place = tempfile.mkstemp(prefix=f"memcli-{name}-", suffix=".md")
    path = Path(place)
    with open(handle, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(f"{text}\n")
    try:
        done = subprocess.run([*command, place], check=False)
        if done.returncode:
            raise UsageError(f"{command[0]} ended with code {done.returncode}", "nothing was changed")
        return path, path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as err:
        path.unlink(missing_ok=True)
        raise UsageError(f"{command[0]!r} gave no text back: {_reason(err)}", "check VISUAL and EDITOR") from err
    except UsageError:
        path.unlink(missing_ok=True)
        raise


def _reason(err: OSError | UnicodeDecodeError) -> str:
    return err.strerror or str(err) if isinstance(err, OSError) else "the file is not UTF-8"
