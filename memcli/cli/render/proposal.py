"""What can be done with a proposal, as the commands that do it."""

from __future__ import annotations

import shlex

from rich.text import Text

from memcli.cli.cleaning import clean_line
from memcli.records import Conversation, Summary

_STEPS = (("apply", "puts it in force"), ("edit", "opens it in your editor"), ("discard", "gives it up"))


def edited_line(summary: Summary) -> str:
    """Say that a person rewrote a summary, and which one; "" when nobody did."""
    before = summary.details.get("edited_from")
    return f"edited by hand from s{before}" if isinstance(before, int) else ""


def next_steps(conversation: Conversation, summary_id: int) -> Text:
    """Say that a proposal is not in force, and the three commands that decide it."""
    name = shlex.quote(clean_line(conversation.name)) if conversation.name else conversation.id[:8]
    commands = [(f"memcli compact {name} --{verb} {summary_id}", what) for verb, what in _STEPS]
    width = max(len(command) for command, _ in commands)
    shown = Text("not in force yet: the context is as it was")
    for command, what in commands:
        shown.append(f"\n  {command.ljust(width)}", "cyan")
        shown.append(f"  {what}", "dim")
    return shown
