"""A message's fields, taken out of it and put back: as they were, not as validators would make them anew.

It refuses to know rows and JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import cache

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage


def changed_fields(message: BaseMessage) -> Mapping[str, object]:
    """Collect the fields that differ from their class's default; `content` always, and extra ones too."""
    fields: dict[str, object] = {"content": message.content}
    for name, default in _defaults(type(message)).items():
        value = getattr(message, name)
        # By type first: anybody's objects may stand here, and some answer == with an array.
        if type(value) is not type(default) or value != default:
            fields[name] = value
    fields.update(message.model_extra or {})
    return fields


def message_of(cls: type[BaseMessage], fields: Mapping[str, object]) -> BaseMessage:
    """Make the message that has these fields, and every other one by default.

    Raises what the class's validators raise for fields that no message can have.
    """
    if cls not in _LANGCHAINS or "content_blocks" in fields:
        return _as_they_were(cls(**fields), fields)  # type: ignore[call-overload]
    message = cls.__new__(cls)
    if _are_sound(cls, fields):
        message.__setstate__(_state(cls, fields))
        return message
    # What the constructor comes to, which only passes its arguments on.
    cls.__pydantic_validator__.validate_python(dict(fields), self_instance=message)
    return _as_they_were(message, fields)


def _are_sound(cls: type[BaseMessage], fields: Mapping[str, object]) -> bool:
    """Tell whether there is nothing to validate: all that is required is there, and each field is what it must be."""
    if "content" not in fields or (cls is ToolMessage and "tool_call_id" not in fields):
        return False
    known = _blank(cls)
    return all([name in known and name in _SOUND and _SOUND[name](value) for name, value in fields.items()])  # noqa: C419 - a generator takes twice as long


def _state(cls: type[BaseMessage], fields: Mapping[str, object]) -> dict[str, object]:
    """Give a message's state as pickling does."""
    values = dict(_blank(cls))
    for name in _CONTAINERS:
        if name in values:
            values[name] = values[name].copy()  # type: ignore[attr-defined]
    values.update(fields)
    return {
        "__dict__": values,
        "__pydantic_extra__": {},
        "__pydantic_fields_set__": set(fields),
        "__pydantic_private__": None,
    }


def _as_they_were(message: BaseMessage, fields: Mapping[str, object]) -> BaseMessage:
    """Undo what a class's validators derive anew: a chunk's calls from call chunks, or from `additional_kwargs`."""
    if not isinstance(message, AIMessage) or (type(message) is AIMessage and _DERIVE_NOTHING.issuperset(fields)):
        return message
    for name, default in _defaults(type(message)).items():
        wanted = fields.get(name, default)
        if wanted is not _REQUIRED and getattr(message, name) != wanted:
            setattr(message, name, copy(wanted) if wanted is default else wanted)
    return message


@cache
def _defaults(cls: type[BaseMessage]) -> Mapping[str, object]:
    """Map a class's fields to their defaults; a required one has a default that nothing equals."""
    return {
        name: _REQUIRED if field.is_required() else field.get_default(call_default_factory=True)
        for name, field in cls.model_fields.items()
        if name not in ("content", "type")
    }


@cache
def _blank(cls: type[BaseMessage]) -> Mapping[str, object]:
    """Give every field of a message that says nothing, in the class's order."""
    given = {"content": "", "tool_call_id": ""} if cls is ToolMessage else {"content": ""}
    return dict(vars(cls(**given)))


_REQUIRED = object()
_DERIVE_NOTHING = frozenset(("content", "id", "name", "response_metadata", "usage_metadata"))
"""Fields of an AI message that no validator makes others of."""
_LANGCHAINS = frozenset((HumanMessage, AIMessage, ToolMessage, SystemMessage))
_CONTAINERS = ("additional_kwargs", "response_metadata", "tool_calls", "invalid_tool_calls")
"""Fields whose default is a list or dict of the message's own."""
_CALL = {"name", "args", "id", "type"}
_USAGE = {"input_tokens", "output_tokens", "total_tokens"}


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_dict(value: object) -> bool:
    return type(value) is dict


def _are_calls(value: object) -> bool:
    return type(value) is list and all(
        type(call) is dict
        and call.keys() == _CALL
        and call["type"] == "tool_call"
        and type(call["name"]) is str
        and type(call["args"]) is dict
        and type(call["id"]) is str
        for call in value
    )


def _is_usage(value: object) -> bool:
    return type(value) is dict and value.keys() == _USAGE and all(type(count) is int for count in value.values())


_SOUND: Mapping[str, Callable[[object], bool]] = {
    "content": _is_text,
    "id": _is_text,
    "name": _is_text,
    "tool_call_id": _is_text,
    "response_metadata": _is_dict,
    "tool_calls": _are_calls,
    "usage_metadata": _is_usage,
}
"""What a field of LangChain's own classes can be for no validator to refuse it or make another of it."""
