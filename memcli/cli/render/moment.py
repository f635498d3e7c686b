"""The picture of an earlier moment: the same sections as the next call's, and how that call went."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memcli.cli.cleaning import clean_line
from memcli.cli.picture import Picture
from memcli.cli.render.bar import LimitBar
from memcli.cli.render.ledger import ledger_table
from memcli.cli.render.palette import Detail, counted
from memcli.cli.render.parts import parts_table
from memcli.cli.render.sections import inside, spaced
from memcli.cli.render.sides import Sides, plain_sides
from memcli.cli.render.words import called, when
from memcli.memory.alarm import Alarm
from memcli.memory.travel import Moment
from memcli.records import Call


@dataclass(frozen=True, slots=True)
class MomentView:
    """An earlier context as it is shown."""

    moment: Moment
    picture: Picture
    alarm: Alarm | None
    detail: Detail

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw every section, a blank line between two."""
        is_full, is_plain = self.detail != "brief", self.detail == "plain"
        sections: list[RenderableType] = [
            self._heading(),
            parts_table(self.picture.context, detail=self.detail),
            LimitBar(self.picture.context),
            ledger_table(self.picture, full=is_full),
            plain_sides(self.picture) if is_plain else Sides(self.picture, full=is_full),
            self._notes(),
        ]
        yield from spaced(console, inside(options, self.detail), sections)

    def _heading(self) -> Text:
        conversation, call, at = self.picture.conversation, self.moment.call, self.moment.last_message_id
        name = called(conversation)
        told = Text.assemble((name, "bold"), "  ")
        if call is not None:
            told.append(f"what call {call.id} saw, at #{at}", "bold")
            told.append(f" · recorded · memory {self.picture.context.memory} · {clean_line(call.model)}", "dim")
            return told.append(f" · {when(call.started_at)}", "dim")
        told.append(f"what a call would have seen at #{at}", "bold")
        return told.append(f" · rebuilt: no call was made here · memory {self.picture.context.memory}", "dim")

    def _notes(self) -> Padding:
        table = Table.grid(padding=(0, 1))
        table.add_column(no_wrap=True)
        table.add_column()
        call = self.moment.call
        if call is not None:
            table.add_row(Text("ended:"), ended_text(call))
        for name, said in self._counts():
            table.add_row(Text(f"{name}:"), said)
        for departure in self.picture.context.departures:
            table.add_row(Text("departure:", "yellow"), Text(departure))
        if self.alarm is not None:
            table.add_row(Text("alarm:", "bold red"), Text(clean_line(self.alarm.text), "red"))
            if self.alarm.error.hint:
                table.add_row("", Text(self.alarm.error.hint, "dim"))
        return Padding(table, (0, 1), expand=False)

    def _counts(self) -> list[tuple[str, Text]]:
        """Write the three numbers, each with its measure."""
        picture, call = self.picture, self.moment.call
        rows = [
            ("budget", _number(picture.context.prompt_tokens, "characters ÷ 4, + 3 a message; every part adds up")),
            ("estimate", _number(picture.estimate.tokens, f"what a tokenizer makes of it, {picture.estimate.method}")),
        ]
        if call is not None and call.input_tokens is not None:
            rows.append(("reported", _number(call.input_tokens, f"the prompt as {clean_line(call.model)} counted it")))
        else:
            nobody = "no call was made" if call is None else "the server gave no count"
            rows.append(("reported", Text(f"– · {nobody}", "dim")))
        return rows


def _number(tokens: int, meaning: str) -> Text:
    return Text.assemble((f"{tokens:,}", "bold"), (f" · {clean_line(meaning)}", "dim"))


def ended_text(call: Call) -> Text:
    """Write how a call ended."""
    style = {"done": "green", "failed": "bold red"}.get(call.status, "yellow")
    said = Text(call.status, style)
    if call.output_tokens is not None:
        said.append(f" · {counted(call.output_tokens, 'token')} answered")
    if call.duration_ms is not None:
        said.append(f" · {call.duration_ms / 1000:.1f} s")
    return said.append(f" · {clean_line(call.error)}", "red") if call.error else said
