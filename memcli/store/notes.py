"""Verbs on plans and pins: what a user or an agent keeps in the context by hand. Plans are versioned, pins are not."""

from __future__ import annotations

from datetime import datetime

from memcli.errors import NotFound
from memcli.records import Plan
from memcli.store import rows
from memcli.store.engine import Engine
from memcli.store.places import ONE, within
from memcli.store.values import storable


class Plans:
    """The plans of one store, every version of them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def save(self, conversation_id: str, text: str, *, created_at: datetime | None = None) -> Plan:
        """Store a new version of the plan; an empty text ends it. `created_at` None means now."""
        with self._engine.write():
            sql = "select coalesce(max(id), 0) + 1 as id from plans where conversation_id = ?"
            row = self._engine.row(sql, (conversation_id,))
            assert row is not None
            moment, kept = rows.stamp(created_at), storable(text)
            self._engine.execute("insert into plans values (?, ?, ?, ?)", (conversation_id, row["id"], kept, moment))
        return Plan(row["id"], kept, rows.moment(moment))

    def current(self, conversation_id: str) -> Plan | None:
        """Read the newest version; None when there is none or it was ended."""
        versions = self.list(conversation_id, limit=1)
        return versions[0] if versions and versions[0].text else None

    def list(self, conversation_id: str, *, limit: int | None = None) -> list[Plan]:
        """List every version, the newest first; [] when there are none."""
        sql = "select * from plans where conversation_id = ? order by id desc limit ?"
        found = self._engine.rows(sql, (conversation_id, -1 if limit is None else limit))
        return [Plan(row["id"], row["text"], rows.moment(row["created_at"])) for row in found]


class Pins:
    """The pinned messages of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, conversation_id: str, message_id: int) -> None:
        """Pin a message; pinning twice is once. Raises NotFound when it is not there."""
        with self._engine.write():
            if self._engine.row(f"select 1 from messages where {ONE}", (conversation_id, within(message_id))) is None:
                raise NotFound(
                    f"there is no message #{message_id}", "run `memcli history CONVERSATION` to list messages"
                )
            self._engine.execute(
                "insert into pins values (?, ?, ?) on conflict do nothing", (conversation_id, message_id, rows.now())
            )

    def remove(self, conversation_id: str, message_id: int) -> bool:
        """Unpin a message and tell whether it was pinned."""
        with self._engine.write():
            sql = "delete from pins where conversation_id = ? and message_id = ?"
            return self._engine.execute(sql, (conversation_id, message_id)) > 0

    def list(self, conversation_id: str) -> list[int]:
        """List the pinned messages' ids, ascending; [] when there are none."""
        sql = "select message_id from pins where conversation_id = ? order by message_id"
        return [row["message_id"] for row in self._engine.rows(sql, (conversation_id,))]
