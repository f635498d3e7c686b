"""What `doctor` checks inside the store, and what it can mend without losing a byte. It refuses to know LangChain."""

from __future__ import annotations

from collections.abc import Iterator

from memcli.errors import StoreCorrupt, StoreLocked, StoreUnwritable
from memcli.records import Problem
from memcli.store import rows
from memcli.store.engine import Engine
from memcli.store.places import LARGEST_ID, ONE, SPAN


class Check:
    """Check one store, and mend what can be mended."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __call__(self) -> list[Problem]:
        """List every problem, the file's own first; [] when the store is sound."""
        try:
            file = list(self._file())
        except StoreCorrupt as err:
            file = [Problem("file", err.message)]
        if file:
            return file
        return [*self._ids(), *self._counters(), *self._readable(), *self._heads(), *self._search()]

    def mend(self, problem: Problem) -> None:
        """Do what the problem's `fix` says; nothing when it has none."""
        if problem.fix is None:
            return
        with self._engine.write():
            if problem.where == "counters":
                self._recount(problem)
            elif problem.where == "search":
                self._reindex()
            elif problem.where == "head":
                self._drop_head(problem)
            elif problem.where == "message":
                self._quarantine(problem)

    def _file(self) -> Iterator[Problem]:
        for row in self._engine.rows("pragma quick_check(5)"):
            if row[0] != "ok":
                yield Problem("file", f"the file is damaged: {row[0]}")
        for row in self._engine.rows("pragma foreign_key_check"):
            yield Problem("file", f"a row of {row[0]} refers to a row of {row[2]} that is not there")
        for table, sql in _REFERENCES.items():
            if self._engine.row(sql) is not None:
                yield Problem("file", f"a row of messages refers to a row of {table} that is not there")
        if self._engine.row(_MISPLACED) is not None:
            yield Problem("file", "a row of messages is not where its conversation and id say")

    def _ids(self) -> Iterator[Problem]:
        sql = (
            "select conversation_id, count(*) as n, min(id) as low, max(id) as high from messages"
            " group by conversation_id having n <> high or low <> 1"
        )
        for row in self._engine.rows(sql):
            yield Problem(
                "ids", f"{row['n']} messages are numbered up to #{row['high']}", conversation_id=row["conversation_id"]
            )

    def _counters(self) -> Iterator[Problem]:
        own = "from messages where place between c.number << 32 and (c.number << 32) + " + str(LARGEST_ID)
        sql = (
            f"select c.id from conversations c where c.last_message_id <> (select coalesce(max(id), 0) {own})"
            f" or c.tokens <> (select coalesce(sum(tokens), 0) {own}) or c.turns <> (select coalesce(max(id), 0)"
            " from turns where conversation_id = c.id)"
        )
        for row in self._engine.rows(sql):
            yield Problem("counters", "its counters disagree with its rows", "count again", row["id"])

    def _readable(self) -> Iterator[Problem]:
        sql = "select * from messages where place > ? and state <> 'unreadable' order by place"
        for row in self._engine.iterate(sql, (0,), resume=lambda row: (row["place"],)):
            if not rows.is_readable(row):
                yield Problem(
                    "message", f"message #{row['id']} cannot be read", "set it apart; the row stays as it is",
                    row["conversation_id"], {"id": row["id"]},
                )  # fmt: skip

    def _heads(self) -> Iterator[Problem]:
        sql = (
            "select h.conversation_id, h.kind, h.summary_id, s.last_message_id, c.last_message_id as last from heads h"
            " join conversations c on c.id = h.conversation_id left join summaries s"
            " on s.conversation_id = h.conversation_id and s.id = h.summary_id and s.kind = h.kind"
            " where s.id is null or s.last_message_id > c.last_message_id"
        )
        for row in self._engine.rows(sql):
            yield Problem(
                "head", f"the {row['kind']} summary in force, s{row['summary_id']}, covers messages that are not there",
                "put no summary in force; none is deleted", row["conversation_id"], {"kind": row["kind"]},
            )  # fmt: skip

    def _search(self) -> Iterator[Problem]:
        sql = (
            "select (select count(*) from messages m join conversations c on c.number = m.place >> 32"
            " where m.id <= c.indexed) - (select count(*) from messages_text_docsize) as n"
        )
        row = self._engine.row(sql)
        if row and row["n"]:
            yield Problem("search", f"the search index is off by {abs(row['n'])} messages", "build it again")
        elif self._index_is_damaged() or self._index_misses_the_newest():
            yield Problem("search", "the search index is damaged", "build it again")

    def _index_is_damaged(self) -> bool:
        try:
            with self._engine.write(waits=False):  # fts5 asks for its own integrity as a write that changes nothing
                self._engine.execute("insert into messages_text(messages_text) values ('integrity-check')")
        except StoreCorrupt:
            return True
        except (StoreLocked, StoreUnwritable):
            return False  # cannot be asked while another process writes, or where nothing can be written
        return False

    def _index_misses_the_newest(self) -> bool:
        """Look for a message that must be there: an index whose root was lost is sound in itself, and empty."""
        row = self._engine.row(
            "select m.place, substr(m.text, 1, 3) as start from messages m cross join conversations c"
            " on c.number = m.place >> 32 where length(m.text) > 2 and m.id <= c.indexed order by m.place desc limit 1"
        )
        if row is None:
            return False
        match = '"' + row["start"].replace('"', '""') + '"'
        sql = "select 1 from messages_text where messages_text match ? and rowid = ?"
        return self._engine.row(sql, (match, row["place"])) is None

    def _recount(self, problem: Problem) -> None:
        self._engine.execute(
            f"update conversations set last_message_id = (select coalesce(max(id), 0) from messages where {SPAN}),"
            f" tokens = (select coalesce(sum(tokens), 0) from messages where {SPAN}),"
            " turns = (select coalesce(max(id), 0) from turns where conversation_id = ?1) where id = ?1",
            (problem.conversation_id, 0, LARGEST_ID),
        )

    def _reindex(self) -> None:
        self._engine.execute("insert into messages_text(messages_text) values ('rebuild')")
        self._engine.execute("update conversations set indexed = last_message_id")

    def _drop_head(self, problem: Problem) -> None:
        self._engine.execute(
            "delete from heads where conversation_id = ? and kind = ?",
            (problem.conversation_id, str(problem.detail["kind"])),
        )

    def _quarantine(self, problem: Problem) -> None:
        self._engine.execute(
            f"update messages set state = 'unreadable' where {ONE}",
            (problem.conversation_id, int(str(problem.detail["id"]))),
        )


_REFERENCES = {
    "conversations": "select 1 from messages m where not exists (select 1 from conversations where id ="
    " m.conversation_id) limit 1",
    "turns": "select 1 from messages m where turn_id is not null and not exists (select 1 from turns t where"
    " t.conversation_id = m.conversation_id and t.id = m.turn_id) limit 1",
}
"""What messages refer to, by table."""
_MISPLACED = (
    "select 1 from messages m join conversations c on c.id = m.conversation_id"
    " where m.place <> (c.number << 32) + m.id limit 1"
)
