"""One person's talk: which conversation, with which model, and the moves between them. Used by one turn and the REPL.

Nothing is stored before it must be: a new conversation begins with its first message. It refuses to know the terminal,
and LangChain until a model is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from memcli.cli.memories import keep_under
from memcli.cli.partner import Connected, Partner, Wanted
from memcli.cli.policy import settings_for
from memcli.cli.session import Session
from memcli.cli.setting_flags import POLICY
from memcli.config import DEFAULT_LIMIT_TOKENS, Resolved, Settings
from memcli.errors import AmbiguousName, NotFound, UsageError
from memcli.memory.context import Policy
from memcli.records import Conversation, MemoryModel
from memcli.store import Store

KEPT_FLAGS = tuple(name for name in POLICY if name not in ("memory", "limit_tokens"))
"""Settings that a flag gives to the conversation for good, so that inspecting it later shows what the agent saw."""


Connect = Callable[[Settings, Wanted], Connected]


def connect(settings: Settings, wanted: Wanted) -> Connected:
    """Choose and connect a model. Loads LangChain. Raises what `agent.models.choose` raises."""
    from memcli.cli.connecting import connect as really_connect

    return really_connect(settings, wanted)


@dataclass(slots=True)
class Talk:
    """A conversation, or the place where one will begin, and the model that answers in it."""

    session: Session
    wanted: Wanted = field(default_factory=Wanted)
    conversation_id: str | None = None
    """None before the first message of a new conversation."""
    connector: Connect = connect
    model: str | None = None
    """The model asked for since the start; None leaves it to the settings."""
    memory_for_new: MemoryModel | None = None
    """The memory model asked for since the start for a conversation still to begin; None leaves it to the settings."""
    connected: Connected | None = None
    _partner: Partner | None = None

    @property
    def store(self) -> Store:
        """Give the store."""
        return self.session.store

    @property
    def conversation(self) -> Conversation | None:
        """Read the conversation as it is now; None before it has begun."""
        return None if self.conversation_id is None else self.store.conversations.get(self.conversation_id)

    @property
    def settings(self) -> Settings:
        """The settings in force here: what was said for this run, else the conversation's own, else the defaults.

        The limit that a chat with another model recorded says nothing about this one.
        """
        conversation = self.conversation
        found = self.session.settings if conversation is None else settings_for(self.session.resolved, conversation)
        if self.model is not None:
            found = replace(found, model=self.model)
        is_default = self.session.resolved.came_from("limit_tokens") == "default"
        held_with = (
            (conversation.model, conversation.settings.get("model")) if conversation is not None else (found.model,)
        )
        return replace(found, limit_tokens=0) if is_default and found.model not in held_with else found

    @property
    def memory(self) -> MemoryModel:
        """Name the memory model the conversation is kept under, or will be."""
        conversation = self.conversation
        if conversation is not None:
            return conversation.memory
        return self.memory_for_new or cast("MemoryModel", self.session.settings.memory)

    def keep_under(self, memory: MemoryModel) -> str:
        """Keep the conversation under another memory model, and say what that changes; "" when nothing does."""
        conversation = self.conversation
        if conversation is not None:
            return keep_under(self.store, conversation, memory)
        if memory == self.memory:
            return ""
        self.memory_for_new = memory
        return f"the conversation will be kept under memory {memory}"

    def policy(self) -> Policy:
        """Make the policy the next context is built under."""
        limit = self.connected.limit_tokens if self.connected is not None else 0
        settings = self.settings
        return Policy.of(settings, limit_tokens=limit or settings.limit_tokens or DEFAULT_LIMIT_TOKENS)

    def connect(self) -> Connected:
        """Choose the model, once; nothing is stored."""
        if self.connected is None:
            self.connected = self.connector(*self.plan())
        return self.connected

    def plan(self) -> tuple[Settings, Wanted]:
        """Say what `connect` goes by: the settings here, and what is wanted of the one who answers."""
        settings = self.settings
        asked = self.model is not None or self.session.resolved.came_from("model") != "default"
        return settings, replace(self.wanted, goes_on=bool(settings.model) and not asked)

    def switch_model(self, name: str) -> Connected:
        """Go on with another model. When it cannot be had the old one stays, and the error is raised."""
        found = self.connector(replace(self.settings, model=name, limit_tokens=self._set_limit), self.wanted)
        self.model, self.connected, self._partner = name, found, None
        return found

    def begin(self) -> Conversation:
        """Give the conversation, a new one if there was none."""
        conversation = self.conversation
        if conversation is None:
            conversation = self.store.conversations.create(
                name=self.wanted.name,
                system_prompt=self._first_prompt,
                memory=self.memory,
            )
            self.conversation_id = conversation.id
        return conversation

    def partner(self) -> Partner:
        """Give the one who answers; connects the model and begins the conversation where that has not happened yet."""
        if self._partner is None:
            connected = self.connect()
            conversation = self._note(self.begin(), connected)
            self._partner = connected.partner(self.store, conversation, self.settings)
        return self._partner

    def set_system_prompt(self, text: str | None) -> None:
        """Set the system prompt from the next message on; None takes it away."""
        self.wanted = replace(self.wanted, system=text)
        if self.conversation_id is not None:
            self.store.conversations.set_system_prompt(self.conversation_id, text)

    def move_to(self, conversation: Conversation | None) -> None:
        """Go to another conversation, with the same model; None makes the next message begin a new one."""
        self.conversation_id = conversation.id if conversation is not None else None
        self.wanted = replace(self.wanted, name=None)
        self.memory_for_new = None
        if self.model is None and self.connected is not None:
            self.model = self.connected.reference
        self._partner = None

    @property
    def _first_prompt(self) -> str | None:
        """Give a new conversation's system prompt: the one said, else the configuration's own, else the setting's."""
        own = self.connected.system_prompt if self.connected is not None else None
        return self.wanted.system or own or self.session.settings.system_prompt or None

    @property
    def _set_limit(self) -> int:
        resolved = self.session.resolved
        return 0 if resolved.came_from("limit_tokens") == "default" else resolved.settings.limit_tokens

    def _note(self, conversation: Conversation, connected: Connected) -> Conversation:
        """Record in the conversation how it is held, where that changed."""
        resolved = self.session.resolved
        noted: Mapping[str, object] = {**conversation.settings, **kept(resolved), "model": connected.reference}
        if noted != conversation.settings:
            self.store.conversations.set_settings(conversation.id, noted)
        return self.store.conversations.get(conversation.id)


def kept(resolved: Resolved) -> Mapping[str, object]:
    """Pick the settings that this run's flags give to a conversation for good."""
    return {name: getattr(resolved.settings, name) for name in KEPT_FLAGS if resolved.came_from(name) == "flag"}


def checked_name(store: Store, name: str) -> str:
    """Check a conversation's name. Raises UsageError for one that could not be used to find it again."""
    if name == "last" or not name or name != name.strip() or not name.isprintable():
        raise UsageError(f"{name!r} cannot be a name", "use printable text with no space around it; `last` is taken")
    if _is_taken(store, name):
        raise UsageError(
            f"a conversation is called {name!r} already", f"continue it with -c {name!r}, or choose another"
        )
    return name


def _is_taken(store: Store, name: str) -> bool:
    try:
        return store.conversations.find(name).name == name
    except AmbiguousName:
        return True
    except NotFound:
        return False
