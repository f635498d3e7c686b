"""Full-text search over messages: any text a person types is a set of plain terms, never query syntax.

The index holds trigrams, so it finds substrings, CJK and punctuation. A term shorter than three characters is not in it
and is looked for by scanning, the newest messages first. It refuses to know who asks.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import cast

from memcli.errors import StoreCorrupt, StoreLocked, StoreUnwritable
from memcli.records import Hit, Role
from memcli.store import rows
from memcli.store.engine import Engine
from memcli.store.places import LARGEST_ID, within
from memcli.store.values import Value, storable

TRIGRAM = 3
"""The shortest term the index can find, in characters."""
MOST_INDEXED_TERMS = 64
"""The most terms the index is asked for at once, the longest ones; the rest are looked for in what it finds."""
SNIPPET_CHARACTERS = 160
"""How much of a message's text a hit shows."""

_COLUMNS = "m.place, m.conversation_id, m.id, m.role, m.text, m.created_at"


class Search:
    """Search one store's messages.

    The index is derived state: messages are indexed when a turn ends, after an import and before a search, never while
    they are appended. What is not indexed yet is scanned, so nothing is ever missed.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __call__(
        self, text: str, *, conversation_id: str | None = None, limit: int = 20, up_to: int | None = None
    ) -> list[Hit]:
        """Find the messages that hold every term of `text`, the best match first; [] when there are none.

        A term in double quotes keeps its spaces. Case is ignored. Messages of failed and rewound turns are found too:
        they are stored, and their state says so. `up_to` leaves out newer messages.
        """
        terms = split_terms(text)
        if not terms or limit < 1:
            return []
        with suppress(StoreLocked, StoreUnwritable):  # where nothing can be written, the tail is scanned below
            self.index(conversation_id, waits=False)
        asked = sorted((term for term in terms if len(term) >= TRIGRAM), key=len, reverse=True)[:MOST_INDEXED_TERMS]
        scope, values = _scope(conversation_id, up_to)
        found: list[sqlite3.Row] = []
        if asked:
            others = [term for term in terms if term not in asked]
            found += self._ranked(asked, others, scope, values, limit)
        if len(found) < limit:
            found += islice(self._scanned(terms, conversation_id, up_to, is_tail=bool(asked)), limit - len(found))
        return [_hit(row, terms) for row in found]

    def index(self, conversation_id: str | None = None, *, waits: bool = True) -> int:
        """Bring the index up to date with a conversation, None: with all, and tell how many messages were added.

        With `waits` false a locked store raises StoreLocked at once.
        """
        behind = "indexed < last_message_id" + (" and id = ?" if conversation_id is not None else "")
        values = () if conversation_id is None else (conversation_id,)
        if self._engine.row(f"select 1 from conversations where {behind} limit 1", values) is None:
            return 0
        with self._engine.write(waits=waits):
            added = self._engine.execute(
                f"insert into messages_text(rowid, text) select m.place, m.text from (select * from conversations"
                f" where {behind}) c cross join messages m on m.place > (c.number << 32) + c.indexed"
                " and m.place <= (c.number << 32) + c.last_message_id",
                values,
            )
            self._engine.execute(f"update conversations set indexed = last_message_id where {behind}", values)
            return added

    def _ranked(
        self, asked: list[str], others: list[str], scope: str, values: list[Value], limit: int
    ) -> list[sqlite3.Row]:
        try:
            return list(islice(self._indexed(asked, others, scope, values), limit))
        except StoreCorrupt as err:
            raise StoreCorrupt(err.message, "run `memcli doctor --fix`: the search index can be built again") from err

    def _indexed(self, asked: list[str], others: list[str], scope: str, values: list[Value]) -> Iterator[sqlite3.Row]:
        match = " ".join('"' + term.replace('"', '""') + '"' for term in asked)
        ranked = self._engine.rows(
            "select m.place from messages_text join messages m on m.place = messages_text.rowid"
            f" where messages_text match ?{scope} order by bm25(messages_text), m.place desc",
            (match, *values),
        )
        for place in ranked:
            row = self._engine.row(f"select {_COLUMNS} from messages m where place = ?", (place["place"],))
            if row is not None and _holds(row["text"], others):
                yield row

    def _scanned(
        self, terms: list[str], conversation_id: str | None, up_to: int | None, *, is_tail: bool
    ) -> Iterator[sqlite3.Row]:
        """Read messages one by one, the newest of the most recently changed conversation first.

        With `is_tail` only those that the index does not hold yet.
        """
        for first, last in self._to_scan(conversation_id, up_to, is_tail=is_tail):
            for row in self._backwards(first, last):
                if _holds(row["text"], terms):
                    yield row

    def _backwards(self, first: int, last: int) -> Iterator[sqlite3.Row]:
        sql = f"select {_COLUMNS} from messages m where place between ? and ? order by place desc"
        return self._engine.iterate(sql, (first, last), resume=lambda row: (first, row["place"] - 1))

    def _to_scan(self, conversation_id: str | None, up_to: int | None, *, is_tail: bool) -> list[tuple[int, int]]:
        newest = LARGEST_ID if up_to is None else within(up_to)
        found = self._engine.rows(
            f"select number << 32 as start, {'indexed' if is_tail else '0'} as after,"
            " min(last_message_id, ?1) as newest from conversations where (?2 is null or id = ?2)"
            " order by changed desc",
            (newest, conversation_id),
        )
        return [
            (row["start"] + row["after"] + 1, row["start"] + row["newest"])
            for row in found
            if row["after"] < row["newest"]
        ]


def split_terms(text: str) -> list[str]:
    """Split what a person typed into terms: words, and quoted phrases whole, each once. [] for nothing but space."""
    pieces = storable(text).split('"')
    terms: list[str] = []
    for index, piece in enumerate(pieces):
        is_phrase = index % 2 == 1 and index < len(pieces) - 1
        terms += [piece.strip()] if is_phrase and piece.strip() else piece.split()
    if not terms and '"' in text:
        terms = [text.strip()]
    return list(dict.fromkeys(terms))


def _scope(conversation_id: str | None, up_to: int | None) -> tuple[str, list[Value]]:
    sql, values = "", list[Value]()
    if conversation_id is not None:
        sql += " and m.conversation_id = ?"
        values.append(conversation_id)
    if up_to is not None:
        sql += " and m.id <= ?"
        values.append(up_to)
    return sql, values


def _holds(text: object, terms: list[str]) -> bool:
    """Tell whether a text holds every term, whatever the case."""
    if not isinstance(text, str):
        return False
    folded = text.casefold()
    return all(term.casefold() in folded for term in terms)


def _hit(row: sqlite3.Row, terms: list[str]) -> Hit:
    text = row["text"]
    folded = text.casefold()
    places = [folded.find(term.casefold()) for term in terms]
    start = max(0, min((place for place in places if place >= 0), default=0) - SNIPPET_CHARACTERS // 4)
    snippet = " ".join(text[start : start + SNIPPET_CHARACTERS].split())
    return Hit(
        conversation_id=row["conversation_id"],
        message_id=row["id"],
        role=cast(Role, row["role"]),
        snippet=("…" if start else "") + snippet + ("…" if start + SNIPPET_CHARACTERS < len(text) else ""),
        created_at=rows.moment(row["created_at"]),
    )
