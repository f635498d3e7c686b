"""The peer: langchain_community's SQLChatMessageHistory on SQLite, with the pragmas our store has.

It refuses to know what is measured against it.
"""

from __future__ import annotations

import warnings
from pathlib import Path

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, trim_messages
from sqlalchemy import create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from tests.benchmarks.conversations import history

NAME = "SQLChatMessageHistory"


def open_peer(path: Path) -> BaseChatMessageHistory:
    """Open the peer's history on a file: write-ahead log, synchronous normal."""
    with warnings.catch_warnings(action="ignore"):
        from langchain_community.chat_message_histories import SQLChatMessageHistory
    engine = create_engine(f"sqlite:///{path}")

    @event.listens_for(engine, "connect")
    def set_pragmas(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        cursor.execute("pragma journal_mode = wal")
        cursor.execute("pragma synchronous = normal")
        cursor.close()

    peer: BaseChatMessageHistory = SQLChatMessageHistory("bench", connection=engine)
    return peer


def filled_peer(path: Path, messages: int) -> BaseChatMessageHistory:
    """Open the peer's history with a conversation of about that many messages in it."""
    peer = open_peer(path)
    batch: list[BaseMessage] = []
    for message in history(messages):
        batch.append(message)
        if len(batch) == 5_000:
            peer.add_messages(batch)
            batch = []
    peer.add_messages(batch)
    return peer


def trimmed(peer: BaseChatMessageHistory, max_tokens: int) -> list[BaseMessage]:
    """Build the peer's context: the whole history read, then trimmed."""
    kept: list[BaseMessage] = trim_messages(
        peer.messages,
        max_tokens=max_tokens,
        token_counter="approximate",
        strategy="last",
        start_on="human",
        include_system=True,
        allow_partial=False,
    )
    return kept
