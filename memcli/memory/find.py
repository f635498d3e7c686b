"""Why did it forget this: which messages say a text, and where each of them stands in a context.

Candidates come from the store's search, and from the arguments of tool calls, which no index holds; each is looked at
again, so that a finding is exactly what was asked for. It refuses to know how a context is built.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memcli.memory.context import Context
from memcli.memory.facts import survives
from memcli.memory.values import Value, kind_of
from memcli.records import Conversation, Role, StoredMessage
from memcli.store import Store

Mode = Literal["text", "word", "exact"]
"""`text`: whatever the case; `word`: the same, and not inside a longer word; `exact`: as written, case and all."""
Place = Literal["verbatim", "clipped", "summarised", "forgotten", "excluded", "later"]
"""Where a message stands; `later` is behind the moment the context belongs to."""

MOST_CANDIDATES = 2000
"""Messages the search is asked for, the best matches first."""
RECALLED = 6
"""Hits a recall by an agent gets to see. Source: RECALL_HITS of its tool."""
EXCERPT_CHARACTERS = 160

_Says = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Finding:
    """One message that says it, and where it stands."""

    message_id: int
    role: Role
    excerpt: str
    """The words around it, on one line."""
    in_arguments: bool
    """It is said in a tool call's arguments, not in the message's text."""
    place: Place
    is_shown: bool
    """What the context shows of the message still says it."""
    summary_id: int | None
    """The summary that stands for it, when it is summarised."""
    summary_says: bool
    values_say: bool
    """The exact values carried beside that summary say it."""
    is_recalled: bool
    """A search for the text finds this message among the first an agent's recall is given."""
    verdict: str
    """One line: where it was said, what became of it, what still says it."""


def find(
    store: Store, conversation: Conversation, context: Context, text: str, *, mode: Mode = "text"
) -> list[Finding]:
    """Find every message that says `text`, ascending, and where each stands in this context.

    [] when none says it, or it is nothing but space. Whitespace is one space, except in mode `exact`. At most
    MOST_CANDIDATES messages are looked at by their text; every tool call's arguments are.
    """
    if not text.strip():
        return []
    says = _matcher(text, mode)
    recalled = {hit.message_id for hit in store.search(text, conversation_id=conversation.id, limit=RECALLED)}
    found: dict[int, tuple[StoredMessage, bool]] = {}
    for hit in store.search(text, conversation_id=conversation.id, limit=MOST_CANDIDATES):
        message = store.messages.get(conversation.id, hit.message_id)
        if says(message.text):
            found[message.id] = message, False
    for message in _askers(store, conversation.id):
        if message.id not in found and any(says(argument) for argument in _arguments(message)):
            found[message.id] = message, True
    value = Value(kind_of(text.strip()), text.strip()) if mode != "exact" else None
    place = _Placing(store, context, says, value, frozenset(recalled), text)
    return [place(*found[id]) for id in sorted(found)]


def overall(text: str, findings: Sequence[Finding]) -> str:
    """Say in one line whether this context still holds it, and through which message or summary."""
    if not findings:
        return f"no message says {text!r}"
    shown = [finding for finding in findings if finding.is_shown]
    if shown:
        return f"it is in the context: #{shown[-1].message_id} says it"
    told = [finding for finding in findings if finding.summary_says or finding.values_say]
    if told:
        how = "" if told[-1].summary_says else "the values carried by "
        return f"it is in the context: {how}s{told[-1].summary_id} still {'says' if not how else 'say'} it"
    found = "recall finds it" if any(finding.is_recalled for finding in findings) else "recall does not find it"
    return f"it is not in the context in any form; {found}"


def _matcher(text: str, mode: Mode) -> _Says:
    if mode == "exact":
        return lambda said: text in said
    wanted = " ".join(text.casefold().split())
    if mode == "text":
        return lambda said: wanted in " ".join(said.casefold().split())
    left, right = r"(?<!\w)" if wanted[0].isalnum() else "", r"(?!\w)" if wanted[-1].isalnum() else ""
    pattern = re.compile(left + re.escape(wanted) + right)
    return lambda said: pattern.search(" ".join(said.casefold().split())) is not None


