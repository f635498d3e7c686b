"""Messages and summaries for the store's tests."""

from __future__ import annotations

import json

from memcli.records import MessageState, NewMessage, NewSummary, PartRef, Role, SummaryKind

PART = PartRef(
    source="window", first_message_id=1, last_message_id=4, tokens=40, state="verbatim", why="the newest messages"
)


def message(text: str, role: Role = "human", *, uid: str | None = None, state: MessageState = "whole") -> NewMessage:
    """Make a message as the agent's codec would."""
    return NewMessage(
        kind=role, role=role, text=text, payload=json.dumps({"content": text}), tokens=len(text), uid=uid, state=state
    )


def messages(count: int, role: Role = "human") -> list[NewMessage]:
    """Make messages that say their own number, from 1."""
    return [message(f"message {number}", role) for number in range(1, count + 1)]


def summary(
    last: int,
    *,
    parent: int | None = None,
    first: int = 1,
    kind: SummaryKind = "running",
    text: str = "What was said",
    input_hash: str = "",
) -> NewSummary:
    """Make a summary that stands for the messages from `first` to `last`."""
    return NewSummary(
        kind=kind, parent_id=parent, first_message_id=first, last_message_id=last, text=text, values=("ZFA04Y", "$120"),
        fidelity=0.5, tokens=12, model="scripted", prompt_version="1", input_tokens=90, output_tokens=10,
        input_hash=input_hash or f"hash of {first}-{last}",
    )  # fmt: skip
