"""An injector, a compactor, a builder and an agent written as the seed design documents them; the imports are ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, tool

from memcli import (
    AgentConfig,
    AgentConfigWithDefaults,
    BaseAgent,
    BaseAgentBuilder,
    BaseInjector,
    BaseMemoryCompactor,
    ContextWindowBuilder,
    Injector,
    LLMMemoryCompactor,
    PersistentChatHistory,
    RepositoriesInstances,
    Store,
)
from memcli.errors import UsageError
from tests.agent.scripted import ScriptedChat, asks, scripted
from tests.histories import opened


class Retriever(BaseRetriever):
    found: str

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(self.found)]


class MyInjector(BaseInjector):
    def __init__(
        self,
        document_retriever: BaseRetriever,
        product_retriever: BaseRetriever,
        repositories: RepositoriesInstances,
        chat_history: BaseChatMessageHistory,
        memory_compactor: BaseMemoryCompactor | None = None,
    ) -> None:
        super().__init__(repositories)
        self._document_retriever = document_retriever
        self._product_retriever = product_retriever
        self._chat_history = chat_history
        self._memory_compactor = memory_compactor

    @property
    def document_retriever(self) -> BaseRetriever:
        return self._document_retriever

    @property
    def product_retriever(self) -> BaseRetriever:
        return self._product_retriever

    @property
    def chat_history(self) -> BaseChatMessageHistory:
        return self._chat_history

    @property
    def memory_compactor(self) -> BaseMemoryCompactor | None:
        return self._memory_compactor


class MyMemoryCompactor(BaseMemoryCompactor):
    def __init__(self, chat_history: PersistentChatHistory) -> None:
        self._chat_history = chat_history
        self._summary: str | None = None
        self._last_message_id: int | None = None

    def get_summary(self) -> str | None:
        return self._summary

    def compact_if_needed(self) -> None:
        new = self._chat_history.messages_after(self._last_message_id)
        if sum(isinstance(message, HumanMessage) for message in new) >= 2:
            self._summary = f"{len(new)} new messages after {self._last_message_id}"
            self._last_message_id = self._chat_history.last_message_id


class MyAgentBuilder(BaseAgentBuilder):
    def _build_memory_compactor(self) -> BaseMemoryCompactor | None:
        return MyMemoryCompactor(self._build_chat_history())

    def _build_injector(self) -> BaseInjector:
        memory_compactor = None
        if self._config.memory_compactor_enabled:
            memory_compactor = self._build_memory_compactor()
        return self._config.injector(
            product_retriever=self._build_product_retriever(),
            document_retriever=self._build_document_retriever(),
            repositories=self._repositories,
            chat_history=self._build_chat_history(),
            memory_compactor=memory_compactor,
        )  # type: ignore[call-arg]


class ToolLoop:
    """What `langchain.agents.create_agent` gives, in a few lines: call, run the tools, call again."""

    def __init__(self, llm: ScriptedChat, tools: Sequence[BaseTool]) -> None:
        self._llm = llm
        self._tools = {item.name: item for item in tools}

    def invoke(self, state: Mapping[str, list[BaseMessage]]) -> dict[str, list[BaseMessage]]:
        messages = list(state["messages"])
        while True:
            answer = self._llm.bind_tools(list(self._tools.values())).invoke(messages)
            assert isinstance(answer, AIMessage)
            messages.append(answer)
            if not answer.tool_calls:
                return {"messages": messages}
            messages += [self._tools[call["name"]].invoke(call) for call in answer.tool_calls]


class MyAgent(BaseAgent):
    def get_answer(self, input_text: str) -> str:
        history = self._injector.chat_history
        memory_compactor = self._injector.memory_compactor
        context = ContextWindowBuilder(chat_history=history, memory_compactor=memory_compactor).build(max_tokens=3000)
        assert isinstance(self._llm, ScriptedChat)
        agent = ToolLoop(self._llm, self._tools)
        messages = [SystemMessage(self._system_prompt), *context, HumanMessage(input_text)]
        result = agent.invoke({"messages": messages})
        history.add_messages(result["messages"][len(context) + 1 :])
        if memory_compactor:
            memory_compactor.compact_if_needed()
        return str(result["messages"][-1].content)


@tool
def price(flight: str) -> str:
    """Look a flight's price up."""
    return f"{flight} costs $240"


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("store")) as store:
        yield store


RETRIEVERS = {"document": Retriever(found="a document"), "product": Retriever(found="a product")}


def get_config(llm: ScriptedChat, *, memory_compactor_enabled: bool = True) -> AgentConfig:
    return AgentConfigWithDefaults(
        agent_class=MyAgent,
        system_prompt="You sell flights.",
        tools=[price],
        llm=llm,
        injector=MyInjector,
        memory_compactor_enabled=memory_compactor_enabled,
        retrievers=RETRIEVERS,
    )