def _askers(store: Store, conversation_id: str) -> Iterator[StoredMessage]:
    """Read the messages that ask for tools, whatever became of their turn."""
    for message in store.messages.oldest_first(conversation_id, excluded=True):
        if message.role == "ai" and '"tool_calls"' in message.payload:
            yield message


def _arguments(message: StoredMessage) -> list[str]:
    return [
        f"{call.name} {json.dumps(dict(call.args), ensure_ascii=False, default=str)}" for call in message.tool_calls
    ]


@dataclass(frozen=True, slots=True)
class _Placing:
    """Tell where a message stands in one context."""

    store: Store
    context: Context
    says: _Says
    value: Value | None
    recalled: frozenset[int]
    text: str

    def __call__(self, message: StoredMessage, in_arguments: bool) -> Finding:
        place = self._place(message.id)
        is_shown = place == "verbatim" or (place == "clipped" and (in_arguments or self._clip_says(message.id)))
        summary_id = self._summary_of(message.id) if place == "summarised" else None
        summary_says, values_say = self._told(summary_id) if summary_id is not None else (False, False)
        said = "\n".join(_arguments(message)) if in_arguments else message.text
        finding = Finding(
            message.id, message.role, _excerpt(said, self.text), in_arguments, place, is_shown, summary_id,
            summary_says, values_say, message.id in self.recalled, "",
        )  # fmt: skip
        return replace(finding, verdict="; ".join((*_became(finding), *self._recall(finding))))

    def _recall(self, finding: Finding) -> list[str]:
        if finding.is_shown or finding.summary_says or finding.values_say:
            return []
        if finding.is_recalled:
            return ["recall finds it"]
        return ["recall finds others first" if self.recalled else "recall does not find it"]

    def _place(self, id: int) -> Place:
        ledger = self.context.ledger
        places: tuple[Place, ...] = ("verbatim", "clipped", "summarised", "forgotten", "excluded")
        return next((place for place in places if id in getattr(ledger, place)), "later")

    def _clip_says(self, id: int) -> bool:
        shown = (part for part in self.context.parts if part.message is not None and part.message.id == id)
        return any(self.says(part.shown_text if part.shown_text is not None else part.text) for part in shown)

    def _summary_of(self, id: int) -> int | None:
        for part in self.context.parts:
            first, last = part.first_message_id, part.last_message_id
            if part.state == "summarised" and first is not None and last is not None and first <= id <= last:
                return part.summary_id
        return None

    def _told(self, summary_id: int) -> tuple[bool, bool]:
        """Tell whether a summary's text says it, and whether the values shown beside it do."""
        summary = self.store.summaries.get(self.context.conversation_id, summary_id)
        parts = [part for part in self.context.parts if part.summary_id == summary_id]
        carried = summary.values if any(part.source in ("values", "turn_summary") for part in parts) else ()
        in_text, in_values = self.says(summary.text), any(self.says(value) for value in carried)
        if self.value is not None:
            in_text = in_text or survives([self.value], summary.text)[0]
            in_values = in_values or survives([self.value], "", carried)[0]
        return in_text, in_values


_WORDS: Mapping[Place, str] = {
    "verbatim": "in the context word for word",
    "clipped": "clipped",
    "summarised": "summarised by s{id}",
    "forgotten": "in this context in no form",
    "excluded": "outside every context: its turn failed or was taken back",
    "later": "said after this moment",
}


def _became(finding: Finding) -> list[str]:
    said = f"said in #{finding.message_id}" + (" (a tool call's arguments)" if finding.in_arguments else "")
    pieces = [said, _WORDS[finding.place].format(id=finding.summary_id)]
    if finding.place == "clipped":
        pieces.append(f"what is shown of it {'still says it' if finding.is_shown else 'does not say it'}")
    elif finding.place == "summarised" and finding.summary_says:
        pieces.append(f"s{finding.summary_id} still says it")
    elif finding.place == "summarised":
        pieces.append(f"s{finding.summary_id} does not mention it{', its values do' if finding.values_say else ''}")
    return pieces


def _excerpt(said: str, text: str) -> str:
    line = " ".join(said.split())
    at = max(0, line.casefold().find(" ".join(text.casefold().split())))
    start = max(0, at - EXCERPT_CHARACTERS // 4)
    end = start + EXCERPT_CHARACTERS
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
