"""An agent under a test's eyes: two tools, everything it emits, everything it stores."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, tool

from memcli.agent.agent import Agent, Model, TurnResult
from memcli.agent.events import Event, Notice
from memcli.agent.history import PersistentChatHistory
from memcli.memory.context import Policy
from memcli.records import StoredMessage
from memcli.store import Store
from tests.agent.scripted import Reply, ScriptedChat, scripted
from tests.memory.summarizers import ScriptedSummarizer


@tool
def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


@tool
def fail() -> str:
    """Fail."""
    raise RuntimeError("no such row")


class Watched:
    """An agent with what it emitted and what is stored."""

    def __init__(
        self,
        store: Store,
        chat: ScriptedChat,
        *,
        tools: Sequence[BaseTool] = (look, fail),
        policy: Policy | None = None,
        max_rounds: int = 8,
        summarizer: ScriptedSummarizer | None = None,
    ) -> None:
        self.store = store
        self.chat = chat
        self.events: list[Event] = []
        self.summarizer = summarizer or ScriptedSummarizer()
        self.policy = policy or Policy()
        self.agent = Agent(
            store,
            store.conversations.create().id,
            Model(chat, "scripted", self.policy.limit_tokens, can_call_tools=True),
            policy=self.policy,
            summarizer=self.summarizer,
            tools=tools,
            max_rounds=max_rounds,
        )

    def turn(self, said: str, uid: str | None = None) -> TurnResult:
        return self.agent.run_turn(said, self.events.append, uid=uid)

    def retry(self) -> TurnResult:
        return self.agent.retry(self.events.append)

    @property
    def history(self) -> list[BaseMessage]:
        return PersistentChatHistory(self.store, self.agent.conversation_id).messages

    @property
    def rows(self) -> list[StoredMessage]:
        return list(self.store.messages.oldest_first(self.agent.conversation_id, excluded=True))

    @property
    def told(self) -> list[tuple[str, str, str]]:
        return [(row.role, row.text, row.state) for row in self.rows]

    def status(self, turn_id: int) -> str:
        return self.store.turns.get(self.agent.conversation_id, turn_id).status

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]


def watched(store: Store, *replies: Reply, otherwise: Reply | None = None) -> Watched:
    return Watched(store, scripted(*replies, otherwise=otherwise))


def unheard(event: Event) -> None:
    """Take an event and do nothing with it."""
