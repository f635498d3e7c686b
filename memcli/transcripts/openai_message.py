"""One message of an OpenAI-format chat, to and from a record.

    role in the file   kind       role
    user               human      human
    assistant          ai         ai
    tool               tool       tool
    system, developer  system     system
    function           function   other
    any other          chat       other

The payload holds the fields that LangChain's message class of that kind has, and only those that say something; every
other field of the entry (`reasoning_content`, `refusal`, `function_call`, a tool's own) stands in `additional_kwargs`
under its name. It refuses to know conversations and files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import cast, get_args

from memcli.memory.reasoning import answer_text
from memcli.memory.tokens import count_message_tokens
from memcli.records import MessageState, NewMessage, Role, StoredMessage
from memcli.transcripts.imported import payload_object
from memcli.transcripts.lossless_json import Json, canonical, encode
from memcli.transcripts.openai_calls import read_calls, write_calls
from memcli.transcripts.openai_content import clean, content_text, read_content
from memcli.transcripts.timestamps import find_moment

EXTENSION = "memcli"
"""The field in which we write what the OpenAI format has no place for; other tools pass over it."""
_DEVELOPER = "__openai_role__"
"""Where LangChain notes that a system message is a developer message (langchain_openai's own key)."""
_KINDS: Mapping[str, str] = {
    "user": "human",
    "assistant": "ai",
    "tool": "tool",
    "system": "system",
    "developer": "system",
    "function": "function",
}
_ROLES: Mapping[str, Role] = {"human": "human", "ai": "ai", "tool": "tool", "system": "system"}
_OPENAI_ROLES: Mapping[str, str] = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}
_STATES: Mapping[str, MessageState] = {"whole": "whole", "partial": "partial", "failed": "failed", "rewound": "rewound"}


def read_message(entry: Json) -> NewMessage:
    """Read one entry of a `messages` list. Raises ValueError, its text a reason for a person, if it is no message."""
    if entry is None:
        raise ValueError("it is null")
    if not isinstance(entry, dict):
        raise ValueError("it is not an object")
    role = entry.get("role")
    if not isinstance(role, str) or not role:
        raise ValueError("it has no role")
    found = find_moment(entry)
    fields = {name: value for name, value in entry.items() if found is None or name != found[0]}
    moment = found[1] if found else None
    extension = fields.pop(EXTENSION, None)
    if isinstance(extension, dict) and isinstance(extension.get("payload"), dict):
        return _restore(role, extension, moment)
    kind = _KINDS.get(role, "chat")
    payload = _payload(kind, role, fields)
    state: MessageState = "partial" if payload.get("invalid_tool_calls") else "whole"
    return _record(kind, role, payload, state=state, text=_text(kind, payload), moment=moment)


def write_message(message: StoredMessage) -> dict[str, Json]:
    """Write one stored message so that read_message gives the same one back.

    What the format has no place for stands under EXTENSION, and only then. A message that cannot be read is written as
    its text under a role of its own.
    """
    moment = message.created_at.isoformat()
    if message.state == "unreadable":
        return {"role": "unreadable", "content": message.text, "created_at": moment}
    payload = payload_object(message.payload)
    entry = _entry(message, payload)
    entry["created_at"] = moment
    if not _says(entry, message, payload):
        entry[EXTENSION] = {
            "kind": message.kind,
            "role": message.role,
            "state": message.state,
            "text": message.text,
            "payload": payload,
        }
    return entry


def _payload(kind: str, role: str, fields: dict[str, Json]) -> dict[str, Json]:
    """Take the fields that LangChain's class for this kind has; the rest is kept beside them."""
    del fields["role"]
    payload: dict[str, Json] = {"content": read_content(fields.pop("content", None))}
    if kind == "chat":
        payload["role"] = role
    if kind == "ai":
        _take_calls(fields, payload)
    if kind == "tool":
        answered = fields.pop("tool_call_id", None)
        payload["tool_call_id"] = (
            answered if isinstance(answered, str) else "" if answered is None else encode(answered)
        )
        if fields.get("status") in ("success", "error"):
            status = fields.pop("status")
            payload |= {"status": status} if status == "error" else {}
    for name in ("name", "id"):
        if isinstance(fields.get(name), str):
            payload[name] = fields.pop(name)
    if kind == "function":
        payload.setdefault("name", "")
    rest: dict[str, Json] = {name: value for name, value in fields.items() if value is not None}
    if role == "developer":
        rest[_DEVELOPER] = role
    if rest:
        payload["additional_kwargs"] = rest
    return payload


