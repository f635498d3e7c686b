"""What was typed, told apart: a slash command or something to say. It refuses to know which commands there are."""

from __future__ import annotations

from dataclasses import dataclass

QUOTES = '"""'


@dataclass(frozen=True, slots=True)
class Slash:
    """A slash command as it was typed."""

    name: str
    """Without the slash, in small letters."""
    argument: str


@dataclass(frozen=True, slots=True)
class Say:
    """Something for the model."""

    text: str


def read(typed: str) -> Slash | Say | None:
    """Tell what was typed; None is nothing. `//` says a text that begins with one slash; three quotes around one go."""
    text = typed.encode("utf-8", "replace").decode("utf-8").strip()
    if text.startswith("//"):
        return Say(text[1:])
    if text.startswith("/"):
        name, _, argument = text[1:].partition(" ") if " " in text.split("\n")[0] else text[1:].partition("\n")
        return Slash(name.strip().lower(), argument.strip())
    if text.startswith(QUOTES):
        text = text[len(QUOTES) :].removesuffix(QUOTES).strip("\n")
    return Say(text) if text.strip() else None


def is_open_block(text: str) -> bool:
    """Tell whether a text begins a block of three quotes that has not ended: then Enter begins a new line."""
    text = text.strip()
    return text.startswith(QUOTES) and not (len(text) >= 2 * len(QUOTES) and text.endswith(QUOTES))
