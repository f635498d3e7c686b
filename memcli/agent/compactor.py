"""The built-in compactor: Model A's running summary behind the seed design's interface."""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel

from memcli.agent.base import BaseMemoryCompactor
from memcli.agent.history import PersistentChatHistory
from memcli.agent.summarizer import ModelSummarizer
from memcli.errors import ModelUnreachable
from memcli.memory import running
from memcli.memory.context import Policy
from memcli.memory.fold import FoldResult
from memcli.memory.prompts import render_values
from memcli.memory.summarizer import Summarizer
from memcli.store import Store


class LLMMemoryCompactor(BaseMemoryCompactor):
    """Summarise every ten human messages, incrementally: the old summary and only the new messages go to the model.

    It also folds as soon as uncovered messages leave the window. A failure is recorded and leaves everything as it was;
    it is in `last_result`, never raised: the turn that is over must not be run again because of it. Source:
    LLMMemoryCompactor of the Enthusiast design.
    """

    def __init__(
        self,
        store: Store,
        conversation_id: str,
        llm: BaseChatModel | Summarizer,
        chat_history: PersistentChatHistory | None = None,
        *,
        policy: Policy | None = None,
    ) -> None:
        self._store = store
        self._conversation_id = conversation_id
        self._summarizer = ModelSummarizer(llm) if isinstance(llm, BaseChatModel) else llm
        self._policy = policy or Policy()
        self.chat_history = chat_history or PersistentChatHistory(store, conversation_id)
        self.last_result: FoldResult | None = None
        """What the last compact_if_needed came to; None before the first."""

    def get_summary(self) -> str | None:
        """Return the summary in force with its exact values; None when there is none yet."""
        head = self._store.summaries.head(self._conversation_id, "running")
        if head is None:
            return None
        return f"{head.text}\n{render_values(head.values)}" if head.values else head.text

    def compact_if_needed(self) -> None:
        """Make a new summary if one is due. Raises StoreLocked or StoreUnwritable; a model's failure is recorded."""
        conversation = self._store.conversations.get(self._conversation_id)
        try:
            self.last_result = running.settle(self._store, conversation, self._policy, self._summarizer)
        except ModelUnreachable as err:
            self.last_result = FoldResult(conversation.id, "failed", error=err.message)
