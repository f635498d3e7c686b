"""The extractive summarizer: it quotes the sentences that carry a span, with their message ids, and writes none itself.

Deterministic and without a model. It refuses to know stores, prompts and what a summary is kept for.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from memcli.memory.quotes import HEADING, REASONING_TOOLS, Quote, describe_call, joined, quotes_of, read_summary
from memcli.memory.reasoning import without_reasoning
from memcli.memory.text import clip, one_line, sentences
from memcli.memory.tokens import CHARACTERS_PER_TOKEN
from memcli.memory.weigh import Scale, failed
from memcli.records import StoredMessage

PREVIOUS_SHARE = 0.4
"""The share of the cap that an earlier summary may hold before its lines compete with the span's."""
MOST_OF_SPAN = 0.6
"""A summary takes at most this share of a short span: one that is no smaller would be of no use."""
MAX_CANDIDATES = 600
"""Quotes that are weighed against one another; of a longer span those with the greatest own weight."""
MIN_QUOTE_CHARACTERS = 12
MIN_RESULT_CHARACTERS = 20
LEAST_WORTH = 0.05
"""A quote worth less than this share of the best one is left out, even where there is room."""
MAX_REQUEST_CHARACTERS = 240
MAX_ACTIONS_CHARACTERS = 400
MAX_RESPONSE_CHARACTERS = 400
NO_ACTIONS = "no tools called"
"""What the actions of a turn say when it had none."""


def extractive_summary(*, previous: str | None, messages: Sequence[StoredMessage], max_tokens: int) -> str:
    """Quote what carries the span, oldest first, in at most `max_tokens` (characters / 4) and 60% of what it replaces.

    The previous summary's quotes compete with the span's; prose of a previous summary leads, in at most 40% of the
    cap. An empty span gives the previous summary back, or ''. '' where the cap leaves no room for one quote.
    """
    new = quotes_of(messages)
    cap = max(0, max_tokens) * CHARACTERS_PER_TOKEN
    if not new and len(previous or "") <= cap:
        return previous or ""
    if messages:
        spoken = sum(message.tokens for message in messages if not message.is_excluded)
        cap = min(cap, len(previous or "") + int(spoken * MOST_OF_SPAN) * CHARACTERS_PER_TOKEN)
    prose, earlier = read_summary(previous or "")
    lead = _lead(prose, cap if not (new or earlier) else int(cap * PREVIOUS_SHARE))
    room = cap - len(lead) - (1 if lead else 0) - len(HEADING) - 1
    lines = [quote.line for quote in joined(_chosen(earlier, new, room))]
    return "\n".join(([lead] if lead else []) + ([HEADING, *lines] if lines else []))


def extractive_turn(messages: Sequence[StoredMessage]) -> tuple[str, str, str]:
    """Sum up one turn: the user's request in a sentence, what the tools did, the answer in one or two sentences.

    '' for a request or an answer that the turn does not have; NO_ACTIONS when no tool was called.
    """
    requests = [message.text for message in messages if message.role == "human"]
    answers = [without_reasoning(message.text) for message in messages if message.role == "ai"]
    answer = next((text for text in reversed(answers) if text), "")
    return (
        _gist(requests[0] if requests else "", 1, MAX_REQUEST_CHARACTERS),
        _actions(messages),
        _gist(answer, 2, MAX_RESPONSE_CHARACTERS),
    )


def _lead(prose: Sequence[str], max_characters: int) -> str:
    """Fit earlier prose: all of it, or its weightiest sentences in their order."""
    whole = " ".join(prose)
    if len(whole) <= max_characters:
        return whole
    quotes = [Quote(0, "other", sentence, place) for place, sentence in enumerate(prose)]
    kept: list[Quote] = []
    for quote in _ranked(quotes):
        if sum(len(other.text) + 1 for other in kept) + len(quote.text) <= max_characters:
            kept.append(quote)
    if not kept:
        return clip(whole, max_characters)
    return " ".join(quote.text for quote in sorted(kept, key=_position))


