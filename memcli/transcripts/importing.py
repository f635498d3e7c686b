"""A file's conversations into the store: each whole or not at all, and nothing twice.

A conversation is known by its source, `openai:` and the key its file gives it. Against the one already stored under
that source, what the file holds is one of

    the same, or a beginning of it     nothing is added
    longer, with the same beginning    its tail is added
    different from some message on     another conversation, under the source and the uid of that message; the same
                                       question is asked there, so a branch is found again by the next import

It refuses to know file formats beyond calling their reader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from memcli.errors import UsageError
from memcli.records import Conversation, MemoryModel, NewMessage
from memcli.store import Store
from memcli.transcripts.imported import HASH_PREFIX, BadLine, ImportedConversation, Skipped, split_turns
from memcli.transcripts.openai_reader import read_openai
from memcli.transcripts.openai_writer import SOURCE_PREFIX


@dataclass(slots=True)
class ImportReport:
    """Counts that reconcile: messages_in_file = messages_added + messages_already_there + len(skipped)."""

    conversations_added: int = 0
    conversations_updated: int = 0
    conversations_unchanged: int = 0
    messages_in_file: int = 0
    """Every entry of every conversation that was read."""
    messages_added: int = 0
    messages_already_there: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    """Entries that are no message, each with its place and reason."""
    bad_lines: list[BadLine] = field(default_factory=list)
    """Places of the file that hold no conversation, each with its reason."""


def import_file(
    store: Store,
    path: Path,
    *,
    memory: MemoryModel,
    settings: Mapping[str, object] | None = None,
    on_progress: Callable[[ImportReport], None] | None = None,
) -> ImportReport:
    """Import a file's conversations; see import_stream. Raises UsageError when it cannot be opened."""
    try:
        stream = path.open("rb")
    except OSError as err:
        raise UsageError(f"{path} cannot be read ({err.strerror})", "pass a file of chats in OpenAI format") from err
    with stream:
        return import_stream(store, stream, name=str(path), memory=memory, settings=settings, on_progress=on_progress)


def import_stream(
    store: Store,
    stream: BinaryIO,
    *,
    name: str,
    memory: MemoryModel,
    settings: Mapping[str, object] | None = None,
    on_progress: Callable[[ImportReport], None] | None = None,
) -> ImportReport:
    """Import conversations as they are read, each in one transaction, and tell `on_progress` the count after each.

    Killed at any point it leaves whole conversations, and the same import again adds the others. `memory` and
    `settings` are for new conversations; those already there keep theirs. Raises UsageError when the file, called
    `name`, is no chat at all.
    """
    report = ImportReport()
    for item in read_openai(stream, name=name):
        if isinstance(item, BadLine):
            report.bad_lines.append(item)
        else:
            _count(report, item, _settle(store, item, memory, settings))
            if on_progress:
                on_progress(report)
    return report


@dataclass(frozen=True, slots=True)
class _Settled:
    """What became of one conversation."""

    is_new: bool
    added: int
    """Messages."""


def _settle(
    store: Store, read: ImportedConversation, memory: MemoryModel, settings: Mapping[str, object] | None
) -> _Settled | None:
    """Store what is not there yet. None when it has no messages and so is nothing."""
    if not read.messages:
        return None
    with store.transaction():
        source, parent = f"{SOURCE_PREFIX}{read.key}", None
        while (there := store.conversations.by_source(source)) is not None:
            shared = _shared(store, there, read.messages)
            if shared == min(len(read.messages), there.last_message_id):
                _append(store, there, read.messages[shared:])
                return _Settled(False, len(read.messages) - shared)
            source, parent = f"{SOURCE_PREFIX}{read.key}~{read.messages[shared].uid}", there.id
        begun = store.conversations.create(
            name=read.name or (None if read.key.startswith(HASH_PREFIX) else read.key),
            model=read.model,
            system_prompt=read.system_prompt,
            memory=memory,
            settings=settings,
            parent_id=parent,
            source=source,
            created_at=read.created_at,
        )
        _append(store, begun, read.messages)
        return _Settled(True, len(read.messages))


def _shared(store: Store, there: Conversation, messages: Sequence[NewMessage]) -> int:
    """Count the leading messages that both have, by bisection: a uid stands for everything before it too."""
    low, high = 0, min(len(messages), there.last_message_id)
    while low < high:
        middle = (low + high + 1) // 2 if low else high
        if store.messages.get(there.id, middle).uid == messages[middle - 1].uid:
            low = middle
        else:
            high = middle - 1
    return low


def _append(store: Store, conversation: Conversation, messages: Sequence[NewMessage]) -> None:
    """Append messages turn by turn; what stands before the first human message goes on with the last turn there is."""
    for messages_of_turn in split_turns(messages):
        last = store.turns.last(conversation.id) if messages_of_turn[0].role != "human" else None
        if last is not None:
            store.messages.append(conversation.id, messages_of_turn, turn_id=last.id)
            continue
        turn = store.turns.start(conversation.id)
        store.messages.append(conversation.id, messages_of_turn, turn_id=turn.id)
        store.turns.close(conversation.id, turn.id, "done")


def _count(report: ImportReport, read: ImportedConversation, settled: _Settled | None) -> None:
    report.messages_in_file += len(read.messages) + len(read.skipped)
    report.skipped += read.skipped
    if settled is None:
        report.bad_lines.append(BadLine(read.line, "a conversation without messages"))
        return
    report.messages_added += settled.added
    report.messages_already_there += len(read.messages) - settled.added
    report.conversations_added += settled.is_new
    report.conversations_updated += not settled.is_new and settled.added > 0
    report.conversations_unchanged += not settled.is_new and settled.added == 0
