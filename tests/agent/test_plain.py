"""Conversations in the three roles every chat template knows."""

from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage

from memcli.agent.bodies import PlainMessage
from memcli.agent.plain import plain_messages


def test_tools_and_pictures_reach_the_model_as_readable_text() -> None:
    messages: list[BaseMessage] = [
        SystemMessage("Be kind."),
        SystemMessage("Be brief."),
        HumanMessage([{"type": "text", "text": "Look: "}, {"type": "image_url", "image_url": {"url": "data:,"}}]),
        AIMessage("", tool_calls=[{"id": "1", "name": "recall", "args": {"query": "é"}}]),
        ToolMessage("#3 blue", tool_call_id="1", name="recall"),
        HumanMessage("So?"),
        AIMessage(""),
        ChatMessage(role="assistant", content="Blue."),
    ]
    assert plain_messages(messages) == (
        PlainMessage("system", "Be kind.\n\nBe brief."),
        PlainMessage("user", "Look: [image_url left out]"),
        PlainMessage("assistant", '[called recall with {"query": "é"}]'),
        PlainMessage("user", "[result of recall] #3 blue\n\nSo?"),
        PlainMessage("assistant", "Blue."),
    )
