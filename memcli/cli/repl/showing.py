"""The slash commands that show something and change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from memcli.cli.cleaning import clean_line
from memcli.cli.repl.commands import Command
from memcli.cli.repl.desk import Desk
from memcli.errors import UsageError

if TYPE_CHECKING:
    from memcli.memory.context import Policy

MOST_MESSAGES = 20
"""Messages /history shows when nobody says how many."""
MOST_HITS = 8
"""Messages /recall shows."""


def help_table(desk: Desk, commands: Sequence[Command]) -> None:
    """Show the commands and the keys."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for command in commands:
        aliases = f" (also {', '.join(f'/{alias}' for alias in command.aliases)})" if command.aliases else ""
        usage = Text.assemble((f"/{command.name}", "bold cyan"), f" {command.argument}".rstrip())
        table.add_row(usage, Text.assemble(command.help, (aliases, "dim")))
    table.add_row("", "")
    for key, what in KEYS:
        table.add_row(Text(key, "bold"), Text(what))
    desk.show(table)


KEYS = (
    ("Enter", 'sends; Alt-Enter or Ctrl-J begins a new line, and so does Enter inside """…"""'),
    ("//text", "sends a text that begins with /"),
    ("Tab", "completes a command"),
    ("Ctrl-R", "searches what was typed before; Ctrl-X Ctrl-E opens the editor"),
    ("Ctrl-C", "stops an answer and keeps what is there; at the prompt clears the line, twice leaves"),
    ("Ctrl-D", "leaves, on an empty line"),
)


def context(desk: Desk, argument: str) -> None:
    """Show what the agent would see next."""
    from memcli.cli.picture import take
    from memcli.cli.render.context import ContextView

    if argument not in ("", "full"):
        raise UsageError(f"/context {argument!r} is not known", "type /context or /context full")
    picture = take(desk.talk.store, desk.begun(), desk.talk.policy())
    desk.show(ContextView(picture, "full" if argument else "brief"))


def history(desk: Desk, argument: str) -> None:
    """Show the newest messages."""
    from memcli.cli.render.history import message_text

    conversation = desk.begun()
    limit = _count(argument, MOST_MESSAGES)
    newest = desk.talk.store.messages.newest_first(conversation.id, excluded=True)
    shown = list(islice(newest, limit))
    if len(shown) < conversation.last_message_id:
        desk.say(f"the newest {len(shown)} of {conversation.last_message_id} messages; /history all shows every one")
    pins = set(desk.talk.store.pins.list(conversation.id))
    for message in reversed(shown):
        desk.show(message_text(message, mark="pinned" if message.id in pins else ""))


def summaries(desk: Desk, _argument: str) -> None:
    """Show every summary of this conversation."""
    from memcli.cli.render.lineage import lineage_view
    from memcli.memory.lineage import lineage

    conversation = desk.begun()
    made = desk.talk.store.summaries.list(conversation.id)
    if not made:
        desk.say("no summaries yet; /compact makes one")
        return
    desk.show(
        lineage_view(lineage(made, desk.talk.store.turns.spans(conversation.id)), conversation.memory, full=False)
    )


def recall(desk: Desk, argument: str) -> None:
    """Search this conversation, also what is out of the context."""
    from memcli.cli.render.history import hit_text
    from memcli.store.search import split_terms

    if not argument:
        raise UsageError("/recall needs a text to look for", "type /recall TEXT")
    hits = desk.talk.store.search(argument, conversation_id=desk.begun().id, limit=MOST_HITS)
    for hit in hits:
        desk.show(hit_text(hit, split_terms(argument)))
    if not hits:
        desk.say(f"no message of this conversation contains {argument!r}")


def memory(desk: Desk) -> None:
    """Show which memory model keeps the past, and its settings."""
    policy = desk.talk.policy()
    name = desk.talk.memory
    desk.say(f"memory {name}", "bold")
    lines = _window_lines(policy) if name == "window" else _turns_lines(policy)
    for label, what in (
        *lines,
        ("limit", f"{policy.limit_tokens:,} tokens a call, {policy.output_reserve:,} of them for the answer"),
    ):
        desk.say(f"{label:<12}{what}", "")


def _window_lines(policy: Policy) -> list[tuple[str, str]]:
    overflow = ", or when messages leave the window" if policy.compact_on_overflow else ""
    return [
        ("window", f"the newest {policy.max_tokens:,} tokens, word for word"),
        ("summary", f"at most {policy.summary_tokens:,} tokens, and {policy.values_tokens:,} of exact values"),
        ("fold", f"every {policy.compact_every} messages from you{overflow}"),
    ]


def _turns_lines(policy: Policy) -> list[tuple[str, str]]:
    full = (
        "the oldest are folded into the compaction"
        if policy.on_full == "fold"
        else "all of it is dropped (on_full = clear)"
    )
    return [
        (
            "turns",
            f"the newest {policy.max_summaries} as a summary each, in {policy.max_tokens:,} tokens; the open one whole",
        ),
        ("compaction", f"at most {policy.summary_tokens:,} tokens, and {policy.values_tokens:,} of exact values"),
        ("when full", full),
    ]


def tokens(desk: Desk, _argument: str) -> None:
    """Show what the next call takes, and what the conversation holds."""
    from memcli.cli.picture import take

    conversation = desk.begun()
    picture = take(desk.talk.store, conversation, desk.talk.policy())
    used, limit = picture.context.prompt_tokens, picture.context.limit_tokens
    desk.say(
        f"next call   {used:,} of {limit:,} tokens, about {picture.estimate.tokens:,} by a tokenizer's measure", ""
    )
    desk.say(f"stored      {conversation.tokens:,} tokens in {conversation.last_message_id:,} messages", "")
    call = picture.reported
    if call is not None:
        counts = f"{call.input_tokens or 0:,} tokens in, {call.output_tokens or 0:,} out"
        desk.say(f"last call   {counts}, as {clean_line(call.model)} counted", "")
    for warning in picture.warnings:
        desk.say(f"warning: {warning}", "yellow")


def _count(argument: str, default: int) -> int | None:
    if not argument:
        return default
    if argument == "all":
        return None
    if not argument.isdecimal() or int(argument) == 0:
        raise UsageError(
            f"/history {argument!r} is no number of messages", "type /history, /history 50 or /history all"
        )
    return int(argument)
