"""The door to the agent floor: a model or a seed-design agent becomes somebody who answers.

Importing this module loads LangChain. It refuses to know the terminal.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from memcli.agent.agent import Agent, TurnResult
from memcli.agent.assembly import ToolsWanted, assemble, chosen_summarizer
from memcli.agent.base import AgentConfig, BaseAgent
from memcli.agent.builder import AgentBuilder
from memcli.agent.embedded import default_gguf
from memcli.agent.events import Folded, TextDelta
from memcli.agent.failures import translated
from memcli.agent.models import EMBEDDED, ModelChoice, choose
from memcli.agent.stream import Emit
from memcli.agent.tools import import_object, load_tools
from memcli.cli.partner import Partner, Wanted
from memcli.config import DEFAULT_LIMIT_TOKENS, Settings
from memcli.errors import MemcliError, NotFound, UsageError
from memcli.memory.context import Context, Policy
from memcli.memory.fold import FoldResult
from memcli.records import Conversation, Turn
from memcli.store import Store

ASKED = "asked for by name"
"""How `choose` explains a model that was named."""
HELD = "the one this conversation is held with"


@dataclass(frozen=True, slots=True)
class Connection:
    """A chosen model, and with --agent the configuration of who uses it."""

    choice: ModelChoice
    wanted: Wanted
    config: AgentConfig | None = None

    @property
    def name(self) -> str:
        """Name the model as it is shown and recorded."""
        return self.choice.name

    @property
    def backend(self) -> str:
        """Name what it runs on."""
        return self.choice.backend

    @property
    def why(self) -> str:
        """Say why it is this one, in one line."""
        return self.choice.why.replace(ASKED, HELD) if self.wanted.goes_on else self.choice.why

    @property
    def limit_tokens(self) -> int:
        """Tell what a call may hold."""
        return self.choice.limit_tokens

    @property
    def is_toy(self) -> bool:
        """Tell whether it is the small model that comes with memcli."""
        return self.choice.backend == "embedded" and self.reference == EMBEDDED

    @property
    def can_call_tools(self) -> bool:
        """Tell whether tools are of use to it."""
        return self.choice.can_call_tools

    @property
    def reference(self) -> str:
        """Name it so that it is found again: an embedded model by its file, any other by its name."""
        if self.choice.backend != "embedded":
            return self.choice.name
        path: object = getattr(self.choice.chat, "path", None)
        return f"{EMBEDDED}:{path.absolute()}" if isinstance(path, Path) and path != default_gguf() else EMBEDDED

    @property
    def system_prompt(self) -> str | None:
        """Give the configuration's system prompt; None when there is none."""
        return (self.config.system_prompt or None) if self.config is not None else None

    def load(self) -> None:
        """Bring an embedded model into memory."""
        load: object = getattr(self.choice.chat, "load", None)
        if callable(load):
            load()

    def partner(self, store: Store, conversation: Conversation, settings: Settings) -> Partner:
        """Build the agent for a conversation; with a configuration, the seed-design agent it describes."""
        tools = ToolsWanted(
            () if self.config else self.wanted.tools, self.wanted.without_tools or self.config is not None
        )
        agent = assemble(store, conversation, settings, self.choice, tools)
        return agent if self.config is None else SeedPartner(self._seed_agent(store, agent, settings), agent, store)

    def _seed_agent(self, store: Store, agent: Agent, settings: Settings) -> BaseAgent:
        assert self.config is not None
        builder = self.config.builder or AgentBuilder
        policy = Policy.of(settings, limit_tokens=self.choice.limit_tokens)
        with translated(f"the agent {self.wanted.agent}"):
            built = builder(
                self.config, agent.conversation_id, repositories=store, llm=self.choice.chat,
                summarizer=chosen_summarizer(settings, self.choice), policy=policy,
            )  # fmt: skip
            return cast(BaseAgent, built.build())


