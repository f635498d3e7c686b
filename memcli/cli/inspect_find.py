"""`memcli context --find TEXT`: which messages say it, and where each stands in a context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memcli.cli.asked import Asked
from memcli.cli.moments import moment_of
from memcli.cli.outlet import Outlet
from memcli.cli.session import Session
from memcli.memory.find import Finding, Mode, find, overall
from memcli.memory.travel import Moment
from memcli.records import Conversation, MemoryModel


def show_find(
    session: Session, conversation: Conversation, memory: MemoryModel, asked: Asked, outlet: Outlet
) -> None:  # fmt: skip
    """Show every message that says a text, and one line about all of them."""
    text = asked.find or ""
    mode: Mode = "word" if asked.word else "exact" if asked.exact else "text"
    moment = moment_of(session, conversation, memory, asked)
    findings = find(session.store, conversation, moment.context, text, mode=mode)
    if outlet.as_json:
        outlet.write(find_json(moment, text, mode, findings))
        return
    from memcli.cli.render.find import FindView

    view = FindView(conversation, moment, text, mode, tuple(findings), outlet.detail)
    outlet.show(view, title=f"memcli context --find {text}")


def find_json(moment: Moment, text: str, mode: Mode, findings: Sequence[Finding]) -> Mapping[str, object]:
    """Describe what was found as a document, ascending by message."""
    return {
        "conversation": moment.context.conversation_id,
        "memory": moment.context.memory,
        "moment": moment_json(moment),
        "text": text,
        "mode": mode,
        "verdict": overall(text, findings),
        "findings": [_finding_json(finding) for finding in findings],
    }


def moment_json(moment: Moment) -> Mapping[str, object]:
    """Describe which moment a context is of."""
    return {
        "origin": moment.origin,
        "label": moment.label,
        "last_message_id": moment.last_message_id,
        "call": moment.call.id if moment.call is not None else None,
    }


def _finding_json(finding: Finding) -> Mapping[str, object]:
    return {
        "message": finding.message_id,
        "role": finding.role,
        "place": finding.place,
        "in_arguments": finding.in_arguments,
        "is_shown": finding.is_shown,
        "summary": finding.summary_id,
        "summary_says": finding.summary_says,
        "values_say": finding.values_say,
        "recall_finds_it": finding.is_recalled,
        "verdict": finding.verdict,
        "excerpt": finding.excerpt,
    }
