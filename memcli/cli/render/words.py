"""How ids, moments, shares and states are written, the same in every command. It refuses to know tables and colours."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from memcli.cli.cleaning import clean_line
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


_HALF_A_YEAR = timedelta(days=182)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def short_id(conversation: Conversation) -> str:
    """Write the beginning of a conversation's id."""
    return conversation.id[:SHORT_ID]


def called(conversation: Conversation) -> str:
    """Write what a conversation is called: its name, else the beginning of its id."""
    return clean_line(conversation.name or "") or short_id(conversation)


def when(moment: datetime) -> str:
    """Write a moment in local time, to the minute."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def briefly(moment: datetime, now: datetime) -> str:
    """Write a moment in local time in twelve columns: `30 Nov 10:09`, or `30 Nov 2024` half a year or more away."""
    local = moment.astimezone()
    is_near = abs(now - moment) < _HALF_A_YEAR
    return f"{local.day:2} {_MONTHS[local.month - 1]} " + local.strftime("%H:%M" if is_near else "%Y")


def percent(share: float) -> str:
    """Write a share of 0 to 1 as a whole per cent, never rounding up to all."""
    return f"{int(share * 100 + (0.5 if share < 0.995 else 0))}%"
