"""Which memory model a command goes by, and a context under it; only the model that is asked for is loaded.

It refuses to know what a memory model does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from memcli.config import Resolved
from memcli.memory.context import Context, Policy, Request
from memcli.records import Conversation, MemoryModel
from memcli.store import Store

if TYPE_CHECKING:
    from memcli.memory.due import Due


def memory_of(resolved: Resolved, conversation: Conversation) -> MemoryModel:
    """Name the memory model to look at a conversation under: the one asked for with a flag, else its own."""
    asked = asked_memory(resolved)
    return asked if asked is not None else conversation.memory


def asked_memory(resolved: Resolved) -> MemoryModel | None:
    """Name the memory model this run's flag asks for; None without one. Settings only say how new ones are kept."""
    return cast("MemoryModel", resolved.settings.memory) if resolved.came_from("memory") == "flag" else None


def other_memory(memory: str) -> MemoryModel:
    """Name the other memory model."""
    return "turns" if memory == "window" else "window"


def keep_under(store: Store, conversation: Conversation, memory: MemoryModel) -> str:
    """Keep a conversation under another memory model and say what that changes; "" when it is under it already.

    Nothing that is stored is lost: the summaries of both models stay, and those of the one in use count.
    """
    if conversation.memory == memory:
        return ""
    store.conversations.set_memory(conversation.id, memory)
    return f"kept under memory {memory} from now on, no longer under {conversation.memory}: {_MEANS[memory]}"


def request_of(conversation: Conversation) -> Request:
    """Ask for a context with the tools that the conversation's last chat recorded."""
    tools = conversation.settings.get("tools_tokens")
    return Request(tools_tokens=tools if isinstance(tools, int) else 0)


_MEANS = {
    "window": "the newest messages stay word for word, and a running summary stands for the rest",
    "turns": "each completed turn becomes a summary, made when the next turn ends",
}


def context_under(
    memory: MemoryModel, store: Store, conversation: Conversation, policy: Policy, request: Request
) -> Context:
    """Build a context under a memory model. Raises ContextOverflow when what must be there does not fit."""
    if memory == "turns":
        from memcli.memory import turns

        return turns.context(store, conversation, policy, request)
    from memcli.memory import window

    return window.context(store, conversation, policy, request)


def due_under(
    memory: MemoryModel, store: Store, conversation: Conversation, policy: Policy, request: Request,
    *, seen: Context,
) -> Due:  # fmt: skip
    """Tell whether something is to be folded; `seen` is the conversation's next context."""
    if memory == "turns":
        from memcli.memory import rolling

        return rolling.due(store, conversation, policy, request)
    from memcli.memory import uncovered

    return uncovered.due(store, conversation, policy, request, seen=seen)
