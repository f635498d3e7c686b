"""A log read from the newest message back, in the order it is replayed: every call with its results right behind it.

Results are matched as in `pairs`: a call's result is the first with its id behind it, before the same id is asked
again. Rows are stored as they land, so a result may stand apart from its call; it is handed out where it belongs,
without reading the history. It refuses to know budgets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from memcli.memory.pairs import NEITHER, Entry
from memcli.records import StoredMessage

REACH = 500
"""Messages read back from a result in search of its call. One further away is taken for absent."""

_Item = tuple[StoredMessage, Entry]


def row_entry(message: StoredMessage) -> Entry:
    """Say what pairing needs to know of a row, from its payload."""
    if message.role not in ("ai", "tool") or message.is_excluded:
        return NEITHER
    if message.role == "ai" and '"tool_calls"' not in message.payload:
        return NEITHER
    return Entry(tuple(call.id for call in message.tool_calls), message.tool_call_id)


def backwards(
    newest_first: Iterable[StoredMessage], entry_of: Callable[[StoredMessage], Entry] = row_entry
) -> Iterator[StoredMessage]:
    """Hand messages out from the newest back, reading ahead only from a tool result to its call.

    A result without a call stays where it was; nothing is left out and nothing is made up. `entry_of` is for a caller
    that has read the payloads already.
    """
    reader = ((message, entry_of(message)) for message in newest_first)
    ahead: deque[_Item] = deque()
    held: dict[str, list[StoredMessage]] = {}
    while True:
        ahead.extend(islice(reader, 0 if ahead else 1))
        if not ahead:
            return
        message, entry = ahead.popleft()
        if entry.answers is not None and _has_call(entry.answers, ahead, reader):
            held.setdefault(entry.answers, []).append(message)
            continue
        yield from reversed([held[call_id].pop() for call_id in entry.call_ids if held.get(call_id)])
        yield message


def _has_call(call_id: str, ahead: deque[_Item], reader: Iterator[_Item]) -> bool:
    """Tell whether the nearest call with this id takes this result: it takes the oldest ones first."""
    older = 0
    for place in range(REACH):
        if place == len(ahead):
            ahead.extend(islice(reader, 1))
            if place == len(ahead):
                return False
        entry = ahead[place][1]
        if call_id in entry.call_ids:
            return older < entry.call_ids.count(call_id)
        older += entry.answers == call_id
    return False
