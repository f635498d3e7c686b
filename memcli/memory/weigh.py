"""What a quote is worth: its words and exact values among the other quotes', who says it and what it does.

It refuses to know budgets and which quotes are chosen.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from memcli.memory.facts import KIND_WEIGHTS
from memcli.memory.quotes import Quote
from memcli.memory.values import extract_values, normalised


class Scale:
    """Weigh quotes against one another. What is covered already adds nothing to a quote's worth."""

    def __init__(self, quotes: Sequence[Quote]) -> None:
        self._terms = {quote: _terms(quote) for quote in quotes}
        self._factors = {quote: _factor(quote, self._terms[quote]) for quote in quotes}
        self._weights = _term_weights([self._terms[quote] for quote in quotes])

    def terms(self, quote: Quote) -> frozenset[str]:
        """Name what a quote speaks of."""
        return self._terms[quote]

    def worth(self, quote: Quote, covered: Collection[str] = ()) -> float:
        """Weigh what a quote adds to what is covered, for its length. It only sinks as more is covered."""
        gain = math.fsum(self._weights[term] for term in self._terms[quote] if term not in covered)
        return gain * self._factors[quote] / math.pow(len(quote.text) + _LINE_CHARACTERS, _LENGTH_POWER)

    def heaviest(self, quotes: Sequence[Quote], most: int) -> list[Quote]:
        """Keep the quotes of the greatest own worth, in the order given."""
        if len(quotes) <= most:
            return list(quotes)
        ranked = sorted(range(len(quotes)), key=lambda at: (-self.worth(quotes[at]), at))
        return [quotes[at] for at in sorted(ranked[:most])]


def failed(result: str) -> bool:
    """Tell whether a tool's result begins by reporting an error."""
    return _FAILED.match(result) is not None


def _terms(quote: Quote) -> frozenset[str]:
    """Read content words, pairs of CJK characters, and exact values."""
    words = {word for word in _WORD.findall(quote.text.casefold()) if word not in _STOPWORDS}
    for run in _CJK.findall(quote.text):
        words.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
    values = {f"{value.kind} {normalised(value.text)}" for value in extract_values(quote.text)}
    return frozenset(words | values)


def _term_weights(all_terms: Sequence[frozenset[str]]) -> Mapping[str, float]:
    """Weigh each term: what several quotes speak of is central, what most of them say is only the way they talk."""
    counts = Counter(term for terms in all_terms for term in terms)
    common = max(4, len(all_terms) * _COMMON_SHARE)
    return {
        term: _value_bonus(term) * (1.0 + math.log(count)) if count <= common else _COMMON_WEIGHT
        for term, count in counts.items()
    }


def _value_bonus(term: str) -> float:
    kind, _, value = term.partition(" ")
    return next((weight / 4 for name, weight in KIND_WEIGHTS.items() if value and name == kind), 1.0)


def _factor(quote: Quote, terms: frozenset[str]) -> float:
    """Weigh a quote by who says it and what it does: asks, answers, decides, or only keeps up the talk."""
    if quote.is_tool:
        return _TOOL_WEIGHT * (2.0 if failed(quote.text) else 1.0)
    factor = _SPEAKER_WEIGHTS.get(quote.speaker, 0.6) * (1.1 if quote.place == 0 else 1.0)
    if _FILLER.match(quote.text) and len(quote.text) < _FILLER_CHARACTERS:
        factor *= 0.2
    if quote.is_question:
        factor *= 1.2 if quote.speaker == "user" else 0.7
    elif quote.follows_question:
        factor *= 1.2
    if _DECISIVE.search(quote.text):
        factor *= 1.25
    return factor * (1.0 if len(terms) >= _FEW_TERMS else 0.4)


_LINE_CHARACTERS = 45
"""About what the id, the speaker and the quotation marks of a line take, and a little against scraps."""
_LENGTH_POWER = 0.6
"""Between 0, which favours long sentences, and 1, which favours dense fragments."""
_COMMON_SHARE = 0.3
_COMMON_WEIGHT = 0.2
_FEW_TERMS = 3
_FILLER_CHARACTERS = 90
_TOOL_WEIGHT = 0.4
_SPEAKER_WEIGHTS: Mapping[str, float] = {"user": 1.3, "assistant": 1.0}
_FAILED = re.compile(r"\W*(?:error|exception|traceback|failed|not found|denied)", re.IGNORECASE)
_DECISIVE = re.compile(
    r"\b(?:confirm(?:ed)?|decid\w+|proceed|approved?|booked|cancell?ed|refund\w*|updated|changed|prefer\w*"
    r"|want|need|must|never|always|remember|deadline|because|instead|successfully|failed|not eligible|cannot|total"
    r"|i(?:'m| am)|my)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"\W*(?:thank|you(?:'re| are) welcome|hi\b|hello\b|hey\b|great\b|ok(?:ay)?\b|sure\b|got it|feel free|wow\b|cool\b"
    r"|have a (?:great|nice|good|wonderful)|is there anything|if (?:you|there)\S* (?:any|need|have|further)|bye\b"
    r"|let me know|please (?:let me know|hold|bear)|safe travels|how (?:can|may) i|i(?:'m| am) (?:here to|glad|happy)"
    r"|one moment|glad\b"
    r"|i (?:really |totally )?(?:appreciate|agree)|i understand|take care|yep\b|no problem|can you (?:help|assist))",
    re.IGNORECASE,
)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_WORD = re.compile(r"[^\W\d_]{3,}")
_STOPWORDS = frozenset(
    re.findall(
        r"\w+",
        """the and for that this with you your are was were have has had not but can could would will shall should may
        might must from they them their there here what when which who whom how why been being its our out about into
        than then too very just also any all some more most other such only own same does did doing done get got let
        like well yes yeah please thanks thank hello sure okay one see know think really going want need these those
        him her his she""",
    )
)
