"""Sub-agents: a task opens a conversation of its own, is answered there, and comes back as a tool's result."""

from __future__ import annotations

from langchain_core.messages import ToolMessage

from memcli.agent.agent import Agent, Model, TurnResult
from memcli.agent.assembly import ToolsWanted, assemble
from memcli.agent.codec import decode
from memcli.agent.delegate import delegate_tool, depth_of, open_child
from memcli.agent.models import ModelChoice
from memcli.agent.typed import AgentToAgentMessage
from memcli.config import Settings
from memcli.errors import ModelError
from memcli.memory.context import Policy, Request
from memcli.memory.model import memory_of
from memcli.records import Conversation
from memcli.store import Store
from tests.agent.scripted import ScriptedChat, asks, scripted
from tests.agent.watching import look, unheard
from tests.memory.summarizers import ScriptedSummarizer


def agent_in(store: Store, talk: Conversation, chat: ScriptedChat, child_chat: ScriptedChat) -> Agent:
    """Make an agent whose helpers speak with another script and have no helpers."""

    def hire(child: Conversation) -> Agent:
        model = Model(child_chat, "scripted", 8192, can_call_tools=True)
        return Agent(
            store, child.id, model, policy=Policy(), summarizer=ScriptedSummarizer(), tools=[look], max_rounds=3
        )

    tools = [look, delegate_tool(store, talk.id, hire)]
    model = Model(chat, "scripted", 8192, can_call_tools=True)
    return Agent(store, talk.id, model, policy=Policy(), summarizer=ScriptedSummarizer(), tools=tools)


def delegating(task: str = "look at b") -> ScriptedChat:
    return scripted(asks(("delegate", {"task": task})), "It saw b.")


def test_a_task_is_answered_in_a_conversation_of_its_own(store: Store) -> None:
    talk = store.conversations.create(memory="turns", system_prompt="Be brief.", model="scripted")
    child_chat = scripted(asks(("look", {"at": "b"})), "saw b")
    result = agent_in(store, talk, delegating(), child_chat).run_turn("look at b for me", unheard)
    assert result == TurnResult(1, "done", "It saw b.")
    (child,) = store.conversations.list(parent_id=talk.id)
    assert (child.memory, child.system_prompt, child.forked_at) == ("turns", "Be brief.", None)
    rows = list(store.messages.oldest_first(child.id))
    assert [(row.kind, row.text) for row in rows] == [
        ("agent_to_agent", "look at b"), ("agent", ""), ("tool", "saw b"), ("agent", "saw b")
    ]  # fmt: skip
    first = decode(rows[0])
    assert isinstance(first, AgentToAgentMessage)
    assert (first.origin, first.created_at) == ("agent", rows[0].created_at)


def test_the_parent_gets_the_answer_and_who_gave_it(store: Store) -> None:
    talk = store.conversations.create(memory="turns")
    chat = delegating()
    agent_in(store, talk, chat, scripted("b is blue")).run_turn("go", unheard)
    result = chat.script.requests[1][-1]
    assert isinstance(result, ToolMessage)
    assert (result.content, result.status) == ("b is blue", "success")
    stored = decode(store.messages.get(talk.id, 3))
    assert isinstance(stored, ToolMessage)
    (child,) = store.conversations.list(parent_id=talk.id)
    assert stored.artifact == {"conversation_id": child.id}


def test_the_child_sees_only_its_task_and_the_parent_only_the_answer(store: Store) -> None:
    talk = store.conversations.create(memory="turns")
    chat, child_chat = delegating("count the doors"), scripted("four")
    agent = agent_in(store, talk, chat, child_chat)
    agent.run_turn("a secret", unheard)
    (request,) = child_chat.script.requests
    assert len(request) == 1
    assert str(request[0].content).startswith("[[agent | ")
    assert str(request[0].content).endswith("\ncount the doors")
    assert [message.role for message in store.messages.of_turn(talk.id, 1)] == ["human", "ai", "tool", "ai"]


