"""Conversations as a table, messages and search hits as text. All text comes in untrusted and is cleaned here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from rich.table import Table
from rich.text import Text

from memcli.cli.cleaning import clean, clean_line
from memcli.cli.families import Member
from memcli.cli.render.words import ROLE_STYLES, SHORT_ID, STATE_STYLES, briefly, short_id, when
from memcli.records import Conversation, Hit, MessageState, Role, StoredMessage, ToolCall

_STATES: dict[MessageState, str] = {
    "partial": "partial: it was cut off",
    "failed": "failed: outside every context",
    "rewound": "rewound: outside every context",
    "unreadable": "unreadable: the row is damaged; kept, never sent",
}


def conversations_table(
    conversations: Iterable[Conversation], now: datetime, titles: Mapping[str, str | None]
) -> Table:  # fmt: skip
    """Lay out conversations, one a row, in the order given; where space is short, names and models give way.

    `titles` by id stand dimly where there is no name.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("id", no_wrap=True, style="cyan")
    table.add_column("name")
    table.add_column("model")
    table.add_column("memory", no_wrap=True)
    for heading in ("turns", "messages", "tokens"):
        table.add_column(heading, no_wrap=True, justify="right")
    table.add_column("updated", no_wrap=True, style="dim")
    for item in conversations:
        table.add_row(
            short_id(item),
            _called(item, titles),
            _yielding(item.model),
            Text(item.memory),
            f"{item.turns:,}",
            f"{item.last_message_id:,}",
            f"{item.tokens:,}",
            briefly(item.updated_at, now),
        )
    return table


def families_table(members: Iterable[Member], now: datetime, titles: Mapping[str, str | None]) -> Table:
    """Lay out conversations, each under the one it comes from, in the order given."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("id", no_wrap=True, style="cyan")
    table.add_column("name")
    table.add_column("from", no_wrap=True)
    table.add_column("turns", no_wrap=True, justify="right")
    table.add_column("messages", no_wrap=True, justify="right")
    table.add_column("updated", no_wrap=True, style="dim")
    for member in members:
        item = member.conversation
        name = _called(item, titles)
        if member.depth:
            name = Text.assemble((f"{'  ' * (member.depth - 1)}└ ", "dim"), name, no_wrap=True, overflow="ellipsis")
        table.add_row(
            short_id(item), name, Text(_origin(item), "dim"), f"{item.turns:,}", f"{item.last_message_id:,}",
            briefly(item.updated_at, now),
        )  # fmt: skip
    return table


def message_text(message: StoredMessage, *, mark: str = "") -> Text:
    """Write one message: a line that says which, its text, and what it asked tools to do.

    `mark` stands behind its role: that it is pinned.
    """
    shown = _head(message.id, message.role, message.state)
    if mark:
        shown.append(f"  {mark}", "bold yellow")
    turn = f"turn {message.turn_id}  " if message.turn_id is not None else ""
    shown.append(f"  {turn}{message.tokens:,} tokens  {when(message.created_at)}\n", "dim")
    if message.state in _STATES:
        shown.append(f"[{_STATES[message.state]}]\n", STATE_STYLES[message.state])
    text = clean(message.text).rstrip()
    if text:
        shown.append(f"{text}\n")
    for call in message.tool_calls:
        shown.append_text(_call(call))
    return shown


def hit_text(hit: Hit, terms: Sequence[str], conversation: Conversation | None = None) -> Text:
    """Write one search hit on a line of its own under its head, the terms found in it marked.

    With `conversation` the head also names it.
    """
    shown = Text()
    if conversation is not None:
        shown.append(short_id(conversation), "cyan")
        shown.append(f" {clean_line(conversation.name)} " if conversation.name else " ")
    shown.append_text(_head(hit.message_id, hit.role, "whole"))
    shown.append(f"  {when(hit.created_at)}\n", "dim")
    shown.append_text(_marked(clean_line(hit.snippet), terms))
    shown.append("\n")
    return shown


def _called(conversation: Conversation, titles: Mapping[str, str | None]) -> Text:
    """Write a conversation's name; where it has none its title, dimly."""
    if conversation.name:
        return _yielding(conversation.name)
    title = _yielding(titles.get(conversation.id))
    title.stylize("dim")
    return title


def _origin(conversation: Conversation) -> str:
    if conversation.parent_id is None:
        return ""
    parent = conversation.parent_id[:SHORT_ID]
    if conversation.forked_at is None:
        return f"sub-agent of {parent}"
    return f"fork of {parent} #{conversation.forked_at}"


def _yielding(text: str | None) -> Text:
    """Write a cell that is cut where there is no space for it."""
    return Text(clean_line(text), no_wrap=True, overflow="ellipsis") if text else Text("–", "dim")


def _head(id: int, role: Role, state: MessageState) -> Text:
    excluded = state in ("failed", "rewound", "unreadable")
    return Text.assemble((f"#{id}", "dim strike" if excluded else "bold"), " ", (role, ROLE_STYLES.get(role, "bold")))


def _call(call: ToolCall) -> Text:
    args = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.args.items())
    return Text.assemble(("→ ", "dim"), (clean_line(call.name), "magenta"), clean_line(f"({args})"), "\n")


def _marked(line: str, terms: Sequence[str]) -> Text:
    shown = Text(line)
    low = line.lower()
    if len(low) != len(line):  # a letter that lowers to two would shift every mark behind it
        return shown
    for term in filter(None, (clean_line(term).lower() for term in terms)):
        start = low.find(term)
        while start >= 0:
            shown.stylize("bold reverse", start, start + len(term))
            start = low.find(term, start + len(term))
    return shown
