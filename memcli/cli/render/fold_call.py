"""A compaction's call as a screen: what it was, the two messages its summarizer saw, how it ended."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from memcli.cli.cleaning import clean_line
from memcli.cli.render.moment import ended_text
from memcli.cli.render.palette import counted, spans
from memcli.cli.render.raw import raw_text
from memcli.cli.render.words import called, when
from memcli.memory.fold_call import FoldCall
from memcli.memory.wire import WireMessage
from memcli.records import Conversation


@dataclass(frozen=True, slots=True)
class FoldCallView:
    """What a summarizer saw."""

    conversation: Conversation
    seen: FoldCall
    messages: tuple[WireMessage, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the heading, the messages as they are, and the counts."""
        yield self._heading()
        yield Text("")
        for message in self.messages:
            yield raw_text(message)
        yield self._ended()

    def _heading(self) -> Text:
        call, shown = self.seen.call, self.seen.shown
        name = called(self.conversation)
        what = f"{spans(shown)} ({counted(shown.count, 'message')})" if shown else "summaries of turns"
        told = Text.assemble((name, "bold"), "  ", (f"what call {call.id} saw: it folded {what}", "bold"))
        return told.append(f" · recorded · {clean_line(call.model)} · {when(call.started_at)}", "dim")

    def _ended(self) -> Text:
        call = self.seen.call
        reported = f"{call.input_tokens:,}" if call.input_tokens is not None else "none"
        told = Text(" ended:    ").append_text(ended_text(call))
        return told.append(f"\n estimate: {call.estimated_tokens:,} · by script\n reported: {reported}")
