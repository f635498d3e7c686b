"""The end of one conversation's log while a write holds it: the counters, and what is put behind them.

Ids have no gaps because only the write that holds the store hands them out. It refuses to know transactions, and what a
message means.
"""

from __future__ import annotations

from datetime import UTC, datetime

from memcli.errors import NotFound
from memcli.records import NewMessage, StoredMessage, TurnStatus
from memcli.store import rows
from memcli.store.engine import Engine
from memcli.store.recency import note_change
from memcli.store.values import storable


class Tail:
    """Where a conversation goes on. For use inside one write, and ended by `settle`. Raises NotFound without it."""

    def __init__(self, engine: Engine, conversation_id: str) -> None:
        row = engine.uncounted_row(_READ, (conversation_id,))
        if row is None:
            raise NotFound(f"no conversation has the id {conversation_id!r}", "run `memcli history`")
        self._engine = engine
        self._conversation_id = conversation_id
        self._start, self._last_id, self.turn_id, self._tokens, self._is_behind, self.turn_status = row
        self._found = self._last_id, self.turn_id
        self.moment = datetime.now(UTC)
        self._stamp = self.moment.isoformat(timespec="microseconds")

    moment: datetime
    """When the write began, which is when everything in it happened."""
    turn_id: int
    """The newest turn's; 0 when there is none."""
    turn_status: TurnStatus | None
    """The newest turn's; None when there is none."""

    def append(self, message: NewMessage, turn_id: int | None) -> StoredMessage:
        """Store a message and say how it stands in the log, or give the row that has its uid already."""
        uid = storable(message.uid) if message.uid else None
        if not self._insert(message, uid, turn_id):
            row = self._engine.row(_BY_UID, (self._conversation_id, uid))
            assert row is not None  # the insert has just met it
            return rows.message(row)
        id = self._last_id
        moment = self.moment if message.created_at is None else rows.as_utc(message.created_at)
        return StoredMessage(
            id, self._conversation_id, turn_id, uid or rows.made_uid(id), message.kind, message.role,
            storable(message.text), storable(message.payload), message.tokens, moment, message.state,
        )  # fmt: skip

    def keep(self, message: NewMessage) -> None:
        """Store a message in the newest turn, unless it is there.

        One whose uid is taken is the same message if its payload is the same; else it is kept under the uid and `~2`.
        """
        uid = own = storable(message.uid) if message.uid else None
        attempt = 1
        while not self._insert(message, uid, self.turn_id):
            if self._is(message, uid):
                return
            attempt += 1
            uid = f"{own}~{attempt}"

    def holds(self, message: NewMessage) -> bool:
        """Tell whether this very message is stored: its uid with its payload."""
        return bool(message.uid) and self._is(message, storable(message.uid or ""))

    def open_turn(self) -> None:
        """Open the next turn, and close the one before it."""
        if self.turn_status == "open":
            self.close_turn()
        self.turn_id += 1
        self._engine.execute(_OPEN, (self._conversation_id, self.turn_id, self._stamp, self._last_id))
        self.turn_status = "open"

    def close_turn(self) -> None:
        """Close the newest turn as done."""
        self._engine.execute(_CLOSE, (self._stamp, self._conversation_id, self.turn_id))
        self.turn_status = "done"

    def settle(self) -> None:
        """Count in what was added, if anything was: a retry leaves everything as it was."""
        if (self._last_id, self.turn_id) == self._found:
            return
        values = (self._conversation_id, self._last_id, self.turn_id, self._tokens, self._stamp)
        self._engine.execute(_COUNT, values)
        if self._is_behind:
            note_change(self._engine, self._conversation_id)

    def _is(self, message: NewMessage, uid: str | None) -> bool:
        row = self._engine.row(_BY_UID, (self._conversation_id, uid))
        return row is not None and rows.message(row).payload == storable(message.payload)

    def _insert(self, message: NewMessage, uid: str | None, turn_id: int | None) -> bool:
        """Insert a message behind the last; False when its uid is there already."""
        if turn_id is not None and not 0 < turn_id <= self.turn_id:
            raise NotFound(
                f"turn {turn_id} of this conversation is not there", "start it before messages are put in it"
            )
        stamp = self._stamp if message.created_at is None else rows.stamp(message.created_at)
        id = self._last_id + 1
        is_new = self._engine.execute(
            _INSERT,
            (
                self._start + id, self._conversation_id, id, turn_id, uid, message.kind, message.role, message.state,
                message.tokens, stamp, storable(message.text), storable(message.payload),
            ),
        )  # fmt: skip
        if not is_new:
            return False
        self._last_id = id
        self._tokens += message.tokens
        return True


_READ = (
    "select number << 32, last_message_id, turns, tokens, changed < (select max(changed) from conversations),"
    " (select status from turns where conversation_id = ?1 and id = c.turns) from conversations c where id = ?1"
)
_COUNT = "update conversations set last_message_id = ?2, turns = ?3, tokens = ?4, updated_at = ?5 where id = ?1"
_INSERT = (
    "insert into messages(place, conversation_id, id, turn_id, uid, kind, role, state, tokens, created_at, text,"
    " payload) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " on conflict(conversation_id, uid) where uid is not null do nothing"
)
_BY_UID = rows.MESSAGES + " where conversation_id = ? and uid = ?"
_OPEN = "insert into turns(conversation_id, id, started_at, status, after_message_id) values (?, ?, ?, 'open', ?)"
_CLOSE = "update turns set status = 'done', ended_at = ? where conversation_id = ? and id = ?"
