"""What every provider asks of a list of messages, as one assertion."""

from __future__ import annotations

from collections.abc import Sequence

from memcli.memory.wire import WireMessage


def assert_sendable(messages: Sequence[WireMessage]) -> None:
    """Check: one system message, leading; every call answered at once and in order; no stray result; none empty."""
    roles = [message.role for message in messages]
    assert "system" not in roles[1:]
    owed: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert owed, f"an orphan result: {message}"
            assert message.tool_call_id == owed.pop(0)
        else:
            assert owed == [], f"unanswered calls before {message}"
            assert message.content.strip() or message.tool_calls
            owed = [call.id for call in message.tool_calls]
    assert owed == [], "unanswered calls at the end"
