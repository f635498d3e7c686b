"""Full-text search over messages: any text a person types is a set of plain terms, never query syntax.

The index holds trigrams, so it finds substrings, CJK and punctuation. A term shorter than three characters is not in it
and is looked for by scanning. It refuses to know who asks.
"""

from __future__ import annotations

import sqlite3
from typing import cast

from memcli.errors import StoreLocked, StoreUnwritable
from memcli.records import Hit, Role
from memcli.store import rows
from memcli.store.engine import Engine, Value

TRIGRAM = 3
"""The shortest term the index can find, in characters."""
SNIPPET_CHARACTERS = 160
"""How much of a message's text a hit shows."""


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
        if not terms:
            return []
        try:
            self.index()
        except (StoreLocked, StoreUnwritable):
            pass  # a search must work on a store that cannot be written; the tail is scanned below
        scope, scope_values = _scope(conversation_id, up_to)
        found = self._indexed(terms, scope, scope_values, limit)
        if len(found) < limit:
            found += self._scanned(terms, scope, scope_values, limit - len(found))
        return [_hit(row, terms) for row in found]

    def index(self) -> int:
        """Bring the index up to date and tell how many messages were added."""
        sql = "select (select max(rowid) from messages) > indexed as behind from search_state"
        row = self._engine.row(sql)
        if row is None or not row["behind"]:
            return 0
        with self._engine.write():
            added = self._engine.execute(
                "insert into messages_text(rowid, text) select rowid, text from messages"
                " where rowid > (select indexed from search_state)"
            )
            self._engine.execute("update search_state set indexed = (select max(rowid) from messages)")
            return added

    def _indexed(self, terms: list[str], scope: str, values: list[Value], limit: int) -> list[sqlite3.Row]:
        long = [term for term in terms if len(term) >= TRIGRAM]
        if not long:
            return []
        short_sql, short_values = _contains([term for term in terms if len(term) < TRIGRAM])
        match = " ".join('"' + term.replace('"', '""') + '"' for term in long)
        sql = (
            "select m.conversation_id, m.id, m.role, m.text, m.created_at from messages_text"
            f" join messages m on m.rowid = messages_text.rowid where messages_text match ?{scope}{short_sql}"
            " order by bm25(messages_text), m.created_at desc, m.id desc limit ?"
        )
        return self._engine.rows(sql, (match, *values, *short_values, limit))

    def _scanned(self, terms: list[str], scope: str, values: list[Value], limit: int) -> list[sqlite3.Row]:
        """Scan what the index does not answer: the tail it has not reached, or everything when all terms are short."""
        has_long = any(len(term) >= TRIGRAM for term in terms)
        tail = " and m.rowid > (select indexed from search_state)" if has_long else ""
        sql_terms, term_values = _contains(terms)
        sql = (
            "select m.conversation_id, m.id, m.role, m.text, m.created_at from messages m"
            f" where 1{tail}{scope}{sql_terms} order by m.created_at desc, m.id desc limit ?"
        )
        return self._engine.rows(sql, (*values, *term_values, limit))


def _scope(conversation_id: str | None, up_to: int | None) -> tuple[str, list[Value]]:
    sql, values = "", list[Value]()
    if conversation_id is not None:
        sql += " and m.conversation_id = ?"
        values.append(conversation_id)
    if up_to is not None:
        sql += " and m.id <= ?"
        values.append(up_to)
    return sql, values


def _contains(terms: list[str]) -> tuple[str, list[Value]]:
    return " and instr(lower(m.text), lower(?)) > 0" * len(terms), list(terms)


def split_terms(text: str) -> list[str]:
    """Split what a person typed into terms: words, and quoted phrases whole. NUL is dropped."""
    pieces = text.replace("\0", " ").encode("utf-8", "backslashreplace").decode("utf-8").split('"')
    terms: list[str] = []
    for index, piece in enumerate(pieces):
        is_phrase = index % 2 == 1 and index < len(pieces) - 1
        terms += [piece.strip()] if is_phrase and piece.strip() else piece.split()
    if not terms and text.strip():
        terms = [text.strip()]
    return terms


def _hit(row: sqlite3.Row, terms: list[str]) -> Hit:
    text = row["text"]
    low = text.lower()
    places = [low.find(term.lower()) for term in terms]
    start = max(0, min((place for place in places if place >= 0), default=0) - SNIPPET_CHARACTERS // 4)
    snippet = " ".join(text[start : start + SNIPPET_CHARACTERS].split())
    return Hit(
        conversation_id=row["conversation_id"],
        message_id=row["id"],
        role=cast(Role, row["role"]),
        snippet=("…" if start else "") + snippet + ("…" if start + SNIPPET_CHARACTERS < len(text) else ""),
        created_at=rows.moment(row["created_at"]),
    )
