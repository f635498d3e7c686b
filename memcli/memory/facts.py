"""Exact values carried beside a summary: which ones, and how many survived.

It refuses to know summaries' records, models, how a value is recognised (`values`) and how it is written (`carried`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memcli.memory.carried import SEPARATOR, added_characters, shared_beginning
from memcli.memory.tokens import CHARACTERS_PER_TOKEN
from memcli.memory.values import VALUE_KINDS, Value, ValueKind, extract_values, kind_of, normalised

KIND_WEIGHTS: Mapping[ValueKind, float] = {
    "identifier": 8.0,
    "email": 5.0,
    "amount": 4.0,
    "command": 4.0,
    "path": 4.0,
    "url": 3.0,
    "date": 3.0,
    "code": 2.0,
    "number": 2.0,
}
"""How much a value of each kind is worth keeping. Ours: what cannot be reworded or looked up again comes first."""
SAID_BONUS: Mapping[str, float] = {"human": 1.0, "user": 1.0, "ai": 0.6, "assistant": 0.6}
"""Added for the best role that said it; a tool's own listing says nothing of what matters."""
DECISION_BONUS = 0.5
REPEAT_BONUS = 0.25
MAX_REPEATS = 4
RECENCY_BONUS = 0.5


@dataclass(slots=True)
class _Standing:
    """What speaks for carrying one value."""

    value: Value
    first: int
    said: float = 0.0
    decided: float = 0.0
    mentions: int = 0
    recency: float = 0.0
    """0 for the span's first message to 1 for its last."""

    @property
    def usefulness(self) -> float:
        repeats = min(MAX_REPEATS, self.mentions - 1) * REPEAT_BONUS
        bonus = self.said + self.decided + repeats + self.recency * RECENCY_BONUS
        return KIND_WEIGHTS[self.value.kind] * (1.0 + bonus)


def select_values(
    messages_text: Sequence[tuple[int, str, str]], *, max_tokens: int, previous: Sequence[str] = ()
) -> tuple[str, ...]:
    """Choose the exact values to carry, the most useful first, within `max_tokens` of `carried.render_values`.

    `messages_text` holds (message id, role, text), oldest first. `previous` are the values carried so far, the most
    useful first: they compete with the new ones, so a chain of summaries stays as small as one. () when nothing fits.
    """
    standings = _previous_standings(previous)
    for place, (_, role, text) in enumerate(messages_text):
        recency = (place + 1) / len(messages_text)
        for value in extract_values(text):
            standing = standings.setdefault(normalised(value.text), _Standing(value, len(standings)))
            standing.said = max(standing.said, SAID_BONUS.get(role, 0.0))
            standing.decided = max(standing.decided, DECISION_BONUS if _is_decided(role, text) else 0.0)
            standing.mentions += 1
            standing.recency = recency
    ranked = sorted(standings.values(), key=lambda standing: (-standing.usefulness, standing.first))
    return _fitting([standing.value.text for standing in ranked], max_tokens)


def survives(values: Sequence[Value], summary_text: str, carried: Sequence[str] = ()) -> list[bool]:
    """Tell for each value whether the summary's text or the carried values still say it, exactly.

    Case, thousands separators and whitespace may differ; a value inside a longer word or number does not count.
    """
    kept = {normalised(text) for text in carried} | {normalised(value.text) for value in extract_values(summary_text)}
    said = normalised(summary_text)
    return [(wanted := normalised(value.text)) in kept or _says(said, wanted) for value in values]


def fidelity(values_of_span: Sequence[Value], summary_text: str, carried: Sequence[str] = ()) -> float | None:
    """Measure the share of a folded span's values that is still present, 0 to 1. None when the span had none."""
    if not values_of_span:
        return None
    kept = survives(values_of_span, summary_text, carried)
    return sum(kept) / len(kept)


def fidelity_by_kind(
    values_of_span: Sequence[Value], summary_text: str, carried: Sequence[str] = ()
) -> Mapping[ValueKind, float]:
    """Measure the same share for each kind that the span has, in the order of VALUE_KINDS. Empty for no values."""
    kept = survives(values_of_span, summary_text, carried)
    shares: dict[ValueKind, float] = {}
    for kind in VALUE_KINDS:
        of_kind = [alive for value, alive in zip(values_of_span, kept, strict=True) if value.kind == kind]
        if of_kind:
            shares[kind] = sum(of_kind) / len(of_kind)
    return shares


def values_of(texts: Sequence[str]) -> list[Value]:
    """Find the values of a span: of all its texts, in order of first mention, each once."""
    found: dict[str, Value] = {}
    for text in texts:
        for value in extract_values(text):
            found.setdefault(normalised(value.text), value)
    return list(found.values())


_DECISION = re.compile(
    r"\b(?:yes|confirm(?:ed)?|agreed?|decided?|go ahead|proceed|approved?|booked|cancell?ed|changed|updated|will use"
    r"|let's)\b",
    re.IGNORECASE,
)


def _previous_standings(previous: Sequence[str]) -> dict[str, _Standing]:
    """Rank earlier values below what the user says now and above what only a tool lists; the order given decides."""
    standings: dict[str, _Standing] = {}
    for rank, text in enumerate(previous):
        said = 1.0 - rank / len(previous)
        standings.setdefault(normalised(text), _Standing(Value(kind_of(text), text), rank, said=said, mentions=1))
    return standings


def _is_decided(role: str, text: str) -> bool:
    return role in SAID_BONUS and _DECISION.search(text) is not None


def _fitting(ranked: Sequence[str], max_tokens: int) -> tuple[str, ...]:
    """Take values in order while their rendering fits; one that is too long makes way for a shorter one."""
    chosen: list[str] = []
    seen: set[tuple[str, int]] = set()
    characters = 0
    for text in ranked:
        group = shared_beginning(text)
        cost = added_characters(text, shares=group in seen)
        if characters + cost - len(SEPARATOR) > max_tokens * CHARACTERS_PER_TOKEN:
            continue
        chosen.append(text)
        characters += cost
        if group is not None:
            seen.add(group)
    return tuple(chosen)


def _says(said: str, wanted: str) -> bool:
    """Find the value in normalised text, not as a part of a longer word or number."""
    at = said.find(wanted)
    while at >= 0:
        before, after = said[at - 1 : at], said[at + len(wanted) : at + len(wanted) + 2]
        if not (before.isalnum() or before == "_" or after[:1].isalnum() or _CONTINUES.match(after)):
            return True
        at = said.find(wanted, at + 1)
    return False


_CONTINUES = re.compile(r"_|[.,/-][0-9]")