class SeedPartner:
    """A seed-design agent in the place of ours: it answers as a whole, and keeps its own history."""

    def __init__(self, seed: BaseAgent, around: Agent, store: Store) -> None:
        self._seed = seed
        self._around = around
        self._store = store

    def run_turn(self, text: str, emit: Emit) -> TurnResult:
        """Let the agent answer one message. What it raises becomes the turn's error; Ctrl-C ends the turn."""
        before = self._last_turn_id()
        try:
            with translated(type(self._seed).__name__):
                answer = str(self._seed.get_answer(text))
        except MemcliError as err:
            return self._ended(before, "failed", err)
        except KeyboardInterrupt:
            return self._ended(before, "interrupted", None)
        emit(TextDelta(answer))
        self._tell_fold(emit)
        return TurnResult(self._last_turn_id(), "done", answer)

    def retry(self, emit: Emit) -> TurnResult:
        """Take the last turn back and let the agent answer its message again. Raises NotFound without one."""
        text = self._last_message()
        self._around.undo()
        return self.run_turn(text, emit)

    def undo(self) -> Turn:
        """Take the last turn back."""
        return self._around.undo()

    def compact(self, *, instructions: str | None = None) -> FoldResult:
        """Fold what is not covered yet."""
        return self._around.compact(instructions=instructions)

    def context(self) -> Context:
        """Build what an agent of ours would see next in this conversation."""
        return self._around.context()

    def _ended(self, before: int, status: str, error: MemcliError | None) -> TurnResult:
        turn_id = self._last_turn_id()
        if turn_id > before:
            self._store.turns.close(self._around.conversation_id, turn_id, status)  # type: ignore[arg-type]
        return TurnResult(turn_id, status, "", error)  # type: ignore[arg-type]

    def _last_turn_id(self) -> int:
        last = self._store.turns.last(self._around.conversation_id)
        return last.id if last is not None else 0

    def _last_message(self) -> str:
        turn = self._store.turns.last(self._around.conversation_id, counted=True)
        said = self._store.messages.of_turn(self._around.conversation_id, turn.id, excluded=True) if turn else []
        text = next((message.text for message in said if message.role == "human"), None)
        if text is None:
            raise NotFound("there is no turn to run again", "say something first")
        return text

    def _tell_fold(self, emit: Emit) -> None:
        compactor: object = getattr(getattr(self._seed, "_injector", None), "memory_compactor", None)
        result: object = getattr(compactor, "last_result", None)
        if isinstance(result, FoldResult) and result.status != "nothing":
            emit(Folded(result))


def connect(settings: Settings, wanted: Wanted) -> Connection:
    """Choose a model and read the agent's configuration, if one is named. Nothing is stored.

    Raises what `choose` raises, and UsageError for a configuration or tools that cannot be used.
    """
    load_tools(wanted.tools)
    config = _configured(wanted) if wanted.agent else None
    if config is not None and config.llm is not None:
        return Connection(_own_model(settings, config, wanted.agent or ""), wanted, config)
    return Connection(choose(settings, os.environ), wanted, config)


def _configured(wanted: Wanted) -> AgentConfig:
    """Read an agent's configuration and apply what the command line says about its tools and its prompt."""
    reference = wanted.agent or ""
    found = import_object(reference)
    if callable(found) and not isinstance(found, AgentConfig):
        with translated(reference):
            found = found()
    if not isinstance(found, AgentConfig):
        raise UsageError(
            f"{reference} gives {type(found).__name__}, not an AgentConfig", "name a get_config() that returns one"
        )
    tools = () if wanted.without_tools else (*found.tools, *load_tools(wanted.tools))
    return replace(found, tools=tools, system_prompt=found.system_prompt if wanted.system is None else wanted.system)


def _own_model(settings: Settings, config: AgentConfig, reference: str) -> ModelChoice:
    """Describe the model that a configuration brings along."""
    llm = config.llm
    label = getattr(llm, "model", None) or getattr(llm, "model_name", None) or type(llm).__name__
    limit = settings.limit_tokens or DEFAULT_LIMIT_TOKENS
    why = f"brought along by {reference}"
    return ModelChoice(str(label), "provider", why, None, limit, True, llm)  # type: ignore[arg-type]
