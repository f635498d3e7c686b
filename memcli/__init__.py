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
    from memcli.agent.summarizer import ModelSummarizer
    from memcli.agent.window_builder import MAX_HISTORY_TOKENS, ContextWindowBuilder
    from memcli.errors import MemcliError
    from memcli.memory.context import Policy
    from memcli.memory.summarizer import Completion, ExtractiveSummarizer, Summarizer
    from memcli.records import Conversation, StoredMessage, Summary
    from memcli.store import Store

__version__ = "0.1.0"

_HOMES = {
    "Agent": "memcli.agent.agent",
    "AgentBuilder": "memcli.agent.builder",
    "AgentConfig": "memcli.agent.base",
    "AgentConfigWithDefaults": "memcli.agent.base",
    "BaseAgent": "memcli.agent.base",
    "BaseAgentBuilder": "memcli.agent.builder",
    "BaseInjector": "memcli.agent.base",
    "BaseMemoryCompactor": "memcli.agent.base",
    "Completion": "memcli.memory.summarizer",
    "ContextWindowBuilder": "memcli.agent.window_builder",
    "Conversation": "memcli.records",
    "EmbeddedChat": "memcli.agent.embedded",
    "ExtractiveSummarizer": "memcli.memory.summarizer",
    "Injector": "memcli.agent.base",
    "LLMMemoryCompactor": "memcli.agent.compactor",
    "MAX_HISTORY_TOKENS": "memcli.agent.window_builder",
    "MemcliError": "memcli.errors",
    "ModelSummarizer": "memcli.agent.summarizer",
    "PersistentChatHistory": "memcli.agent.history",
    "Policy": "memcli.memory.context",
    "RepositoriesInstances": "memcli.agent.base",
    "Store": "memcli.store",
    "StoredMessage": "memcli.records",
    "Summarizer": "memcli.memory.summarizer",
    "Summary": "memcli.records",
}
"""Where each public name lives. A new one is added here, above and in `__all__`; a test holds the three together."""

__all__ = [
    "MAX_HISTORY_TOKENS",
    "Agent",
    "AgentBuilder",
    "AgentConfig",
    "AgentConfigWithDefaults",
    "BaseAgent",
    "BaseAgentBuilder",
    "BaseInjector",
    "BaseMemoryCompactor",
    "Completion",
    "ContextWindowBuilder",
    "Conversation",
    "EmbeddedChat",
    "ExtractiveSummarizer",
    "Injector",
    "LLMMemoryCompactor",
    "MemcliError",
    "ModelSummarizer",
    "PersistentChatHistory",
    "Policy",
    "RepositoriesInstances",
    "Store",
    "StoredMessage",
    "Summarizer",
    "Summary",
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
