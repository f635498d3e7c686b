"""How ids, moments, shares and states are written, the same in every command. It refuses to know tables and colours."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from memcli.records import Conversation, MessageState, Role

SHORT_ID = 8
"""Characters of a conversation's id that are shown; `memcli` accepts any unique beginning."""

ROLE_STYLES: Mapping[Role, str] = {
    "human": "bold cyan",
    "ai": "bold green",
    "tool": "bold magenta",
    "system": "bold blue",
}
STATE_STYLES: Mapping[MessageState, str] = {
    "partial": "yellow",
    "failed": "red",
    "rewound": "red",
    "unreadable": "bold red",
}


def short_id(conversation: Conversation) -> str:
    """Write the beginning of a conversation's id."""
    return conversation.id[:SHORT_ID]


def when(moment: datetime) -> str:
    """Write a moment in local time, to the minute."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def percent(share: float) -> str:
    """Write a share of 0 to 1 as a whole per cent, never rounding up to all."""
    return f"{int(share * 100 + (0.5 if share < 0.995 else 0))}%"
