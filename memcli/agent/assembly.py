"""From settings to an agent ready to talk: model, limit, policy, summarizer and tools, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.tools import BaseTool

from memcli.agent.agent import Agent, Model
from memcli.agent.delegate import delegate_tool, depth_of
from memcli.agent.limits import tools_tokens
from memcli.agent.models import ModelChoice, default_summarizer
from memcli.agent.summarizer import ModelSummarizer
from memcli.agent.tools import builtin_tools, load_tools
from memcli.config import Settings
from memcli.memory.context import Policy
from memcli.memory.summarizer import ExtractiveSummarizer, Summarizer
from memcli.records import Conversation
from memcli.store import Store


@dataclass(frozen=True, slots=True)
class ToolsWanted:
    """Which tools an agent gets."""

    references: tuple[str, ...] = ()
    """The user's own, as package.module:name."""
    without: bool = False
    """None at all."""
    delegate: bool = False
    """Also the one that gives tasks to sub-agents; the setting `delegate` asks for it too."""


def assemble(
    store: Store, conversation: Conversation, settings: Settings, choice: ModelChoice, wanted: ToolsWanted
) -> Agent:
    """Build an agent and note in the conversation what the inspector needs: its model, limit and tools' tokens."""
    tools = [
        *chosen_tools(store, conversation.id, choice, wanted),
        *_delegating(store, conversation, settings, choice, wanted),
    ]
    model = Model(
        choice.chat,
        choice.name,
        choice.limit_tokens,
        choice.can_call_tools,
        must_say_done=choice.backend == "ollama",
        most_output_tokens=settings.output_reserve if choice.backend == "embedded" else None,
        allotment=choice.allotment,
    )
    agent = Agent(
        store,
        conversation.id,
        model,
        policy=Policy.of(settings, limit_tokens=choice.limit_tokens),
        summarizer=chosen_summarizer(settings, choice),
        tools=tools,
        max_rounds=settings.max_rounds,
    )
    note = {
        **conversation.settings,
        "limit_tokens": choice.limit_tokens,
        "tools_tokens": tools_tokens(tools if choice.can_call_tools else []),
    }
    if note != conversation.settings or conversation.model != choice.name:
        with store.transaction():
            store.conversations.set_settings(conversation.id, note)
            store.conversations.set_model(conversation.id, choice.name)
    return agent


def _delegating(
    store: Store, conversation: Conversation, settings: Settings, choice: ModelChoice, wanted: ToolsWanted
) -> list[BaseTool]:
    """Offer sub-agents where they are wanted and the conversation is not too deep below a person's."""
    is_wanted = (wanted.delegate or settings.delegate) and not wanted.without and choice.can_call_tools
    if not is_wanted or depth_of(store, conversation) >= settings.max_depth:
        return []
    return [
        delegate_tool(store, conversation.id, lambda child: assemble(store, child, settings, choice, wanted))
    ]  # fmt: skip


def chosen_summarizer(settings: Settings, choice: ModelChoice) -> Summarizer:
    """Pick who summarises: the setting, or the model itself, or for the embedded toy the extractive summarizer."""
    if (settings.summarizer or default_summarizer(choice)) == "extractive":
        return ExtractiveSummarizer()
    return ModelSummarizer(choice.chat, label=choice.name, window_tokens=choice.limit_tokens)


def chosen_tools(store: Store, conversation_id: str, choice: ModelChoice, wanted: ToolsWanted) -> Sequence[BaseTool]:
    """Collect the tools: the built-in ones and the user's; none for a model that cannot call them."""
    own = load_tools(wanted.references)
    if wanted.without or not choice.can_call_tools:
        return []
    return [*builtin_tools(store, conversation_id), *own]
