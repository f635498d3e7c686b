"""The public names of memcli, each loaded from its module when it is first asked for.

`from memcli import Store` costs the store and nothing else: `import memcli` alone loads no floor of the house. It
refuses to hold any code of its own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memcli.agent.agent import Agent
    from memcli.agent.base import (
        AgentConfig,
        AgentConfigWithDefaults,
        BaseAgent,
        BaseInjector,
        BaseMemoryCompactor,
        Injector,
        RepositoriesInstances,
    )
    from memcli.agent.builder import AgentBuilder, BaseAgentBuilder
    from memcli.agent.compactor import LLMMemoryCompactor
    from memcli.agent.embedded import EmbeddedChat
    from memcli.agent.history import PersistentChatHistory
    from memcli.agent.limits import Model
    from memcli.agent.summarizer import ModelSummarizer
    from memcli.agent.typed import (
        AgentMessage,
        AgentToAgentMessage,
        CompactionMessage,
        PlanMessage,
        RenderableMessageMixin,
        SummaryMessage,
        UserMessage,
    )
    from memcli.agent.window_builder import MAX_HISTORY_TOKENS, ContextWindowBuilder
    from memcli.errors import MemcliError
    from memcli.memory.context import Policy
    from memcli.memory.recalls import ChatHistoryCompaction, ChatTurnContext, ChatTurnSummary, LLMDigestibleMixin
    from memcli.memory.summarizer import Completion, ExtractiveSummarizer, Summarizer
    from memcli.records import Conversation, StoredMessage, Summary
    from memcli.store import Store

__version__ = "0.1.0"

_HOMES = {
    "Agent": "memcli.agent.agent",
    "AgentBuilder": "memcli.agent.builder",
    "AgentConfig": "memcli.agent.base",
    "AgentConfigWithDefaults": "memcli.agent.base",
    "AgentMessage": "memcli.agent.typed",
    "AgentToAgentMessage": "memcli.agent.typed",
    "BaseAgent": "memcli.agent.base",
    "BaseAgentBuilder": "memcli.agent.builder",
    "BaseInjector": "memcli.agent.base",
    "BaseMemoryCompactor": "memcli.agent.base",
    "ChatHistoryCompaction": "memcli.memory.recalls",
    "ChatTurnContext": "memcli.memory.recalls",
    "ChatTurnSummary": "memcli.memory.recalls",
    "CompactionMessage": "memcli.agent.typed",
    "Completion": "memcli.memory.summarizer",
    "ContextWindowBuilder": "memcli.agent.window_builder",
    "Conversation": "memcli.records",
    "EmbeddedChat": "memcli.agent.embedded",
    "ExtractiveSummarizer": "memcli.memory.summarizer",
    "Injector": "memcli.agent.base",
    "LLMDigestibleMixin": "memcli.memory.recalls",
    "LLMMemoryCompactor": "memcli.agent.compactor",
    "MAX_HISTORY_TOKENS": "memcli.agent.window_builder",
    "MemcliError": "memcli.errors",
    "Model": "memcli.agent.limits",
    "ModelSummarizer": "memcli.agent.summarizer",
    "PersistentChatHistory": "memcli.agent.history",
    "PlanMessage": "memcli.agent.typed",
    "Policy": "memcli.memory.context",
    "RenderableMessageMixin": "memcli.agent.typed",
    "RepositoriesInstances": "memcli.agent.base",
    "Store": "memcli.store",
    "StoredMessage": "memcli.records",
    "Summarizer": "memcli.memory.summarizer",
    "Summary": "memcli.records",
    "SummaryMessage": "memcli.agent.typed",
    "UserMessage": "memcli.agent.typed",
}
"""Where each public name lives. A new one is added here, above and in `__all__`; a test holds the three together."""

__all__ = [
    "MAX_HISTORY_TOKENS",
    "Agent",
    "AgentBuilder",
    "AgentConfig",
    "AgentConfigWithDefaults",
    "AgentMessage",
    "AgentToAgentMessage",
    "BaseAgent",
    "BaseAgentBuilder",
    "BaseInjector",
    "BaseMemoryCompactor",
    "ChatHistoryCompaction",
    "ChatTurnContext",
    "ChatTurnSummary",
    "CompactionMessage",
    "Completion",
    "ContextWindowBuilder",
    "Conversation",
    "EmbeddedChat",
    "ExtractiveSummarizer",
    "Injector",
    "LLMDigestibleMixin",
    "LLMMemoryCompactor",
    "MemcliError",
    "Model",
    "ModelSummarizer",
    "PersistentChatHistory",
    "PlanMessage",
    "Policy",
    "RenderableMessageMixin",
    "RepositoriesInstances",
    "Store",
    "StoredMessage",
    "Summarizer",
    "Summary",
    "SummaryMessage",
    "UserMessage",
    "__version__",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'memcli' has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
