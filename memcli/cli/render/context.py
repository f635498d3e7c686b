"""The picture of a context: its parts, the limit's bar, where every message is, and the summary beside the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memcli.cli.cleaning import clean_line
from memcli.cli.picture import Picture
from memcli.cli.render.bar import LimitBar
from memcli.cli.render.ledger import ledger_table
from memcli.cli.render.palette import Detail, counted, span
from memcli.cli.render.parts import parts_table
from memcli.cli.render.sections import inside, spaced
from memcli.cli.render.sides import Sides, plain_sides
from memcli.cli.render.words import called, percent

if TYPE_CHECKING:
    from memcli.memory.lacking import Lacks
    from memcli.memory.prefix import Reuse


class ContextView:
    """The picture as it is shown, as wide as the terminal lets it be."""

    def __init__(self, picture: Picture, detail: Detail = "brief") -> None:
        self.picture = picture
        self.detail = detail

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw every section, a blank line between two."""
        is_full = self.detail != "brief"
        is_plain = self.detail == "plain"
        sections: list[RenderableType] = [
            heading(self.picture),
            parts_table(self.picture.context, detail=self.detail),
            LimitBar(self.picture.context),
            ledger_table(self.picture, full=is_full),
            plain_sides(self.picture) if is_plain else Sides(self.picture, full=is_full),
            notes(self.picture),
        ]
        yield from spaced(console, inside(options, self.detail), sections)


def heading(picture: Picture) -> Text:
    """Name the conversation and the moment."""
    conversation, context = picture.conversation, picture.context
    name = called(conversation)
    facts = [f"what the agent sees next · memory {context.memory}"]
    if picture.is_elsewhere:
        facts = [f"what it would see under memory {context.memory} · kept under {conversation.memory}"]
    if conversation.model:
        facts.append(clean_line(conversation.model))
    stored = f"{counted(conversation.last_message_id, 'message')} stored"
    return Text.assemble((name, "bold"), (f"  {' · '.join([*facts, stored])}", "dim"))


def notes(picture: Picture) -> Padding:
    """Say when the next fold is due, how the counts compare, and where the design was departed from."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row(Text("next fold:"), fold_words(picture))
    if picture.lacks is not None and picture.lacks.turns:
        table.add_row(Text("lacking:", "yellow"), lacks_words(picture.lacks))
    table.add_row(Text("counts:"), _counts(picture))
    if picture.reuse is not None:
        table.add_row(Text("prefix:"), _reuse_words(picture.reuse))
    for departure in picture.context.departures:
        table.add_row(Text("departure:", "yellow"), Text(departure))
    for warning in picture.warnings:
        table.add_row(Text("warning:", "bold yellow"), Text(warning))
    return Padding(table, (0, 1), expand=False)


def fold_words(picture: Picture) -> Text:
    """Say when the next fold is due, in words."""
    due, policy = picture.due, picture.context.policy
    if due.reason:
        return _due_words(picture)
    if picture.context.memory == "turns":
        left = counted(due.turns_left, "more turn")
        return Text(f"after {left}, or as soon as the summaries outgrow their budget of {policy.max_tokens:,}")
    left = counted(due.turns_left, "more message")
    overflow = ", or as soon as uncovered messages leave the window" if policy.compact_on_overflow else ""
    return Text(f"{left} from you{overflow}")


def _due_words(picture: Picture) -> Text:
    due = picture.due
    if picture.is_elsewhere:
        return Text.assemble(("due at once", "bold yellow"), f" under memory {picture.context.memory}: {due.reason}")
    does = "makes them, then folds what is over"
    if due.first_message_id > due.last_message_id:
        does = "folds the oldest"
    elif picture.context.memory == "window":
        does = f"folds {span(due.first_message_id, due.last_message_id)}"
    return Text.assemble(("due now", "bold yellow"), f" ({due.reason}); `memcli compact` {does}")


def lacks_words(lacks: Lacks) -> Text:
    """Say which turn summaries are not there, and what making them would cost."""
    what = f"{counted(lacks.turns, 'turn summary')}, over {counted(lacks.messages, 'message')}"
    if not lacks.requests:
        return Text(f"{what}; making them costs no request")
    cost = f"{counted(lacks.requests, 'request')}, at most {counted(lacks.tokens, 'token')} in"
    return Text(f"{what}; a model makes them in {cost}, the extractive summarizer in none")


def _reuse_words(reuse: Reuse) -> Text:
    said = Text.assemble((percent(reuse.share), "bold"), " of it begins like the last call's prompt")
    return said.append(f": a local server reuses about {reuse.shared_tokens:,} of {reuse.total_tokens:,} tokens", "dim")


def _counts(picture: Picture) -> Text:
    budget, call = picture.context.prompt_tokens, picture.reported
    said = f"{counted(budget, 'token')} by the budget's measure, about {picture.estimate.tokens:,} by a tokenizer's"
    if call is None or call.input_tokens is None:
        return Text.assemble(said, ("; no model has reported a count yet", "dim"))
    return Text.assemble(said, f"; call {call.id} to {clean_line(call.model)} reported {call.input_tokens:,}")
