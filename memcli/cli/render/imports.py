"""What an import did, in a few lines whose counts add up."""

from __future__ import annotations

from rich.text import Text

from memcli.cli.cleaning import clean_line
from memcli.cli.render.palette import counted
from memcli.transcripts.importing import ImportReport


def report_text(file: str, report: ImportReport) -> Text:
    """Write what became of one file's conversations and messages."""
    conversations = {
        "added": report.conversations_added,
        "updated": report.conversations_updated,
        "unchanged": report.conversations_unchanged,
    }
    messages = {
        "added": report.messages_added,
        "already there": report.messages_already_there,
        "skipped": len(report.skipped),
    }
    shown = Text.assemble((clean_line(file), "bold"), "\n")
    shown.append(f"  {counted(sum(conversations.values()), 'conversation')}: {_split(conversations)}\n")
    shown.append(f"  {counted(report.messages_in_file, 'message')}: {_split(messages)}")
    if report.bad_lines:
        shown.append(f"\n  {counted(len(report.bad_lines), 'line')} without a conversation", "yellow")
    return shown


def _split(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "none"
