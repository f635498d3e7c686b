"""Exact values of a text: the identifiers, amounts, dates and names that a summary must not round off.

It refuses to know messages, summaries and budgets: a text in, its values out, by fixed patterns in one linear pass.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal, cast, get_args

ValueKind = Literal["identifier", "amount", "date", "email", "url", "path", "command", "code", "number"]
VALUE_KINDS: tuple[ValueKind, ...] = get_args(ValueKind)
MAX_VALUE_CHARACTERS = 200
"""Nothing longer is a value a person would look up; a data URL or a minified line is not one."""


@dataclass(frozen=True, slots=True)
class Value:
    """One exact value, as it was written."""

    kind: ValueKind
    text: str


def extract_values(text: str) -> list[Value]:
    """Find the exact values of a text, in order of first mention, each once.

    Two spellings of one value (case, thousands separators, spaces) are one; the first is kept. [] when there are none.
    Bare numbers, JSON keys and single upper-case words are not values; what an id key of JSON holds is one.
    """
    found: dict[str, Value] = {}
    for match in _VALUE.finditer(text):
        value = _read(match)
        if value is not None and len(value.text) <= MAX_VALUE_CHARACTERS:
            found.setdefault(normalised(value.text), value)
    return list(found.values())


def kind_of(text: str) -> ValueKind:
    """Name the kind of a value that stands alone, such as a carried one. `identifier` where only its place told."""
    values = extract_values(text)
    whole = [value for value in values if value.text == text]
    return whole[0].kind if whole else "identifier"


def normalised(text: str) -> str:
    """Fold what may differ between two spellings of one value: case, width, thousands separators, `.00`, whitespace."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _ZERO_CENTS.sub("", _THOUSANDS.sub("", " ".join(folded.split())))


def _read(match: re.Match[str]) -> Value | None:
    group = match.lastgroup or ""
    text = match[group]
    if group == "skip":
        return None
    if group == "key":
        return Value("identifier", text) if _LONG_NUMBER.search(text) else None
    if group == "token":
        return _mixed(text) or _named(text)
    if group == "quoted":
        return _quoted(text)
    if group in ("url", "path", "email"):
        text = text.rstrip(".,;:!?")
    kind = cast("ValueKind", group.rstrip("_0123456789"))
    return Value(kind, " ".join(text.split()))


def _quoted(text: str) -> Value | None:
    text = text.strip()
    if " " in text:
        return Value("command", text)
    inner = extract_values(text)
    return inner[0] if len(inner) == 1 and inner[0].text == text else Value("code", text) if text else None


def _mixed(text: str) -> Value | None:
    """Read a token of letters and digits as an identifier: ZFA04Y, mia_li_3668, 9f86d081, HAT069."""
    if len(text) < _LEAST_IDENTIFIER or not _HAS_DIGIT.search(text) or _ORDINARY.fullmatch(text):
        return None
    if not _HAS_LETTER.search(text) and len(text) < _LEAST_DIGITS:
        return None
    return Value("identifier", text)


def _named(text: str) -> Value | None:
    """Read a token without digits as a code name: snake_case, CamelCase."""
    return Value("code", text) if _CODE_NAME.fullmatch(text) else None


_LEAST_IDENTIFIER = 4
_LEAST_DIGITS = 5
"""A bare run of digits this long is an order number, a zip code or an account; a shorter one is a year or a count."""
_LONG_NUMBER = re.compile(r"[0-9]{4}")
_HAS_DIGIT = re.compile(r"[0-9]")
_HAS_LETTER = re.compile(r"[A-Za-z]")
_ORDINARY = re.compile(r"[0-9]+(?:st|nd|rd|th|s|x|k|m|am|pm)|[0-9]+(?:-[a-z]+)+|[a-z]+-[0-9]{1,2}", re.IGNORECASE)
_CODE_NAME = re.compile(r"_{0,2}[a-z]+(?:_[a-z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+|[a-z]+(?:[A-Z][a-z]+)+")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
_ZERO_CENTS = re.compile(r"(?<=[0-9])\.00?(?![0-9])")

_NUMBER = r"[0-9]{1,15}(?:,[0-9]{3}){0,5}(?:\.[0-9]{1,12})?"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_HALF = r"(?:[AaPp]\.[Mm]\.|[AaPp][Mm]\b)"
_ZONE = rf"(?:[ ]?{_HALF})?(?:[ ](?:EST|EDT|ET|CST|CDT|MST|MDT|PST|PDT|PT|UTC|GMT|CET|CEST|MSK|JST)\b)?"
_SUFFIXES = (
    "py|md|txt|jsonl?|toml|ya?ml|csv|tsv|js|tsx?|jsx|html?|css|go|rs|java|kt|c|h|cpp|sh|sql|db|log|pdf|png|jpe?g|zip|gz"
    "|ipynb|cfg|ini|lock|xml|gguf"
)
_OFFSET = r"(?:Z|[+-][0-9]{2}:?[0-9]{2})"
_CODE_WORD = r"(?i:\b(?:id|code|reservation|booking|confirmation|reference|order|ticket)(?:[ ](?:id|number|code|is))*)"
_UNITS = (
    r"%|‰|°[CF]?|(?:k|m|c|µ|u)?[mgs]\b|(?:[kKMGT]i?)?[bB]\b|[kKMGT]?Hz\b|kWh?\b|mph\b|km/h\b|lbs?\b|oz\b|ft\b|inch(?:es)?\b|miles?\b"
    r"|tokens?\b|characters?\b|lines?\b|rows?\b|seconds?\b|secs?\b|minutes?\b|mins?\b|hours?\b|hrs?\b|days?\b|weeks?\b|months?\b"
    r"|years?\b|bags?\b|passengers?\b|people\b|persons?\b|seats?\b|nights?\b|items?\b|pieces?\b|points?\b|stops?\b"
)