def _take_calls(fields: dict[str, Json], payload: dict[str, Json]) -> None:
    calls = read_calls(fields.get("tool_calls"))
    if calls is None:
        return
    fields.pop("tool_calls", None)
    if calls.valid:
        payload["tool_calls"] = calls.valid
    if calls.invalid:
        payload["invalid_tool_calls"] = calls.invalid


def _text(kind: str, payload: Mapping[str, Json]) -> str:
    """Write the content for a person without the reasoning before it, or the refusal that stands in its place."""
    text = content_text(payload.get("content"))
    if kind == "ai":
        text = answer_text(text)
    rest = payload.get("additional_kwargs")
    refusal = rest.get("refusal") if isinstance(rest, dict) else None
    return text if text or not isinstance(refusal, str) else clean(refusal)


def _restore(role: str, extension: dict[str, Json], moment: datetime | None) -> NewMessage:
    """Read back a message that write_message could not say in the format's own words."""
    payload = cast("dict[str, Json]", extension["payload"])
    kind, part, text = extension.get("kind"), extension.get("role"), extension.get("text")
    known_kind = kind if isinstance(kind, str) and kind else _KINDS.get(role, "chat")
    record = _record(
        known_kind,
        role,
        payload,
        state=_STATES.get(str(extension.get("state")), "whole"),
        text=clean(text) if isinstance(text, str) else _text(known_kind, payload),
        moment=moment,
    )
    return replace(record, role=cast("Role", part)) if part in get_args(Role) else record


def _record(
    kind: str, role: str, payload: dict[str, Json], *, state: MessageState, text: str, moment: datetime | None
) -> NewMessage:
    name, answered, calls = payload.get("name"), payload.get("tool_call_id"), payload.get("tool_calls")
    return NewMessage(
        kind=clean(kind),
        role=_ROLES.get(_KINDS.get(role, "chat"), "other"),
        text=text,
        payload=encode(payload),
        tokens=count_message_tokens(
            role=role,
            content=payload.get("content", ""),
            name=name if isinstance(name, str) else None,
            tool_calls=[call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else (),
            tool_call_id=answered if isinstance(answered, str) else None,
        ),
        state=state,
        created_at=moment,
    )


def _entry(message: StoredMessage, payload: Mapping[str, Json]) -> dict[str, Json]:
    """Write what the OpenAI format can say of it."""
    rest = payload.get("additional_kwargs")
    kept = dict(rest) if isinstance(rest, dict) else {}
    developer = kept.get(_DEVELOPER) == "developer" and message.role == "system"
    entry: dict[str, Json] = {"role": "developer" if developer else _openai_role(message, payload)}
    if developer:
        del kept[_DEVELOPER]
    calls = write_calls(payload.get("tool_calls"), payload.get("invalid_tool_calls"))
    entry["content"] = payload.get("content", "") or (None if calls else "")
    if calls:
        entry["tool_calls"] = cast("Json", calls)
    for name in ("name", "id", "tool_call_id", "status"):
        if payload.get(name) is not None:
            entry[name] = payload[name]
    return entry | {name: value for name, value in kept.items() if name not in entry}


def _openai_role(message: StoredMessage, payload: Mapping[str, Json]) -> str:
    if message.role in _OPENAI_ROLES:
        return _OPENAI_ROLES[message.role]
    role = payload.get("role")
    return role if message.kind == "chat" and isinstance(role, str) and role else message.kind


def _says(entry: dict[str, Json], message: StoredMessage, payload: dict[str, Json]) -> bool:
    """Tell whether reading the entry gives the message back."""
    try:
        again = read_message(entry)
    except ValueError:
        return False
    same = (again.kind, again.role, again.state, again.text) == (
        message.kind,
        message.role,
        message.state,
        message.text,
    )
    return same and canonical(payload_object(again.payload)) == canonical(payload)
