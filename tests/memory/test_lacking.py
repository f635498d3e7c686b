"""Which turn summaries a conversation lacks, and what making them would cost: said, and never done."""

from __future__ import annotations

from memcli.memory.context import Policy
from memcli.memory.lacking import Lacks, lacks
from memcli.memory.summarizer import ExtractiveSummarizer, Summarizer
from memcli.records import Conversation
from memcli.store import Store
from tests.cli.conversations import add_chat, said
from tests.memory.turning import begin, exchange, hold, model, settle


def lacks_of(store: Store, talk: Conversation, summarizer: Summarizer, policy: Policy | None = None) -> Lacks:
    return lacks(store, store.conversations.get(talk.id), policy or Policy(), summarizer)


def test_a_settled_conversation_lacks_nothing(store: Store) -> None:
    talk = begin(store, turns=3)
    settle(store, talk, model())
    assert lacks_of(store, talk, model()) == Lacks(0, 0, 0, 0)


def test_a_conversation_of_model_a_lacks_all_of_them_and_saying_so_asks_and_writes_nothing(store: Store) -> None:
    talk = add_chat(store, "talk", 7)
    before = store.path.read_bytes()
    summarizer = model()
    found = lacks_of(store, talk, summarizer)
    assert (found.turns, found.messages, found.requests) == (7, 14, 7)
    assert summarizer.prompts == []
    assert store.path.read_bytes() == before


def test_what_it_says_is_what_making_them_takes(store: Store) -> None:
    for turns in (3, 10, 11, 25):
        talk = begin(store, turns=turns)
        summarizer = model()
        found = lacks_of(store, talk, summarizer)
        result = settle(store, talk, summarizer)
        assert found.requests == result.calls
        assert result.input_tokens <= found.tokens <= 2 * result.input_tokens


def test_the_extractive_summarizer_costs_no_request(store: Store) -> None:
    talk = begin(store, turns=4)
    assert lacks_of(store, talk, ExtractiveSummarizer()) == Lacks(4, 8, 0, 0)


def test_an_ongoing_turn_lacks_none_yet_and_a_failed_one_costs_none(store: Store) -> None:
    talk = begin(store)
    hold(store, talk, exchange(1), "failed")
    hold(store, talk, [said("human", "now")], "open")
    assert lacks_of(store, talk, model()) == Lacks(1, 2, 0, 0)