def _chosen(earlier: Sequence[Quote], new: Sequence[Quote], room: int) -> list[Quote]:
    """Choose quotes whose lines fit: first the earlier ones within their share, then any, in order of the messages."""
    scale = Scale([*earlier, *new])
    pool = scale.heaviest([*earlier, *new], MAX_CANDIDATES)
    covered: set[str] = set()
    kept = _pick([quote for quote in pool if quote.is_earlier], scale, covered, int(room * PREVIOUS_SHARE))
    left = room - sum(len(quote.line) + 1 for quote in kept)
    picked = kept + _pick([quote for quote in pool if quote not in set(kept)], scale, covered, left)
    if not picked:
        picked = [short for quote in scale.heaviest(pool, 1) for short in _clipped_to(quote, room)]
    return sorted(picked, key=_position)


def _pick(pool: Sequence[Quote], scale: Scale, covered: set[str], room: int) -> list[Quote]:
    """Take the quote that adds most for its length, again and again; `covered` grows by what was taken.

    A worth only sinks as others are taken, so a stale one at the top of the heap is weighed again and put back.
    Source: lazy greedy maximisation of a submodular function (Lin and Bilmes, 2011).
    """
    heap = [(-scale.worth(quote, covered), at) for at, quote in enumerate(pool)]
    heapq.heapify(heap)
    least = LEAST_WORTH * -heap[0][0] if heap else 0.0
    picked: list[Quote] = []
    while heap:
        stale, at = heapq.heappop(heap)
        quote = pool[at]
        cost = len(quote.line) + 1
        worth = scale.worth(quote, covered)
        if cost > room or worth <= least:
            continue
        if heap and worth < -stale and worth < -heap[0][0]:
            heapq.heappush(heap, (-worth, at))
            continue
        picked.append(quote)
        covered |= scale.terms(quote)
        room -= cost
    return picked


def _ranked(quotes: Sequence[Quote]) -> list[Quote]:
    scale = Scale(quotes)
    return sorted(quotes, key=lambda quote: (-scale.worth(quote), quote.place))


def _position(quote: Quote) -> tuple[int, int]:
    return quote.message_id, quote.place


def _clipped_to(quote: Quote, room: int) -> list[Quote]:
    """Shorten a quote that does not fit whole; [] where too little of it would be left."""
    spare = room - (len(quote.line) - len(quote.text)) - 1
    text = clip(quote.text, spare) if spare >= MIN_QUOTE_CHARACTERS else ""
    return [Quote(quote.message_id, quote.speaker, text, quote.place)] if text else []


def _gist(text: str, most: int, max_characters: int) -> str:
    """Take the weightiest sentences of one text, in their order."""
    quotes = [Quote(0, "user", sentence, place) for place, sentence in enumerate(sentences(text)[:MAX_CANDIDATES])]
    best = sorted(_ranked(quotes)[:most], key=_position)
    return clip(" ".join(quote.text for quote in best), max_characters)


def _actions(messages: Sequence[StoredMessage]) -> str:
    """List the calls in order; the beginnings of their results where there is room, and of an error always."""
    outcomes = _outcomes(messages)
    if not outcomes:
        return NO_ACTIONS
    spare = (MAX_ACTIONS_CHARACTERS - sum(len(call) + len(" → ; ") for call, _ in outcomes)) // len(outcomes)
    done = [
        f"{call} → {clip(result, max(spare, MIN_RESULT_CHARACTERS))}"
        if result and (spare >= MIN_RESULT_CHARACTERS or failed(result))
        else call
        for call, result in outcomes
    ]
    return clip("; ".join(done), MAX_ACTIONS_CHARACTERS)


def _outcomes(messages: Sequence[StoredMessage]) -> list[tuple[str, str]]:
    """Pair each call, described, with its result; a result answers the nearest call of its id before it."""
    described: list[str] = []
    results: list[str] = []
    places: dict[str, int] = {}
    for message in messages:
        for call in message.tool_calls:
            if call.name not in REASONING_TOOLS:
                places[call.id] = len(described)
                described.append(describe_call(call))
                results.append("")
        place = places.get(message.tool_call_id or "")
        if place is not None:
            results[place] = one_line(message.text[:MAX_ACTIONS_CHARACTERS])
    return list(zip(described, results, strict=True))
