"""The plan: written by the agent's tool, kept in versions, in the context of every later call."""

from __future__ import annotations

import pytest

from memcli.agent.agent import Agent, Model
from memcli.agent.tools import builtin_tools, plan_tool
from memcli.memory.context import Policy
from memcli.records import MemoryModel
from memcli.store import Store
from tests.agent.scripted import asks, scripted
from tests.agent.watching import unheard
from tests.memory.summarizers import ScriptedSummarizer


@pytest.mark.parametrize("memory", ["window", "turns"])
def test_the_agent_writes_a_plan_and_sees_it_on_its_next_call(store: Store, memory: MemoryModel) -> None:
    chat = scripted(asks(("update_plan", {"plan": "1. look\n2. tell"})), "Planned.")
    id = store.conversations.create(memory=memory).id
    model = Model(chat, "scripted", 8192, can_call_tools=True)
    tools = [plan_tool(store, id)]
    agent = Agent(store, id, model, policy=Policy(), summarizer=ScriptedSummarizer(), tools=tools)
    assert agent.run_turn("plan it", unheard).answer == "Planned."
    second = "\n".join(str(message.content) for message in chat.script.requests[1])
    assert "1. look\n2. tell" in second
    assert "1. look" not in "\n".join(str(message.content) for message in chat.script.requests[0])
    plan = store.plans.current(id)
    assert plan is not None
    assert (plan.id, plan.text) == (1, "1. look\n2. tell")
    assert store.messages.get(id, 3).text == "This is version 1 of the plan."


def test_every_version_is_kept_and_an_empty_one_ends_it(store: Store) -> None:
    talk = store.conversations.create()
    tool = plan_tool(store, talk.id)
    said = [tool.invoke({"plan": text}) for text in ("one", " two ", "")]
    assert said == ["This is version 1 of the plan.", "This is version 2 of the plan.", "There is no plan any more."]
    assert [plan.text for plan in store.plans.list(talk.id)] == ["", "two", "one"]
    assert store.plans.current(talk.id) is None


def test_a_plan_that_is_too_long_is_refused_with_what_it_takes(store: Store) -> None:
    talk = store.conversations.create()
    with pytest.raises(ValueError, match="takes 1,000 tokens and may take 500"):
        plan_tool(store, talk.id).invoke({"plan": "step" * 1000})
    assert store.plans.list(talk.id) == []


def test_every_agent_gets_the_tool(store: Store) -> None:
    assert [tool.name for tool in builtin_tools(store, "c")] == ["recall", "now", "update_plan"]
