"""Sub-agents: a tool that opens a conversation of its own for a task, runs it there and returns its answer.

The child is an ordinary conversation with the same tools and its own context and memory; it names its parent. It
refuses to know how an agent is put together: whoever offers the tool says how one is hired.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from langchain_core.tools import BaseTool, StructuredTool

from memcli.agent.events import Event, TurnResult
from memcli.agent.typed import AgentToAgentMessage
from memcli.errors import NotFound
from memcli.records import Conversation
from memcli.store import Store

NO_ANSWER = "The helper gave no answer."


class Worker(Protocol):
    """An agent as the tool needs it."""

    def run_turn(self, text: AgentToAgentMessage, emit: Callable[[Event], None], /) -> TurnResult:
        """Answer one message."""
        ...


def delegate_tool(store: Store, conversation_id: str, hire: Callable[[Conversation], Worker]) -> BaseTool:
    """Make the tool that gives a task to a sub-agent. `hire` puts an agent into the conversation it is given.

    The result's artifact names the child. Ctrl-C in the child ends the parent's turn too.
    """

    def delegate(task: str) -> tuple[str, dict[str, str]]:
        """Give a self-contained task to a helper with the same tools, which knows nothing of this conversation.

        Put everything it needs into the task. Its final answer is returned.
        """
        child = open_child(store, conversation_id)
        result = hire(child).run_turn(AgentToAgentMessage(task), _ignore)
        if result.error is not None:
            raise result.error
        if result.status == "interrupted":
            raise KeyboardInterrupt
        return result.answer or NO_ANSWER, {"conversation_id": child.id}

    return StructuredTool.from_function(delegate, response_format="content_and_artifact")


def open_child(store: Store, parent_id: str) -> Conversation:
    """Begin the conversation a sub-agent works in: its parent's model, prompt, memory and settings, no history."""
    parent = store.conversations.get(parent_id)
    return store.conversations.create(
        model=parent.model, system_prompt=parent.system_prompt, memory=parent.memory, settings=parent.settings,
        parent_id=parent.id,
    )  # fmt: skip


def depth_of(store: Store, conversation: Conversation) -> int:
    """Count the agents above a conversation: 0 for one a person holds. A fork is as deep as its parent."""
    depth = 0
    while conversation.parent_id is not None:
        depth += conversation.forked_at is None
        try:
            conversation = store.conversations.get(conversation.parent_id)
        except NotFound:
            break
    return depth


def _ignore(event: Event) -> None:
    """Nobody watches a sub-agent; its conversation tells what it did."""
