"""The least count of a whole prompt: by its text, by its model's other prompts, and by the conversation's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import pytest

from memcli.agent import embedded
from memcli.memory.alarm import Alarm, alarm_of
from memcli.memory.context import Context, Policy, Request
from memcli.memory.estimate import prompt_estimate, spoken
from memcli.memory.floor import floor_of, least_estimate
from memcli.memory.model import memory_of
from memcli.memory.wire import WireMessage, wire
from memcli.records import Conversation, NewMessage, Role
from memcli.store import Store
from memcli.transcripts.importing import import_file
from tests import ollama_counts
from tests.cli.conversations import add_turn, said
from tests.locomo import data_file, load_locomo
from tests.memory.held_out import HELD_OUT
from tests.memory.talks import begin, record, turn_of

ROOMY = Policy(max_tokens=20_000, limit_tokens=32_768, compact_every=100_000)
AIRLINE = data_file("airline-agent.jsonl")
LOCOMO = data_file("locomo5.json")
ROLES: tuple[Role, ...] = ("human", "ai", "human", "ai", "human")
Counter = Callable[[Sequence[WireMessage]], int]


def as_a_tokenizer(messages: Sequence[WireMessage]) -> int:
    return sum(ollama_counts.tokens(spoken(message)) + 5 for message in messages)


def cut_to(size: int, count: Counter = as_a_tokenizer) -> Counter:
    """Count as a server does that drops the oldest messages, but the system's, until the rest fits."""

    def counted(messages: Sequence[WireMessage]) -> int:
        kept = list(messages)
        while len(kept) > 2 and count(kept) > size:
            del kept[1]
        return min(count(kept), size)

    return counted


def call(store: Store, talk: Conversation, server: Counter, *, policy: Policy = ROOMY) -> tuple[Context, Alarm | None]:
    """Make the call that the conversation's last turn waits for."""
    now = store.conversations.get(talk.id)
    context = memory_of("window").context(store, now, policy, Request())
    made = record(store, context, 1, reported=server(wire(context)))
    return context, alarm_of(store, talk.id, made, context)


def plain_turns(count: int) -> Iterator[tuple[NewMessage, ...]]:
    """Tell turns of prose, as long as people's are."""
    texts = [text for text, *_ in HELD_OUT["english"]]
    for number in range(count):
        yield said("human", texts[number % 5]), said("ai", f"{texts[(number + 2) % 5]} {texts[(number + 3) % 5]}")


def test_a_prompt_s_least_is_that_of_its_messages_and_without_a_history_nothing_else_is_known(store: Store) -> None:
    talk = begin(store)
    for turn in plain_turns(10):
        add_turn(store, talk, *turn)
    context, _ = call(store, talk, as_a_tokenizer)

    floor = floor_of(context, prompt_estimate(context), [], [])

    assert floor.tokens == floor.of_text == least_estimate(wire(context))
    assert floor.tokens < floor.expected


def test_an_appended_turn_raises_the_least_by_what_it_takes_at_least(store: Store) -> None:
    talk = begin(store)
    for turn in plain_turns(10):
        add_turn(store, talk, *turn)
    call(store, talk, as_a_tokenizer)
    (turn,) = plain_turns(1)
    add_turn(store, talk, *turn)
    context, _ = call(store, talk, as_a_tokenizer)
    before = store.calls.get(talk.id, 1)

    floor = floor_of(context, prompt_estimate(context), [], [before])

    assert floor.tokens == (before.input_tokens or 0) + least_estimate(wire(context)[-2:]) - 16


def test_a_conversation_that_grows_beyond_what_the_server_has_is_caught_on_the_first_cut_call(store: Store) -> None:
    talk = begin(store)
    caught: list[tuple[bool, bool]] = []
    for turn in plain_turns(40):
        add_turn(store, talk, *turn)
        context, alarm = call(store, talk, cut_to(2048))
        caught.append((as_a_tokenizer(wire(context)) > 2048, alarm is not None))

    first = caught.index((True, True))
    assert caught == [(False, False)] * first + [(True, True)] * (40 - first)


