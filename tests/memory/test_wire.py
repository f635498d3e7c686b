"""The wire function: whatever is stored, what goes out is what a strict provider accepts, and storage is untouched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from memcli.memory.context import Policy, Request
from memcli.memory.window import context
from memcli.memory.wire import UNKNOWN_RESULT, WireMessage, content_text, wire
from memcli.records import ToolCall
from memcli.store import Store
from tests.histories import asking, opened, rows, stored
from tests.memory.sendable import assert_sendable


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("store")) as store:
        yield store


def sent(store: Store, said: Sequence[BaseMessage], *, system_prompt: str | None = None) -> list[WireMessage]:
    conversation = stored(store, said)
    if system_prompt is not None:
        store.conversations.set_system_prompt(conversation.id, system_prompt)
        conversation = store.conversations.get(conversation.id)
    before = rows(store, conversation)
    messages = wire(context(store, conversation, Policy(), Request()))
    assert_sendable(messages)
    assert rows(store, conversation) == before
    return messages


def user(content: str, id: int) -> WireMessage:
    return WireMessage("user", content, message_id=id)


def call(id: str) -> ToolCall:
    return ToolCall(id, "look", {"at": id})


def test_a_turn_with_tools_goes_out_as_it_was(store: Store) -> None:
    ask = asking("a", "b", text="both")
    said = [
        HumanMessage("go"),
        ask,
        ToolMessage("A", tool_call_id="a"),
        ToolMessage("B", tool_call_id="b"),
        AIMessage("ok"),
    ]
    assert sent(store, said, system_prompt="be brief") == [
        WireMessage("system", "be brief"),
        user("go", 1),
        WireMessage("assistant", "both", (call("a"), call("b")), message_id=2),
        WireMessage("tool", "A", tool_call_id="a", message_id=3),
        WireMessage("tool", "B", tool_call_id="b", message_id=4),
        WireMessage("assistant", "ok", message_id=5),
    ]


def test_fault_3_only_the_absent_result_is_made_up_wherever_the_others_were_stored(store: Store) -> None:
    ask = asking("a", "b", "c")
    said = [
        HumanMessage("go"),
        ask,
        ToolMessage("C", tool_call_id="c"),
        HumanMessage("so?"),
        ToolMessage("A", tool_call_id="a"),
    ]
    assert sent(store, said) == [
        user("go", 1),
        WireMessage("assistant", "", (call("a"), call("b"), call("c")), message_id=2),
        WireMessage("tool", "A", tool_call_id="a", message_id=5),
        WireMessage("tool", UNKNOWN_RESULT, (), "b", "look", is_error=True),
        WireMessage("tool", "C", tool_call_id="c", message_id=3),
        user("so?", 4),
    ]


def test_fault_2_an_unanswered_call_is_answered_in_the_view(store: Store) -> None:
    assert sent(store, [HumanMessage("go"), asking("a")])[2:] == [
        WireMessage("tool", UNKNOWN_RESULT, (), "a", "look", is_error=True)
    ]


def test_a_result_without_a_call_becomes_plain_text(store: Store) -> None:
    said = [HumanMessage("go"), ToolMessage("A", tool_call_id="z", name="look"), AIMessage("ok")]
    text = "[result of look, whose call is not in this context] A"
    assert sent(store, said) == [user("go", 1), user(text, 2), WireMessage("assistant", "ok", message_id=3)]


def test_fault_20_empty_messages_are_dropped_and_system_messages_in_the_middle_lead(store: Store) -> None:
    said = [
        SystemMessage("first"),
        HumanMessage("go"),
        AIMessage(""),
        SystemMessage("second"),
        HumanMessage("  \n"),
        AIMessage([{"type": "text", "text": ""}]),
        AIMessage("ok"),
    ]
    assert sent(store, said) == [
        WireMessage("system", "first\n\nsecond"),
        user("go", 2),
        WireMessage("assistant", "ok", message_id=7),
    ]


def test_fault_4_calls_whose_arguments_never_arrived_whole_are_left_off(store: Store) -> None:
    broken = AIMessage(
        "let me look",
        invalid_tool_calls=[
            {"name": "look", "args": '{"at": ', "id": "a", "error": "cut off", "type": "invalid_tool_call"}
        ],
    )
    assert sent(store, [HumanMessage("go"), broken]) == [
        user("go", 1),
        WireMessage("assistant", "let me look", message_id=2),
    ]


def test_fault_28_reasoning_does_not_go_out(store: Store) -> None:
    said = [
        HumanMessage("2+2?"),
        AIMessage("<think>hm</think>4"),
        AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "four"}]),
        AIMessage("<think>never closed"),
    ]
    assert [message.content for message in sent(store, said)] == ["2+2?", "4", "four"]


def test_calls_without_an_id_get_one_and_their_results_follow(store: Store) -> None:
    ask = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": None, "type": "tool_call"}])
    messages = sent(store, [HumanMessage("go"), ask])
    assert [(message.role, message.tool_call_id) for message in messages] == [
        ("user", None),
        ("assistant", None),
        ("tool", "call_2_0"),
    ]


def test_other_roles_go_out_labelled_as_user_text(store: Store) -> None:
    said = [HumanMessage("go"), ChatMessage(content="bad", role="critic"), FunctionMessage(content="4", name="add")]
    assert [message.content for message in sent(store, said)] == ["go", "[critic] bad", "[add] 4"]


def test_an_error_result_says_that_it_is_one(store: Store) -> None:
    said = [HumanMessage("go"), asking("a"), ToolMessage("no", tool_call_id="a", status="error")]
    assert sent(store, said)[2].is_error


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (["a", {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "input_text", "text": "c"}, {"text": "d"}], "c\nd"),
        ([{"type": "image_url", "image_url": {"url": "data:"}}], "[image]"),
        ([{"type": "audio"}, {"other": 1}], "[audio left out]\n[block left out]"),
        ([{"type": "tool_use"}, {"type": "thinking", "thinking": "hm"}], ""),
        (None, ""),
        (7, ""),
    ],
)
def test_content_is_read_as_text(content: object, text: str) -> None:
    assert content_text(content) == text


def test_fault_17_braces_go_out_as_they_are(store: Store) -> None:
    assert sent(store, [HumanMessage("{x} {{y}}", name="{n}")], system_prompt="{z}") == [
        WireMessage("system", "{z}"),
        WireMessage("user", "{x} {{y}}", name="{n}", message_id=1),
    ]


def test_lone_surrogates_are_replaced_in_texts_and_in_arguments(store: Store) -> None:
    ask = AIMessage("a \ud800", tool_calls=[{"id": "a", "name": "look", "args": {"at": ["\udcff", {"b": "\ud800"}]}}])
    shown = sent(store, [HumanMessage("go \ud800"), ask, ToolMessage("\udcff", tool_call_id="a")])
    assert [message.content for message in shown] == ["go ?", "a ?", "?"]
    assert shown[1].tool_calls == (ToolCall("a", "look", {"at": ["?", {"b": "?"}]}),)
