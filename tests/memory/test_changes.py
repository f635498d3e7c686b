"""What changed between two contexts: parts, spans and tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.memory.changes import ChangedPart, changes
from memcli.memory.context import Context
from memcli.memory.spans import Spans
from memcli.records import MemoryModel
from memcli.store import Store
from tests.histories import opened
from tests.memory.talks import SMALL, begin, keep, next_context, turn_of


def test_a_fold_drops_nothing_it_stands_for(store: Store) -> None:
    talk = begin(store)
    unfolded = replace(SMALL, compact_every=100, compact_on_overflow=False)
    keep(store, talk, [turn_of(number) for number in range(1, 6)], unfolded)
    before = next_context(store, talk)
    keep(store, talk, [turn_of(6)])
    after = next_context(store, talk)

    found = changes(before, after)

    dropped = [("dropped", "message", id) for id in range(3, 9)]
    added = [("added", "summary", 1), ("added", "values", None), *(("added", "message", id) for id in range(13, 17))]
    assert [(row.kind, row.part.source, row.part.first_message_id) for row in found.parts] == [*dropped, *added]
    assert (before.ledger.forgotten, after.ledger.forgotten) == (Spans.of([(1, 2)]), Spans())
    assert (found.added, found.summarised) == (Spans.of([(13, 16)]), Spans.of([(1, 8)]))
    assert (found.dropped, found.clipped, found.excluded) == (Spans(), Spans(), Spans())
    assert {row.source for row in found.sources} == {"summary", "values", "message"}
    assert found.tokens == after.tokens - before.tokens


def test_without_a_fold_what_leaves_is_dropped(store: Store) -> None:
    talk = begin(store)
    unfolded = replace(SMALL, compact_every=100, compact_on_overflow=False)
    keep(store, talk, [turn_of(number) for number in range(1, 5)], unfolded)
    before = next_context(store, talk)
    keep(store, talk, [turn_of(5)], unfolded)

    found = changes(before, next_context(store, talk))

    assert found.dropped == Spans.of([(1, 2)])
    assert found.added == Spans.of([(11, 12)])
    assert found.summarised == Spans()


def test_a_part_that_says_otherwise_is_changed(store: Store) -> None:
    talk = begin(store)
    keep(store, talk, [turn_of(1)])
    before = next_context(store, talk)
    store.conversations.set_system_prompt(talk.id, "You track many parcels.")
    after = next_context(store, talk)

    found = changes(before, after)

    assert found.parts == (ChangedPart("changed", before.parts[0], after.parts[0]),)
    assert [(row.source, row.after - row.before) for row in found.sources] == [("system", found.tokens)]
    assert found.tokens == found.parts[0].tokens == 2
    assert not found.is_empty


@settings(max_examples=25)
@given(st.integers(0, 12), st.integers(0, 6), st.sampled_from(get_args(MemoryModel)))
def test_tokens_add_up_and_the_way_back_is_the_opposite(
    tmp_path_factory: pytest.TempPathFactory, turns: int, more: int, memory: MemoryModel
) -> None:
    with opened(tmp_path_factory.mktemp("changes")) as store:
        talk = begin(store, memory=memory)
        keep(store, talk, [turn_of(number) for number in range(1, turns + 1)])
        one = next_context(store, talk)
        keep(store, talk, [turn_of(number) for number in range(turns + 1, turns + more + 1)])
        other = next_context(store, talk)

    there, back = changes(one, other), changes(other, one)

    assert changes(one, one).is_empty
    assert changes(other, other).is_empty
    assert there.tokens == other.tokens - one.tokens == -back.tokens
    assert (
        there.tokens == sum(row.tokens for row in there.parts) == sum(row.after - row.before for row in there.sources)
    )
    assert there.added == shown(other) - shown(one)
    assert there.is_empty == (one == other)


def shown(context: Context) -> Spans:
    return context.ledger.verbatim | context.ledger.clipped
