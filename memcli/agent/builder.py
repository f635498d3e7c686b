"""BaseAgentBuilder: puts an agent together from its configuration; every step can be overridden.

Source: the builder page of the Enthusiast documentation. The steps that exist there for its database and registries
have no counterpart: the store is given.
"""

from __future__ import annotations

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool

from memcli.agent.base import (
    AgentConfig,
    BaseAgent,
    BaseInjector,
    BaseMemoryCompactor,
    LanguageModel,
    RepositoriesInstances,
)
from memcli.agent.compactor import LLMMemoryCompactor
from memcli.agent.history import PersistentChatHistory
from memcli.agent.tools import from_tool_likes
from memcli.errors import UsageError
from memcli.memory.context import Policy
from memcli.memory.summarizer import Summarizer


class BaseAgentBuilder:
    """Build one agent for one conversation. Override a `_build_…` step to change it."""

    def __init__(
        self,
        config: AgentConfig,
        conversation_id: str,
        streaming: bool = False,
        *,
        repositories: RepositoriesInstances,
        llm: LanguageModel | None = None,
        summarizer: Summarizer | None = None,
        policy: Policy | None = None,
    ) -> None:
        self._config = config
        self.conversation_id = conversation_id
        self.streaming = streaming
        self._repositories = repositories
        self._given_llm = llm
        self._summarizer = summarizer
        self._policy = policy
        self._llm: LanguageModel | None = None
        self._injector: BaseInjector | None = None

    def build(self) -> BaseAgent:
        """Build the model, the injector, the tools and the agent, in this order. Raises UsageError without a model."""
        self._llm = self._build_llm()
        self._injector = self._build_injector()
        tools = self._build_tools(self._llm, self._injector)
        return self._build_agent(tools, self._llm, self._build_agent_callback_handler())

    def _build_llm(self) -> LanguageModel:
        llm = self._config.llm or self._given_llm
        if llm is None:
            raise UsageError("the agent's configuration names no model", "set `llm` in it, or pass --model")
        return llm

    def _build_injector(self) -> BaseInjector:
        return self._config.injector(
            product_retriever=self._build_product_retriever(),
            document_retriever=self._build_document_retriever(),
            repositories=self._repositories,
            chat_history=self._build_chat_history(),
            memory_compactor=self._build_memory_compactor(),
        )  # type: ignore[call-arg]

    def _build_chat_history(self) -> PersistentChatHistory:
        return PersistentChatHistory(self._repositories, self.conversation_id)

    def _build_memory_compactor(self) -> BaseMemoryCompactor | None:
        """Build the built-in compactor, for an agent that opts in."""
        if not self._config.memory_compactor_enabled:
            return None
        writer = self._summarizer or self._llm
        if not isinstance(writer, BaseChatModel) and self._summarizer is None:
            raise UsageError(f"{type(self._llm).__name__} is not a chat model and cannot summarise", "use a chat model")
        return LLMMemoryCompactor(self._repositories, self.conversation_id, writer, policy=self._policy)  # type: ignore[arg-type]

    def _build_product_retriever(self) -> BaseRetriever | None:
        return self._config.retrievers.get("product")

    def _build_document_retriever(self) -> BaseRetriever | None:
        return self._config.retrievers.get("document")

    def _build_tools(self, default_llm: LanguageModel, injector: BaseInjector) -> list[BaseTool]:  # noqa: ARG002 - for overrides
        return from_tool_likes(self._config.tools)

    def _build_agent_callback_handler(self) -> BaseCallbackHandler | None:
        return None

    def _build_agent(
        self, tools: list[BaseTool], llm: LanguageModel, callback_handler: BaseCallbackHandler | None
    ) -> BaseAgent:
        assert self._injector is not None
        return self._config.agent_class(
            tools=tools,
            llm=llm,
            system_prompt=self._config.system_prompt,
            conversation_id=self.conversation_id,
            injector=self._injector,
            callback_handler=callback_handler,
        )


class AgentBuilder(BaseAgentBuilder):
    """The builder used where a configuration names no other."""
