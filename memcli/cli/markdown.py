"""Markdown as a model writes it: cut into blocks while it arrives, and drawn without losing a character of it.

Departures from Rich's own rendering: HTML is shown as text instead of being dropped, a line break stays a line break,
headings stand on the left, and a link shows its address. It refuses to know where the text comes from.
"""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.segment import Segment
from rich.syntax import Syntax

CODE_THEME = "ansi_dark"
"""Uses the terminal's own colours and paints no background, so it is readable on dark and on light."""


class Answer(Markdown):
    """Markdown from a model; the text must have been cleaned."""

    def __init__(self, text: str) -> None:
        super().__init__("", code_theme=CODE_THEME, hyperlinks=False)
        self.markup = text
        self.parsed = _parse(text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it without empty lines before and after."""
        lines = list(Segment.split_lines(super().__rich_console__(console, options)))  # type: ignore[arg-type]
        while lines and _is_blank(lines[-1]):
            lines.pop()
        while lines and _is_blank(lines[0]):
            lines.pop(0)
        for line in lines:
            yield from line
            yield Segment.line()


class Blocks:
    """Cut a text that is still arriving into Markdown blocks that are complete and the one that is not."""

    def __init__(self) -> None:
        self.rest = ""
        """The block that is still growing."""

    def feed(self, text: str) -> str:
        """Take some more text and give what is complete by now; "" when nothing is."""
        self.rest += text
        if "\n" not in text:
            return ""
        starts = [token.map[0] for token in _parser().parse(self.rest) if token.level == 0 and token.map is not None]
        if len(starts) < 2:
            return ""
        lines = self.rest.splitlines(keepends=True)
        done, self.rest = "".join(lines[: starts[-1]]), "".join(lines[starts[-1] :])
        return done

    def end(self) -> str:
        """Give what is left: the text is over."""
        rest, self.rest = self.rest, ""
        return rest


class _LeftHeading(Heading):
    """A heading that stands where the text stands."""

    LEVEL_ALIGN = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _Code(CodeBlock):
    """Code as it is, indented by nothing, so that it can be copied from the screen."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it in the terminal's colours."""
        yield Syntax(
            str(self.text).rstrip(), self.lexer_name, theme=self.theme, word_wrap=True, background_color="default"
        )


Answer.elements = {**Markdown.elements, "heading_open": _LeftHeading, "fence": _Code, "code_block": _Code}


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


def _parse(text: str) -> list[Token]:
    tokens = _parser().parse(text)
    for token in tokens:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"
    return tokens


def _is_blank(line: list[Segment]) -> bool:
    return not "".join(segment.text for segment in line).strip()