def test_a_child_is_inspected_like_any_other_conversation(store: Store) -> None:
    talk = store.conversations.create(memory="turns")
    agent_in(store, talk, delegating(), scripted("b is blue")).run_turn("go", unheard)
    (child,) = store.conversations.list(parent_id=talk.id)
    for memory in ("window", "turns"):
        ledger = memory_of(memory).context(store, child, Policy(), Request()).ledger
        assert (ledger.total, ledger.forgotten.count) == (2, 0)
    assert [call.purpose for call in store.calls.newest_first(child.id, purpose="chat")] == ["chat"]


def test_a_child_that_fails_is_an_error_the_parent_sees(store: Store) -> None:
    talk = store.conversations.create()
    chat = delegating()
    assert agent_in(store, talk, chat, scripted(ModelError("out of memory"))).run_turn("go", unheard).status == "done"
    result = chat.script.requests[1][-1]
    assert isinstance(result, ToolMessage)
    assert (result.content, result.status) == ("ModelError: out of memory", "error")


def test_ctrl_c_in_the_child_ends_the_parents_turn_too_and_keeps_both(store: Store) -> None:
    talk = store.conversations.create()
    result = agent_in(store, talk, delegating(), scripted(KeyboardInterrupt())).run_turn("go", unheard)
    assert result.status == "interrupted"
    (child,) = store.conversations.list(parent_id=talk.id)
    assert [store.turns.get(id, 1).status for id in (talk.id, child.id)] == ["interrupted", "interrupted"]


def test_a_childs_rounds_are_bounded(store: Store) -> None:
    talk = store.conversations.create()
    child_chat = scripted(otherwise=lambda messages: asks(("look", {"at": "b"})))
    chat = delegating()
    agent_in(store, talk, chat, child_chat).run_turn("go", unheard)
    assert len(child_chat.script.requests) == 3
    assert chat.script.requests[1][-1].content == "The helper gave no answer."


def choice(chat: ScriptedChat) -> ModelChoice:
    return ModelChoice("scripted", "provider", "", 8192, 8192, True, chat)


def tools_at(store: Store, talk: Conversation, settings: Settings, wanted: ToolsWanted | None = None) -> list[str]:
    chat = scripted(otherwise="ok")
    agent = assemble(store, talk, settings, choice(chat), wanted or ToolsWanted())
    agent.run_turn("hi", unheard)
    return chat.script.tools[0]


def test_helpers_are_off_unless_they_are_asked_for(store: Store) -> None:
    talk = store.conversations.create()
    assert tools_at(store, talk, Settings()) == ["recall", "now", "update_plan"]
    assert tools_at(store, talk, Settings(delegate=True))[-1] == "delegate"
    assert tools_at(store, talk, Settings(), ToolsWanted(delegate=True))[-1] == "delegate"
    assert tools_at(store, talk, Settings(delegate=True), ToolsWanted(without=True)) == []


def test_helpers_stand_only_so_deep_below_one_another(store: Store) -> None:
    settings = Settings(delegate=True, max_depth=2)
    talk = store.conversations.create()
    child = open_child(store, talk.id)
    grandchild = open_child(store, child.id)
    fork = store.conversations.fork(talk.id)
    assert [depth_of(store, item) for item in (talk, child, grandchild, fork)] == [0, 1, 2, 0]
    assert ["delegate" in tools_at(store, item, settings) for item in (talk, child, grandchild)] == [True, True, False]


def test_a_whole_line_of_helpers_answers_through_assembled_agents(store: Store) -> None:
    talk = store.conversations.create(memory="turns")
    chat = scripted(
        asks(("delegate", {"task": "one"})), asks(("delegate", {"task": "two"})), "deep", "deeper", "deepest"
    )
    settings = Settings(delegate=True, summarizer="extractive")
    agent = assemble(store, talk, settings, choice(chat), ToolsWanted())
    assert agent.run_turn("go", unheard).answer == "deepest"
    (child,) = store.conversations.list(parent_id=talk.id)
    (grandchild,) = store.conversations.list(parent_id=child.id)
    assert [store.messages.get(item.id, 1).text for item in (child, grandchild)] == ["one", "two"]
    assert store.summaries.newest_of_turns(grandchild.id)[0].details["response"] == "deep"