_VALUE = re.compile(
    rf"""
    (?P<url>\b(?:https?|ftp|file|ssh)://[^\s<>"'`\\)\]}}]{{1,400}})
    |(?P<email>(?<![\w.+-])[\w.+-]{{1,64}}@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}}){{1,8}})
    |`(?P<quoted>[^`\n]{{2,{MAX_VALUE_CHARACTERS}}})`
    |^[ \t]*\$[ ](?P<command>[a-z][^\n]{{1,{MAX_VALUE_CHARACTERS}}})$
    |(?P<identifier_1>\b[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}\b)
    |(?P<date_1>\b[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ][0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:\.[0-9]+)?)?
        {_OFFSET}?{_ZONE})?)
    |(?P<date_2>\b{_MONTH}[ ][0-9]{{1,2}}(?:st|nd|rd|th)?\b(?:,?[ ][0-9]{{4}}\b)?)
    |(?P<date_3>\b[0-9]{{1,2}}(?:st|nd|rd|th)?[ ](?:of[ ])?{_MONTH}(?![a-z])(?:,?[ ][0-9]{{4}}\b)?)
    |(?P<date_4>\b[0-9]{{1,2}}[/.][0-9]{{1,2}}[/.][0-9]{{2,4}}\b)
    |(?P<date_5>\b[0-9]{{1,2}}:[0-9]{{2}}(?::[0-9]{{2}})?{_ZONE})
    |(?P<date_6>\b[0-9]{{1,2}}[ ]?{_HALF}{_ZONE})
    |(?P<date_7>(?:[0-9]{{2,4}}年)?[0-9]{{1,2}}月[0-9]{{1,2}}[日号])
    |(?P<amount_1>-?[$€£¥₹₽]\s?{_NUMBER}(?:\s?(?:k|m|bn|million|billion)\b)?)
    |(?P<amount_2>\b{_NUMBER}\s?(?:[€£¥₹₽元円]|(?:USD|EUR|GBP|JPY|CNY|RUB|CHF|CAD|AUD|INR|dollars?|euros?|cents?)\b|руб\w*))
    |(?P<path_1>(?<![\w/.:])(?:~|\.{{1,2}}|[A-Za-z]:)?(?:/[\w.@+-]{{1,80}}){{2,20}}/?)
    |(?P<path_2>\b[A-Za-z]:(?:\\[\w.@+-]{{1,80}}){{1,20}})
    |(?P<path_3>(?<![\w/.@+-])(?:[\w.@+-]{{1,80}}/){{0,20}}[\w@+-][\w.@+-]{{0,80}}\.(?:{_SUFFIXES})\b(?!\())
    |(?P<identifier_2>(?<![\w.])\+?[0-9]{{1,3}}[ -]?\(?[0-9]{{3}}\)?[ -][0-9]{{3}}[ -][0-9]{{4}}\b)
    |(?P<code_1>(?<![\w-])--[a-z][a-z0-9-]{{1,40}})
    |(?P<code_2>\b[A-Za-z_]\w{{0,60}}(?:\.[A-Za-z_]\w{{0,60}}){{0,8}}\(\))
    |(?P<code_3>\b[a-z_]\w{{1,60}}(?:\.[A-Za-z_]\w{{1,60}}){{2,8}}|\b[a-z][a-z0-9]{{0,30}}_\w{{1,60}}\.[a-z_]\w{{1,60}})
    |"(?P<key>[\w-]{{1,80}})"\s*:(?!\s*"[A-Z]{{5,8}}")
    |"(?:\w{{0,40}}(?:id|code|number|reference))"\s*:\s*"(?P<identifier_3>[A-Z]{{5,8}})"
    |(?<=[\[,]\s)"(?P<identifier_4>[A-Z]{{6}})"(?=[,\]])|(?<=\[)"(?P<identifier_5>[A-Z]{{6}})"(?=[,\]])
    |{_CODE_WORD}[ ]?[:#]?[ *"'(]{{1,4}}(?P<identifier_6>[A-Z]{{6}})\b
    |\b(?:ending|ends)[ ](?:in|with)[ ](?P<identifier_7>[0-9]{{4}})\b
    |(?<!\w)(?P<identifier_8>\#[0-9]{{2,}})\b
    |(?P<number>(?<![\w.-])[+-]?{_NUMBER}[ ]?(?:{_UNITS}))
    |(?P<skip>(?<![\w.,])[0-9]+(?:[.,][0-9]+)+)
    |(?P<token>[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*)
    """,
    re.VERBOSE | re.MULTILINE,
)
