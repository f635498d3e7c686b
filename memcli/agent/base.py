"""The seed design's interfaces, by its names: BaseMemoryCompactor, BaseInjector and Injector, BaseAgent, AgentConfig.

A custom injector, compactor or agent written for that design runs here with only its import lines changed. Source: the
memory, injector and agent-config pages of the Enthusiast documentation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import AIMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool

from memcli.store import Store

RepositoriesInstances: TypeAlias = Store
"""What the design calls its repositories is the store."""
ToolLike: TypeAlias = BaseTool | Callable[..., object]
LanguageModel: TypeAlias = "BaseLanguageModel[AIMessage] | BaseLanguageModel[str]"


class BaseMemoryCompactor(ABC):
    """Turn the part of a conversation that leaves the window into a summary, and keep it."""

    @abstractmethod
    def get_summary(self) -> str | None:
        """Return the summary in force; None when there is none yet."""

    @abstractmethod
    def compact_if_needed(self) -> None:
        """Make a new summary if one is due. Called after new messages have been added to the history."""


class BaseInjector(ABC):
    """Hand an agent what it works with."""

    def __init__(self, repositories: RepositoriesInstances) -> None:
        self._repositories = repositories

    @property
    def repositories(self) -> RepositoriesInstances:
        """Give the store."""
        return self._repositories

    @property
    @abstractmethod
    def chat_history(self) -> BaseChatMessageHistory:
        """Give the conversation's history."""

    @property
    def memory_compactor(self) -> BaseMemoryCompactor | None:
        """Give the compactor; None for an agent that did not opt in."""
        return None


class Injector(BaseInjector):
    """The injector used where a configuration names no other. Retrievers are passed through as they are given."""

    def __init__(
        self,
        repositories: RepositoriesInstances,
        chat_history: BaseChatMessageHistory,
        memory_compactor: BaseMemoryCompactor | None = None,
        document_retriever: BaseRetriever | None = None,
        product_retriever: BaseRetriever | None = None,
    ) -> None:
        super().__init__(repositories)
        self._chat_history = chat_history
        self._memory_compactor = memory_compactor
        self._document_retriever = document_retriever
        self._product_retriever = product_retriever

    @property
    def chat_history(self) -> BaseChatMessageHistory:
        """Give the conversation's history."""
        return self._chat_history

    @property
    def memory_compactor(self) -> BaseMemoryCompactor | None:
        """Give the compactor; None for an agent that did not opt in."""
        return self._memory_compactor

    @property
    def document_retriever(self) -> BaseRetriever | None:
        """Give the document retriever, if the configuration has one."""
        return self._document_retriever

    @property
    def product_retriever(self) -> BaseRetriever | None:
        """Give the product retriever, if the configuration has one."""
        return self._product_retriever


class BaseAgent(ABC):
    """Answer the user, with the tools, model and injector it is built with."""

    def __init__(
        self,
        tools: Sequence[BaseTool],
        llm: LanguageModel,
        system_prompt: str,
        conversation_id: str,
        injector: BaseInjector,
        callback_handler: BaseCallbackHandler | None = None,
    ) -> None:
        self._tools = list(tools)
        self._llm = llm
        self._system_prompt = system_prompt
        self._conversation_id = conversation_id
        self._injector = injector
        self._callback_handler = callback_handler

    @abstractmethod
    def get_answer(self, input_text: str) -> str:
        """Answer one message, store what was said, and compact if that is due."""


@dataclass(frozen=True)
class AgentConfig:
    """Say how an agent is built. No agent has a compactor unless it opts in."""

    agent_class: type[BaseAgent]
    system_prompt: str
    tools: Sequence[ToolLike]
    llm: LanguageModel | None
    """The model; None takes the one the caller chose."""
    injector: type[BaseInjector]
    memory_compactor_enabled: bool
    retrievers: Mapping[str, BaseRetriever]
    """Given to the injector by name: `document`, `product`."""
    builder: type | None
    """A BaseAgentBuilder of the agent's own; None takes AgentBuilder."""


@dataclass(frozen=True)
class AgentConfigWithDefaults(AgentConfig):
    """AgentConfig with everything but the agent's class at its default; what `get_config()` returns."""

    agent_class: type[BaseAgent]
    system_prompt: str = ""
    tools: Sequence[ToolLike] = ()
    llm: LanguageModel | None = None
    injector: type[BaseInjector] = Injector
    memory_compactor_enabled: bool = False
    retrievers: Mapping[str, BaseRetriever] = field(default_factory=dict)
    builder: type | None = None
