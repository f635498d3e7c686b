"""First calls of conversations of one kind of text, recorded as an agent records them. They know no server."""

from __future__ import annotations

from memcli.memory.context import Context, Policy, Request
from memcli.memory.model import memory_of
from memcli.records import Call
from memcli.store import Store
from tests.cli.conversations import add_turn, said
from tests.memory.held_out import HELD_OUT
from tests.memory.talks import begin, record, turn_of


def a_first_call(store: Store, kind: str, policy: Policy) -> tuple[Call, Context]:
    """Make the first call of a conversation: `tool calls`, or a kind of HELD_OUT."""
    talk = begin(store)
    if kind == "tool calls":
        for number in range(1, 40):
            add_turn(store, talk, *turn_of(number))
    else:
        for text, *_ in HELD_OUT[kind] * 3:
            add_turn(store, talk, said("human", text), said("ai", text))
    context = memory_of("window").context(store, store.conversations.get(talk.id), policy, Request())
    return store.calls.get(talk.id, record(store, context, 1)), context
