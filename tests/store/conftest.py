"""Fixtures of the store's tests. The tests of a noun know only its verbs, so that another engine could run them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memcli.records import Conversation
from memcli.store import Store


@pytest.fixture
def other(store: Store, store_file: Path) -> Iterator[Store]:
    """Open the same store a second time, as another process would."""
    with Store(store_file) as opened:
        yield opened


@pytest.fixture
def talk(store: Store) -> Conversation:
    """Begin a conversation."""
    return store.conversations.create(name="talk")
