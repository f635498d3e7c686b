"""Quotes: what may stand in an extractive summary, read from messages or from an earlier summary, and written as lines.

    #41 user: "I need a flight to Newark on May 20th."
    #12 tool get_user_details(user_id=mia_li_3668) → {"name": {"first_name": "Mia", …

It refuses to know which quotes are chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memcli.memory.reasoning import without_reasoning
from memcli.memory.text import MAX_SENTENCE_CHARACTERS, clip, one_line, sentences
from memcli.records import StoredMessage, ToolCall

MAX_TOOL_CHARACTERS = 90
"""What is quoted of a tool's result; it can be looked up again, what people said cannot."""
MAX_ARGUMENT_CHARACTERS = 80
MAX_SENTENCES_A_MESSAGE = 60
"""Further sentences of one message are not considered: it bounds the cost of a pasted document."""
MAX_MESSAGE_CHARACTERS = 40_000

REASONING_TOOLS = ("think", "thinking")
"""Tools that only take a model's reasoning down: neither quoted nor listed."""

SPEAKERS: Mapping[str, str] = {"human": "user", "ai": "assistant"}
"""Role → the word on a line; any other role stands for itself."""


@dataclass(frozen=True, slots=True)
class Quote:
    """One line of an extractive summary."""

    message_id: int
    speaker: str
    """`user`, `assistant`, `system`, `other`, or `tool NAME(ARGUMENTS)`."""
    text: str
    """On one line; ends with an ellipsis where it was clipped."""
    place: int = 0
    """Which sentence of its message it is, counted from 0."""
    is_earlier: bool = False
    """Whether it comes from the previous summary."""
    follows_question: bool = False
    """Whether the message before it, from somebody else, ended by asking."""

    @property
    def is_tool(self) -> bool:
        """Tell whether it reports a tool's work."""
        return self.speaker.startswith("tool ")

    @property
    def is_question(self) -> bool:
        """Tell whether it asks."""
        return self.text.rstrip("\"'”)* ").endswith(("?", "？"))

    @property
    def line(self) -> str:
        """Write it as it stands in a summary."""
        if self.is_tool:
            return f"#{self.message_id} {self.speaker} → {self.text}"
        return f'#{self.message_id} {self.speaker}: "{self.text}"'


def quotes_of(messages: Sequence[StoredMessage]) -> list[Quote]:
    """Read everything that may be quoted, in order. Reasoning and excluded messages are left out.

    A result answers the nearest call of its id before it: real transcripts use an id more than once.
    """
    calls: dict[str, ToolCall] = {}
    quotes: list[Quote] = []
    asker: str | None = None
    for message in messages:
        if message.is_excluded:
            continue
        calls.update((call.id, call) for call in message.tool_calls)
        if message.role == "tool":
            call = calls.get(message.tool_call_id or "")
            if call is None or call.name not in REASONING_TOOLS:
                quotes.append(_tool_quote(message, call))
            continue
        said = _spoken_quotes(message, asker)
        quotes.extend(said)
        if said:
            asker = said[-1].speaker if any(quote.is_question for quote in said[-2:]) else None
    return quotes


def read_summary(text: str) -> tuple[list[str], list[Quote]]:
    """Read an earlier summary back: its prose, a sentence an item, and its quotes, both in order."""
    prose: list[str] = []
    quotes: list[Quote] = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            prose.extend(sentences(line) if line.strip() != HEADING else ())
            continue
        words = match["said"] if match["said"] is not None else match["result"]
        quotes.append(Quote(int(match["id"]), match["speaker"] or match["tool"], words, is_earlier=True))
    return prose, quotes


def joined(quotes: Iterable[Quote]) -> list[Quote]:
    """Join sentences that follow one another in one message into one quote, while it stays short."""
    lines: list[Quote] = []
    last_place = 0
    for quote in quotes:
        last = lines[-1] if lines else None
        if last is not None and _continues(last, last_place, quote):
            lines[-1] = Quote(last.message_id, last.speaker, f"{last.text} {quote.text}", last.place)
        else:
            lines.append(quote)
        last_place = quote.place
    return lines


def describe_call(call: ToolCall) -> str:
    """Write a tool call on one line, its arguments clipped: `book(flight=HAT069, bags=2)`."""
    arguments = ", ".join(f"{name}={value}" for name, value in call.args.items())
    return one_line(f"{call.name or 'tool'}({clip(one_line(arguments), MAX_ARGUMENT_CHARACTERS)})")


HEADING = "Quotes from the conversation, by message:"
"""Opens a summary of quotes, so that a model takes them for a record and not for dialogue to continue."""
_LINE = re.compile(
    r'#(?P<id>[0-9]+) (?:(?P<speaker>user|assistant|system|other): "(?P<said>.*)"|(?P<tool>tool .*?) → (?P<result>.*))'
)
_WIDE_ENDS = ("。", "！", "？", "…")


def _tool_quote(message: StoredMessage, call: ToolCall | None) -> Quote:
    name = describe_call(call) if call else one_line(str(message.data.get("name") or "result"))
    body = clip(one_line(message.text[: 4 * MAX_TOOL_CHARACTERS]), MAX_TOOL_CHARACTERS)
    return Quote(message.id, f"tool {name.replace(' → ', ' ')}", body)


def _spoken_quotes(message: StoredMessage, asker: str | None) -> list[Quote]:
    text = message.text[:MAX_MESSAGE_CHARACTERS]
    if message.role == "ai":
        text = without_reasoning(text)
    speaker = SPEAKERS.get(message.role, message.role)
    answers = asker is not None and asker != speaker
    return [
        Quote(message.id, speaker, clip(sentence, MAX_SENTENCE_CHARACTERS), place, follows_question=answers)
        for place, sentence in enumerate(sentences(text)[:MAX_SENTENCES_A_MESSAGE])
    ]


def _continues(last: Quote, last_place: int, quote: Quote) -> bool:
    return (
        not (last.is_earlier or quote.is_earlier or last.is_tool)
        and (last.message_id, last.speaker, last_place + 1) == (quote.message_id, quote.speaker, quote.place)
        and not last.text.endswith(_WIDE_ENDS)
        and len(last.text) + len(quote.text) < MAX_SENTENCE_CHARACTERS
    )
