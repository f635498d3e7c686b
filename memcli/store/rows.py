"""Rows to records and back: dates, JSON columns and quarantine. It refuses to run SQL."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from typing import cast, get_args

from memcli.records import (
    Call,
    CallPurpose,
    CallStatus,
    Conversation,
    MemoryModel,
    MessageState,
    PartRef,
    Role,
    StoredMessage,
    Summary,
    SummaryKind,
    SummaryState,
    Turn,
    TurnStatus,
)

_ROLES = get_args(Role)
_STATES = get_args(MessageState)


def now() -> str:
    """Tell the time as it is stored."""
    return stamp(None)


def stamp(moment: datetime | None) -> str:
    """Write a moment as it is stored: ISO 8601 in UTC with microseconds. None means now; a naive one is UTC."""
    moment = datetime.now(UTC) if moment is None else as_utc(moment)
    return moment.isoformat(timespec="microseconds")


def as_utc(moment: datetime) -> datetime:
    """Express a moment in UTC; a naive one is taken as UTC."""
    if moment.tzinfo is UTC:
        return moment
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def moment(text: str) -> datetime:
    """Read a stored moment; a damaged one reads as the epoch, because order never depends on it."""
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return datetime.fromtimestamp(0, UTC)


def conversation(row: sqlite3.Row) -> Conversation:
    """Read one row of `conversations`."""
    return Conversation(
        id=row["id"],
        name=row["name"],
        model=row["model"],
        system_prompt=row["system_prompt"],
        memory=cast(MemoryModel, row["memory"]),
        settings=_object(row["settings"]),
        parent_id=row["parent_id"],
        forked_at=row["forked_at"],
        source=row["source"],
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
        last_message_id=row["last_message_id"],
        turns=row["turns"],
        tokens=row["tokens"],
    )


def turn(row: sqlite3.Row) -> Turn:
    """Read one row of `turns`."""
    ended = row["ended_at"]
    return Turn(
        id=row["id"],
        conversation_id=row["conversation_id"],
        started_at=moment(row["started_at"]),
        ended_at=moment(ended) if ended else None,
        status=cast(TurnStatus, row["status"]),
    )


MESSAGES = (
    "select conversation_id, id, turn_id, uid, kind, role, state, tokens, created_at, text, payload,"
    " case when typeof(payload) = 'text' then json_valid(payload) else 0 end from messages"
)
"""How rows of `messages` are read for `message`: the engine itself tells whether a payload is JSON."""
DEEPEST_UNCHECKED = 900
"""Openings of lists and objects up to which a payload cannot be too deeply nested for Python's reader."""


def message(row: sqlite3.Row) -> StoredMessage:
    """Read one row of MESSAGES. One that cannot be used is quarantined, never an error."""
    conversation_id, id, turn_id, uid, kind, role, state, tokens, created_at, text, payload, is_json = row
    if uid is None:
        uid = made_uid(id)
    if is_json and _is_typed(role, state, tokens, text, payload) and _is_object(payload):
        return StoredMessage(
            id, conversation_id, turn_id, uid, kind, role, text, payload, tokens, moment(created_at), state
        )
    return StoredMessage(
        id, conversation_id, turn_id, uid, kind, role, text if isinstance(text, str) else "",
        payload if isinstance(payload, str) else "", tokens if isinstance(tokens, int) else 0, moment(created_at),
        state,
    ).as_unreadable()  # fmt: skip


def made_uid(id: int) -> str:
    """Name a message that came without a uid: its id is unique in the conversation, and the same in a fork."""
    return f"#{id}"


def _is_typed(role: object, state: object, tokens: object, text: object, payload: object) -> bool:
    if role not in _ROLES or state not in _STATES:
        return False
    return isinstance(payload, str) and isinstance(text, str) and isinstance(tokens, int)


def _is_object(payload: str) -> bool:
    """Tell whether a JSON text is an object that Python can read too."""
    if payload[:1] != "{" and payload.lstrip()[:1] != "{":
        return False
    if payload.count("{") + payload.count("[") <= DEEPEST_UNCHECKED:
        return True
    try:
        json.loads(payload)
    except (ValueError, RecursionError):
        return False
    return True


def is_readable(row: sqlite3.Row) -> bool:
    """Tell whether a whole row of `messages` can be used: its payload is a JSON object, role and state are known."""
    payload = row["payload"]
    if not _is_typed(row["role"], row["state"], row["tokens"], row["text"], payload):
        return False
    try:
        return isinstance(json.loads(payload), dict)
    except (ValueError, RecursionError):
        return False


def summary(row: sqlite3.Row) -> Summary:
    """Read one row of `summaries`, joined with its head as `in_force`."""
    return Summary(
        id=row["id"],
        conversation_id=row["conversation_id"],
        kind=cast(SummaryKind, row["kind"]),
        parent_id=row["parent_id"],
        first_message_id=row["first_message_id"],
        last_message_id=row["last_message_id"],
        text=row["text"],
        values=_texts(row["facts"]),
        fidelity=row["fidelity"],
        tokens=row["tokens"],
        model=row["model"],
        prompt_version=row["prompt_version"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        input_hash=row["input_hash"],
        fallback=bool(row["fallback"]),
        instructions=row["instructions"],
        details=_object(row["details"]),
        state=cast(SummaryState, row["state"]),
        created_at=moment(row["created_at"]),
        in_force=bool(row["in_force"]),
    )


def call(row: sqlite3.Row) -> Call:
    """Read one row of `calls`."""
    return Call(
        id=row["id"],
        conversation_id=row["conversation_id"],
        turn_id=row["turn_id"],
        purpose=cast(CallPurpose, row["purpose"]),
        model=row["model"],
        limit_tokens=row["limit_tokens"],
        parts=parts_from(row["parts"]),
        estimated_tokens=row["estimated_tokens"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        duration_ms=row["duration_ms"],
        status=cast(CallStatus, row["status"]),
        error=row["error"],
        started_at=moment(row["started_at"]),
    )


def parts_json(parts: tuple[PartRef, ...]) -> str:
    """Write a call's parts compactly: one array a part, in the order of PartRef's fields."""
    fields = PartRef.__dataclass_fields__
    return json.dumps([[getattr(part, name) for name in fields] for part in parts], separators=(",", ":"))


def parts_from(text: str) -> tuple[PartRef, ...]:
    """Read what parts_json wrote; () when it cannot be read."""
    try:
        return tuple(PartRef(*values) for values in json.loads(text))
    except (TypeError, ValueError):
        return ()


def _object(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _texts(text: str) -> tuple[str, ...]:
    try:
        return tuple(str(value) for value in json.loads(text))
    except (TypeError, ValueError):
        return ()
