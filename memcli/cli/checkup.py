"""What `memcli doctor` finds: the store, the model and the settings as they are, and every problem.

It refuses to mend anything by itself, and to know how a finding is shown.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field

from memcli.cli.session import Session
from memcli.errors import MemcliError, StoreUnusable
from memcli.records import Problem

OTHERS = stat.S_IRWXG | stat.S_IRWXO
"""The permissions a store must not give: it holds what people said."""
PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class StoreFinding:
    """The store's file."""

    path: str
    exists: bool
    mode: int = 0
    """Its permissions; 0 when it is not there."""
    size_bytes: int = 0
    """With what waits in its write-ahead log."""
    conversations: int | None = None
    """None when they cannot be read."""
    messages: int | None = None


@dataclass(frozen=True, slots=True)
class ModelFinding:
    """The model a chat would use now, or why there is none."""

    name: str | None
    backend: str | None
    why: str
    limit_tokens: int | None = None
    can_call_tools: bool | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class ServerFinding:
    """The Ollama server, or why it does not answer: information, not a problem."""

    address: str
    version: str | None
    models: Sequence[str] = ()
    error: str | None = None


@dataclass(slots=True)
class Problems:
    """What is wrong with the store."""

    fixed: list[Problem] = field(default_factory=list)
    left: list[Problem] = field(default_factory=list)


def examine_store(session: Session) -> StoreFinding:
    """Look at the store's file, and count what is in it when it can be opened."""
    path = session.store_path
    if session.is_fresh:
        return StoreFinding(str(path), exists=False)
    session.refuse_missing()
    info = path.stat()
    waiting = path.with_name(f"{path.name}-wal")
    size = info.st_size + (waiting.stat().st_size if waiting.exists() else 0)
    mode = stat.S_IMODE(info.st_mode)
    try:
        found = session.store.conversations.list()
    except StoreUnusable:
        return StoreFinding(str(path), True, mode, size)
    messages = sum(item.last_message_id for item in found)
    return StoreFinding(str(path), True, mode, size, len(found), messages)


def examine_problems(session: Session, *, fix: bool) -> Problems:
    """List what is wrong with the store; with `fix` mend what can be mended first, losing nothing."""
    if session.is_fresh:
        return Problems()
    found = _problems(session)
    if not fix:
        return Problems(left=found)
    for problem in found:
        if problem.fix is not None:
            _mend(session, problem)
    left = _problems(session)
    return Problems([problem for problem in found if problem not in left], left)


def examine_model(session: Session) -> ModelFinding:
    """Choose the model as a chat would. That it fails is a finding."""
    from memcli.agent.models import choose

    try:
        choice = choose(session.settings, os.environ)
    except MemcliError as err:
        return ModelFinding(None, None, err.message, hint=err.hint)
    return ModelFinding(choice.name, choice.backend, choice.why, choice.limit_tokens, choice.can_call_tools)


def examine_server() -> ServerFinding:
    """Ask the Ollama server what it is and what it has. That it does not answer is a finding."""
    from memcli.agent.ollama import OllamaServer

    address = os.environ.get("OLLAMA_HOST", "")
    try:
        server = OllamaServer(address)
        return ServerFinding(server.shown, server.version(), [model.name for model in server.models()])
    except MemcliError as err:
        return ServerFinding(address or "the default address", None, error=err.message)


def has_embedded() -> bool:
    """Tell whether the embedded model's runtime and file are installed."""
    from memcli.agent import embedded

    return embedded.available()


def _problems(session: Session) -> list[Problem]:
    mode = stat.S_IMODE(session.store_path.stat().st_mode)
    found = (
        [Problem("mode", f"others may read the store: its mode is {mode:04o}", "make it 0600")] if mode & OTHERS else []
    )
    try:
        session.store.conversations.list(limit=1)  # what no check names, a command would still trip over
        return [*found, *session.store.check()]
    except StoreUnusable as err:
        return [*found, Problem("file", err.message)]


def _mend(session: Session, problem: Problem) -> None:
    if problem.where == "mode":
        session.store_path.chmod(PRIVATE)
    else:
        session.store.check.mend(problem)
