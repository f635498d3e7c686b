"""`memcli compact --propose`, `--apply`, `--edit` and `--discard`: summaries that wait for a decision.

It refuses to know how a summary is made or put in force (`memory.model` and `memory.proposed` do) and how an editor is
run (`editor` does).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from memcli.cli.memories import request_of
from memcli.cli.policy import policy_for, settings_for
from memcli.cli.session import Session
from memcli.cli.summarizers import Summarizers
from memcli.errors import MemcliError, UsageError
from memcli.memory import proposed
from memcli.memory.fold import FoldResult
from memcli.memory.model import HEAD_OF, memory_of
from memcli.memory.summarizer import ExtractiveSummarizer
from memcli.records import Conversation, Summary

Verb = Literal["apply", "edit", "discard"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to become of one proposal."""

    verb: Verb
    summary_id: int

    def stands_alone(self) -> UsageError:
        """Say that nothing else can be asked for beside it."""
        hint = f"try `memcli compact NAME --{self.verb} {self.summary_id}`"
        return UsageError(f"--{self.verb} takes one conversation and nothing else", hint)


@dataclass(frozen=True, slots=True)
class Order:
    """What a summary that is made is to be like."""

    if_needed: bool = False
    """Only where a fold is due."""
    instructions: str | None = None
    min_fidelity: float | None = None
    """The least share of exact values it must keep, 0 to 1; None asks for nothing."""


def decision_of(ids: Mapping[Verb, int | None]) -> Decision | None:
    """Tell which decision was asked for; None without one. Raises UsageError for two at once."""
    given = [Decision(verb, id) for verb, id in ids.items() if id is not None]
    if len(given) > 1:
        flags = " and ".join(f"--{item.verb}" for item in given)
        raise UsageError(f"{flags} exclude one another", "decide one proposal at a time")
    return given[0] if given else None


def propose(session: Session, summarizers: Summarizers, order: Order, conversation: Conversation) -> FoldResult:
    """Make the summary a fold would make and store it as a proposal. Raises what a fold raises."""
    memory, policy = memory_of(conversation.memory), policy_for(session.resolved, conversation)
    due = memory.due(session.store, conversation, policy, request_of(conversation))
    if order.if_needed and due.reason is None:
        return FoldResult(conversation.id, "nothing", error="no fold is due")
    is_idle = memory.name == "window" and due.last_message_id < due.first_message_id
    summarizer = ExtractiveSummarizer() if is_idle else summarizers.choose(settings_for(session.resolved, conversation))
    result = memory.propose(
        session.store, conversation, policy, summarizer, instructions=order.instructions,
        min_fidelity=order.min_fidelity,
    )  # fmt: skip
    if memory.name == "turns" and result.status == "nothing" and due.reason is not None:
        hint = f"`memcli compact {called(conversation)} --if-needed` makes them"
        return replace(result, error=f"{due.reason}, and a proposal folds only those that have one; {hint}")
    return result


def decide(session: Session, decision: Decision, conversation: Conversation) -> FoldResult:
    """Put a proposal in force, let its text be edited, or give it up.

    Raises NotFound, UsageError for what is no proposal, and CompactionRejected when it cannot be put in force any more
    or the edited text cannot stand for what it replaces.
    """
    if decision.verb == "apply":
        return _apply(session, decision.summary_id, conversation)
    if decision.verb == "discard":
        return _told(conversation, "discarded", proposed.discard(session.store, conversation, decision.summary_id))
    return _edit(session, decision.summary_id, conversation)


def called(conversation: Conversation) -> str:
    """Name a conversation as a command line takes it."""
    return shlex.quote(conversation.name) if conversation.name else conversation.id[:8]


def _apply(session: Session, summary_id: int, conversation: Conversation) -> FoldResult:
    summary = session.store.summaries.get(conversation.id, summary_id)
    wanted = HEAD_OF[conversation.memory]
    if summary.state == "proposed" and summary.kind != wanted:
        raise UsageError(
            f"s{summary_id} is a {summary.kind} summary, and memory {conversation.memory} keeps a {wanted} one",
            "it would not be seen; propose again with `memcli compact --dry-run --propose`",
        )
    return proposed.apply(session.store, conversation, summary_id)


def _edit(session: Session, summary_id: int, conversation: Conversation) -> FoldResult:
    from memcli.cli.editor import edited, find_editor

    editor = find_editor(session.terminal)
    policy = policy_for(session.resolved, conversation)
    summary = session.store.summaries.get(conversation.id, summary_id)
    proposed.edit(session.store, conversation, policy, summary_id, summary.text)  # refuses what is no proposal
    path, text = edited(editor, summary.text, name=f"s{summary_id}")
    if not text.strip() or text.strip() == summary.text.strip():
        path.unlink()
        why = "the text is unchanged" if text.strip() else "the text is empty; --discard gives the proposal up"
        return FoldResult(conversation.id, "nothing", error=why)
    try:
        made = proposed.edit(session.store, conversation, policy, summary_id, text)
    except MemcliError:
        _say_kept(session, path)
        raise
    path.unlink()
    return _told(conversation, "proposed", made)


def _say_kept(session: Session, path: Path) -> None:
    session.terminal.note(f"your text is kept in {path}")


def _told(conversation: Conversation, status: Literal["proposed", "discarded"], summary: Summary) -> FoldResult:
    first, last = summary.first_message_id, summary.last_message_id
    return FoldResult(conversation.id, status, summary, first, last, tokens_after=summary.tokens)
