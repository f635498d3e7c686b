"""Model B over conversations nobody here wrote. Skipped where `shared/data` beside the checkout is absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from memcli.memory.context import Policy, Request
from memcli.memory.model import memory_of
from memcli.memory.prompts import Prompt
from memcli.memory.spans import Spans
from memcli.memory.summarizer import Completion, ExtractiveSummarizer, request_tokens
from memcli.memory.wire import wire
from memcli.records import Conversation
from memcli.store import Store
from memcli.transcripts.importing import import_file
from tests.locomo import data_file, load_locomo
from tests.memory.sendable import assert_sendable

AIRLINE = data_file("airline-agent.jsonl")
LOCOMO = data_file("locomo5.json")
TURNS = memory_of("turns")
EXTRACTIVE = ExtractiveSummarizer()


def check_every_turn(store: Store, talk: Conversation) -> None:
    """Check the context as it was when each turn was over."""
    now = store.conversations.get(talk.id)
    for span in store.turns.spans(talk.id):
        last = span.last_message_id
        context = TURNS.context(store, now, Policy(), Request(up_to=last))
        ledger = context.ledger
        assert ledger.total + ledger.excluded.count == last
        assert_sendable(wire(context))
    assert TURNS.context(store, now, Policy(), Request()).ledger.forgotten == Spans()


@pytest.mark.skipif(AIRLINE is None, reason="shared/data beside the checkout has no airline-agent.jsonl")
def test_every_airline_conversation_settles_and_its_contexts_are_valid_at_every_turn(store: Store) -> None:
    assert AIRLINE is not None
    import_file(store, AIRLINE, memory="turns")
    talks = store.conversations.list()
    assert len(talks) == 60
    for talk in talks:
        assert TURNS.settle(store, talk, Policy(), EXTRACTIVE, Request()).status == "compacted"
        assert TURNS.settle(store, talk, Policy(), EXTRACTIVE, Request()).status == "nothing"
        assert TURNS.due(store, talk, Policy(), Request()).reason is None
        check_every_turn(store, talk)


class Counting:
    """Write with the extractive summarizer, under a model's name, and count what each request carried."""

    label = "counting"
    window_tokens = 8192

    def __init__(self) -> None:
        self.requests: list[tuple[bool, int]] = []

    def complete(self, prompt: Prompt) -> Completion:
        """Answer, and note whether it was a turn's summary and how long it was."""
        text = EXTRACTIVE.complete(prompt).text
        self.requests.append((prompt.schema is not None, request_tokens(prompt) + len(text) // 4))
        return Completion(text, request_tokens(prompt), len(text) // 4, "stop", is_quoted=True)


@pytest.mark.skipif(LOCOMO is None, reason="shared/data beside the checkout has no locomo5.json")
def test_what_compaction_costs_a_turn_stays_flat_over_a_very_long_conversation(store: Store) -> None:
    assert LOCOMO is not None
    dialogue = max(load_locomo(Path(LOCOMO)), key=lambda item: len(item.messages))
    talk = store.conversations.create(memory="turns")
    costs: list[int] = []
    sizes: list[int] = []
    for place in range(0, len(dialogue.messages) - 1, 2):
        turn = store.turns.start(talk.id)
        store.messages.append(talk.id, dialogue.messages[place : place + 2], turn_id=turn.id)
        store.turns.close(talk.id, turn.id, "done")
        counting = Counting()
        now = store.conversations.get(talk.id)
        TURNS.settle(store, now, Policy(), counting, Request())
        costs.append(sum(tokens for _, tokens in counting.requests))
        sizes.append(TURNS.context(store, now, Policy(), Request()).prompt_tokens)
    assert len(dialogue.messages) >= 680
    third = len(costs) // 3
    early, late = sum(costs[:third]) / third, sum(costs[-third:]) / third
    assert late < early * 1.25
    assert max(sizes[-third:]) < max(sizes[third : 2 * third]) * 1.25
    assert TURNS.context(store, store.conversations.get(talk.id), Policy(), Request()).ledger.forgotten == Spans()