def test_a_custom_agent_answers_stores_the_turn_and_compacts(store: Store) -> None:
    ask = asks(("price", {"flight": "HAT069"}))
    llm = scripted(ask, "It costs $240.", "You are welcome.", "Yes?")
    agent = MyAgentBuilder(get_config(llm), "chat-1", repositories=store).build()
    assert agent.get_answer("How much is HAT069?") == "It costs $240."
    assert agent.get_answer("Thanks") == "You are welcome."
    history = PersistentChatHistory(store, "chat-1")
    assert [(message.type, message.content) for message in history.messages] == [
        ("human", "How much is HAT069?"),
        ("ai", ""),
        ("tool", "HAT069 costs $240"),
        ("ai", "It costs $240."),
        ("human", "Thanks"),
        ("ai", "You are welcome."),
    ]
    assert agent.get_answer("One more") == "Yes?"
    third = llm.script.requests[-1]
    assert [message.content for message in third[:2]] == [
        "You sell flights.",
        "Summary of earlier conversation:\n6 new messages after None",
    ]
    assert third[2:] == [*history.messages[:6], HumanMessage("One more")]
    assert store.check() == []


def test_the_next_process_goes_on_where_the_last_one_stopped(store: Store) -> None:
    MyAgentBuilder(get_config(scripted("Hello.")), "chat-1", repositories=store).build().get_answer("Hi")
    llm = scripted("Still here.")
    with Store(store.path) as reopened:
        agent = MyAgentBuilder(get_config(llm), "chat-1", repositories=reopened).build()
        agent.get_answer("Still there?")
    assert [message.content for message in llm.script.requests[0][1:]] == ["Hi", "Hello.", "Still there?"]


def test_a_custom_injector_gets_its_retrievers_the_store_and_the_history(store: Store) -> None:
    builder = MyAgentBuilder(get_config(scripted()), "chat-1", repositories=store)
    builder.build()
    injector = builder._build_injector()
    assert isinstance(injector, MyInjector)
    assert [item.page_content for item in injector.document_retriever.invoke("x")] == ["a document"]
    assert [item.page_content for item in injector.product_retriever.invoke("x")] == ["a product"]
    assert injector.repositories is store
    assert isinstance(injector.chat_history, PersistentChatHistory)
    assert isinstance(injector.memory_compactor, MyMemoryCompactor)


def test_no_agent_has_a_compactor_unless_it_opts_in(store: Store) -> None:
    config = get_config(scripted("Hello."), memory_compactor_enabled=False)
    builder = MyAgentBuilder(config, "chat-1", repositories=store)
    assert builder.build().get_answer("Hi") == "Hello."
    assert builder._build_injector().memory_compactor is None
    assert AgentConfigWithDefaults(agent_class=MyAgent).memory_compactor_enabled is False


def test_the_default_builder_wires_the_built_in_compactor_with_the_agents_model(store: Store) -> None:
    config = AgentConfigWithDefaults(agent_class=MyAgent, llm=scripted(), memory_compactor_enabled=True)
    builder = BaseAgentBuilder(config, "chat-1", repositories=store)
    assert isinstance(builder.build(), MyAgent)
    injector = builder._build_injector()
    assert isinstance(injector, Injector)
    assert isinstance(injector.memory_compactor, LLMMemoryCompactor)
    assert (injector.document_retriever, injector.product_retriever) == (None, None)


def test_the_given_model_is_used_where_the_configuration_names_none(store: Store) -> None:
    config = AgentConfigWithDefaults(agent_class=MyAgent)
    agent = BaseAgentBuilder(config, "chat-1", repositories=store, llm=scripted("Hello.")).build()
    assert agent.get_answer("Hi") == "Hello."


def test_an_agent_without_any_model_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="the agent's configuration names no model"):
        BaseAgentBuilder(AgentConfigWithDefaults(agent_class=MyAgent), "chat-1", repositories=store).build()


def test_plain_functions_are_tools_too(store: Store) -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    llm = scripted(asks(("add", {"a": 2, "b": 2})), "4")
    config = AgentConfigWithDefaults(agent_class=MyAgent, tools=[add], llm=llm)
    assert BaseAgentBuilder(config, "chat-1", repositories=store).build().get_answer("2+2?") == "4"
    assert llm.script.tools == [["add"], ["add"]]
    result = PersistentChatHistory(store, "chat-1").messages[2]
    assert isinstance(result, ToolMessage)
    assert (result.content, result.tool_call_id) == ("4", "call1")


def test_the_interfaces_cannot_be_made_without_their_parts() -> None:
    with pytest.raises(TypeError, match="chat_history"):
        type("Bare", (BaseInjector,), {})(None)
    with pytest.raises(TypeError, match="get_summary"):
        type("Bare", (BaseMemoryCompactor,), {"compact_if_needed": lambda self: None})()
    with pytest.raises(TypeError, match="get_answer"):
        type("Bare", (BaseAgent,), {})()
