"""Which memory model a command goes by: the one asked for, else the conversation's own."""

from __future__ import annotations

from typing import cast

from memcli.config import Resolved
from memcli.errors import UsageError
from memcli.records import Conversation, MemoryModel


def memory_of(resolved: Resolved, conversation: Conversation) -> MemoryModel:
    """Name the memory model. Raises UsageError for one this version does not have yet."""
    asked = resolved.came_from("memory") == "flag"
    memory = cast(MemoryModel, resolved.settings.memory) if asked else conversation.memory
    if memory != "window":
        raise UsageError(f"memory {memory!r} is not there yet in this version", "pass --memory window")
    return memory
