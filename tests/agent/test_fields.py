"""A message made of its fields is the one the class itself would make of them, down to its pickled state."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import ValidationError

from memcli.agent.fields import changed_fields, message_of
from tests.agent.test_codec import messages

CALL = {"name": "find", "args": {"id": 7}, "id": "c1", "type": "tool_call"}
USAGE = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
SOUND: list[tuple[type[BaseMessage], dict[str, object]]] = [
    (HumanMessage, {"content": "hi"}),
    (HumanMessage, {"content": "hi", "id": "m1", "name": "ann"}),
    (SystemMessage, {"content": ""}),
    (AIMessage, {"content": "hi", "response_metadata": {"model": "m"}, "usage_metadata": USAGE}),
    (AIMessage, {"content": "", "tool_calls": [CALL, {**CALL, "id": "c2"}]}),
    (ToolMessage, {"content": "7", "tool_call_id": "c1", "name": "find"}),
]
UNSOUND: list[tuple[type[BaseMessage], dict[str, object]]] = [
    (HumanMessage, {}),
    (HumanMessage, {"content": 5}),
    (ToolMessage, {"content": "7"}),
    (AIMessage, {"content": "", "tool_calls": [{"name": "find", "args": "no"}]}),
    (AIMessage, {"content": "", "usage_metadata": {"input_tokens": 1}}),
]


@pytest.mark.parametrize(("cls", "fields"), SOUND)
def test_fields_without_anything_to_validate_make_the_message_the_class_makes(
    cls: type[BaseMessage], fields: dict[str, object]
) -> None:
    mine, theirs = message_of(cls, fields), cls(**fields)  # type: ignore[call-overload]
    assert mine.__getstate__() == theirs.__getstate__()
    assert (repr(mine), mine.model_dump_json()) == (repr(theirs), theirs.model_dump_json())


@pytest.mark.parametrize(("cls", "fields"), UNSOUND)
def test_fields_that_no_message_can_have_are_refused_as_the_class_refuses_them(
    cls: type[BaseMessage], fields: dict[str, object]
) -> None:
    with pytest.raises((ValidationError, TypeError, KeyError)):
        message_of(cls, fields)


def test_two_messages_share_nothing() -> None:
    one, other = (message_of(AIMessage, {"content": "hi"}) for _ in range(2))
    assert isinstance(one, AIMessage)
    one.tool_calls.append({"name": "find", "args": {}, "id": "c1", "type": "tool_call"})
    one.additional_kwargs["seen"] = True
    assert other == AIMessage("hi") == message_of(AIMessage, {"content": "hi"})


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(message=messages)
def test_a_message_taken_apart_and_put_together_is_the_same(message: BaseMessage) -> None:
    assert message_of(type(message), changed_fields(message)) == message