@pytest.mark.parametrize("tokenizer", [1.0, 1.1, 1.2, 1.3])
def test_a_server_that_cuts_every_prompt_a_little_is_caught_on_the_second_call(store: Store, tokenizer: float) -> None:
    """Whatever its tokenizer makes of a text: the first call alone may look like another tokenizer's."""
    talk = begin(store)
    for turn in plain_turns(20):
        add_turn(store, talk, *turn)
    whole = memory_of("window").context(store, store.conversations.get(talk.id), ROOMY, Request())
    server = cut_to(int(as_a_tokenizer(wire(whole)) * tokenizer * 0.93), lambda m: int(as_a_tokenizer(m) * tokenizer))
    kinds = [call(store, talk, server)[1]]
    for turn in plain_turns(4):
        add_turn(store, talk, *turn)
        kinds.append(call(store, talk, server)[1])

    assert kinds[0] is None
    assert all(alarm is not None and alarm.kind == "truncated" for alarm in kinds[1:])


@pytest.mark.parametrize("max_tokens", [600, 1500, 20_000])
@pytest.mark.parametrize("count", [as_a_tokenizer, lambda m: int(1.3 * as_a_tokenizer(m))])
def test_a_window_that_slides_over_whole_prompts_raises_no_alarm(store: Store, max_tokens: int, count: Counter) -> None:
    talk = begin(store)
    policy = Policy(max_tokens=max_tokens, limit_tokens=32_768, compact_every=100_000)
    for number, turn in enumerate(plain_turns(25)):
        add_turn(store, talk, *turn, *turn_of(number + 1))
        assert call(store, talk, count, policy=policy)[1] is None


@pytest.mark.parametrize("kinds", [("chinese", "english"), ("english", "chinese"), ("chinese", "russian", "code")])
def test_another_script_after_many_calls_in_one_raises_no_alarm(store: Store, kinds: tuple[str, ...]) -> None:
    """An English-centred tokenizer makes three times the estimate of Chinese, and then once that of English."""
    prices = {"chinese": 3.0, "russian": 2.7, "code": 1.1, "english": 1.05}

    def server(messages: Sequence[WireMessage]) -> int:
        known = {text: price for kind, price in prices.items() for text, *_ in HELD_OUT[kind] for price in (price,)}
        tokens = {text: tokens for kind in prices for text, tokens, _ in HELD_OUT[kind]}
        return sum(int(tokens.get(m.content, 5) * known.get(m.content, 1.0)) + 5 for m in messages)

    for kind in kinds:
        talk = begin(store, name=kind)
        for _ in range(5):
            add_turn(store, talk, *(said(role, text) for role, (text, *_) in zip(ROLES, HELD_OUT[kind], strict=True)))
            assert call(store, talk, server)[1] is None


@pytest.fixture(scope="module")
def embedded_counter() -> Counter:
    """Count as the embedded model's tokenizer does, in ChatML."""
    if not embedded.available():
        pytest.skip("the embedded model is not installed")
    count = cache(embedded.EmbeddedChat(n_ctx=2048, threads=1).count_tokens)
    return lambda messages: sum(count(spoken(message)) + 5 for message in messages)


@pytest.mark.skipif(AIRLINE is None, reason="shared/data beside the checkout has no airline-agent.jsonl")
def test_no_tool_calling_conversation_raises_an_alarm_where_it_is_read_whole(
    store: Store, embedded_counter: Counter
) -> None:
    assert AIRLINE is not None
    import_file(store, AIRLINE, memory="window")
    for talk in store.conversations.list()[:12]:
        walk(store, talk, 6, embedded_counter)
    for talk in store.conversations.list()[12:30]:
        walk(store, talk, 6, as_a_tokenizer)


@pytest.mark.skipif(LOCOMO is None, reason="shared/data beside the checkout has no locomo5.json")
def test_no_long_dialogue_raises_an_alarm_where_it_is_read_whole(store: Store, embedded_counter: Counter) -> None:
    assert LOCOMO is not None
    for number, dialogue in enumerate(load_locomo(LOCOMO)[:3]):
        talk = begin(store, name=f"dialogue {number}")
        store.messages.append(talk.id, dialogue.conversation.messages[:300])
        walk(store, talk, 25, (embedded_counter, as_a_tokenizer, as_characters)[number])


def as_characters(messages: Sequence[WireMessage]) -> int:
    return sum(math.ceil(len(spoken(message)) / 4) + 3 for message in messages)


def walk(store: Store, talk: Conversation, step: int, server: Counter) -> None:
    """Make a call wherever a conversation stood, every `step` messages."""
    now = store.conversations.get(talk.id)
    moments = range(step, now.last_message_id + 1, step)
    for last in moments:
        context = memory_of("window").context(store, now, ROOMY, Request(up_to=last))
        made = record(store, context, 1, reported=server(wire(context)))
        assert alarm_of(store, talk.id, made, context) is None
    assert moments
