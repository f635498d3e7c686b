"""The tool calls of an OpenAI-format assistant message, to and from the stored form.

A call whose arguments are broken is kept raw among the invalid calls, where nothing executes it. It refuses to know
the rest of the message.
"""

from __future__ import annotations

from dataclasses import dataclass

from memcli.transcripts.lossless_json import Json, encode, parse


@dataclass(frozen=True, slots=True)
class ReadCalls:
    """The calls of one message, in file order within each list."""

    valid: list[Json]
    """Objects `name, args, id, type` in that order of keys."""
    invalid: list[Json]
    """Objects `name, args, id, error, type`, where args is the raw text."""


def read_calls(value: Json) -> ReadCalls | None:
    """Read a `tool_calls` field. None when it is not a list of calls at all; null entries are nothing."""
    if value is None:
        return ReadCalls([], [])
    if not isinstance(value, list):
        return None
    calls = ReadCalls([], [])
    for entry in value:
        if entry is not None:
            _read_call(entry, calls)
    return calls


def write_calls(valid: Json, invalid: Json) -> list[Json]:
    """Write stored calls, valid ones first, as a `tool_calls` field."""
    written: list[Json] = []
    for call in [*_objects(valid), *_objects(invalid)]:
        args = call.get("args")
        arguments = args if isinstance(args, str) else encode(args)
        function: dict[str, Json] = {"name": call.get("name"), "arguments": arguments}
        written.append({"id": call.get("id"), "type": "function", "function": function})
    return written


def _objects(value: Json) -> list[dict[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _read_call(entry: Json, calls: ReadCalls) -> None:
    if not isinstance(entry, dict):
        calls.invalid.append(_invalid(None, encode(entry), None, "the call is not an object"))
        return
    function = entry.get("function")
    body = function if isinstance(function, dict) else entry
    identity = _text(entry.get("id"))
    name = body.get("name")
    raw = body.get("arguments", body.get("args"))
    if not isinstance(name, str) or not name:
        calls.invalid.append(_invalid(None, encode(entry), identity, "the call names no function"))
        return
    try:
        args = _read_arguments(raw)
    except ValueError as err:
        calls.invalid.append(_invalid(name, raw if isinstance(raw, str) else encode(raw), identity, str(err)))
    else:
        calls.valid.append({"name": name, "args": args, "id": identity, "type": "tool_call"})


def _read_arguments(raw: Json) -> dict[str, Json]:
    """Read arguments given as text or as they are. '' and null mean none; raises ValueError for what is no object."""
    value = raw
    if isinstance(raw, str):
        value = parse(raw) if raw.strip() else {}
    if value is None and not isinstance(raw, str):
        return {}
    if not isinstance(value, dict):
        raise ValueError("the arguments are not an object")
    return value


def _invalid(name: str | None, args: str, identity: str | None, error: str) -> Json:
    return {"name": name, "args": args, "id": identity, "error": error, "type": "invalid_tool_call"}


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) or value is None else encode(value)
