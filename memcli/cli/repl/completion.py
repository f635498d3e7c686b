"""Tab at the prompt: the slash commands with what they do, and the names some of them take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

Names = Callable[[], Iterable[str]]


class SlashCompleter(Completer):
    """Complete slash commands by their names and aliases, and their arguments where `arguments` knows any."""

    def __init__(self, helps: Mapping[str, str], arguments: Mapping[str, Names]) -> None:
        self._helps = helps
        self._arguments = arguments

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002
        """Yield what the text before the cursor may become."""
        text = document.text_before_cursor
        if not text.startswith("/") or text.startswith("//") or "\n" in text:
            return
        name, space, argument = text[1:].partition(" ")
        if not space:
            for known, help in self._helps.items():
                if known.startswith(name.lower()):
                    yield Completion(f"/{known}", start_position=-len(text), display_meta=help)
        elif name in self._arguments:
            for value in self._arguments[name]():
                if value.startswith(argument):
                    yield Completion(value, start_position=-len(argument))
