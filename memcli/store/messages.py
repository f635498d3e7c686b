"""Verbs on messages, the append-only log: append, read back, mark. It refuses to know what a message means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from memcli.errors import NotFound
from memcli.records import MessageState, NewMessage, StoredMessage
from memcli.store import rows
from memcli.store.engine import Engine
from memcli.store.places import LARGEST_ID, ONE, SPAN, within
from memcli.store.tail import Tail
from memcli.store.turns import OF_TURN

_EXCLUDED = "('failed', 'rewound', 'unreadable')"
_COUNTED = f"state not in {_EXCLUDED}"

MOST_BEFORE_USER = 100
"""Messages in which a user's first is looked for: one that begins later is no opening."""


class Messages:
    """The messages of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def append(
        self, conversation_id: str, messages: Sequence[NewMessage], *, turn_id: int | None = None
    ) -> list[StoredMessage]:
        """Store messages in order, all or none, and say how each one stands in the log.

        A uid that is already there is a retry: its row is returned as it is and nothing is added. Raises NotFound when
        there is no such conversation.
        """
        if not messages:
            return []
        with self._engine.write():
            tail = Tail(self._engine, conversation_id)
            stored = [tail.append(message, turn_id) for message in messages]
            tail.settle()
            return stored

    def get(self, conversation_id: str, id: int) -> StoredMessage:
        """Read one message. Raises NotFound."""
        row = self._engine.row(f"{rows.MESSAGES} where {ONE}", (conversation_id, within(id)))
        if row is None:
            raise NotFound(f"there is no message #{id}", "run `memcli history CONVERSATION` to list messages")
        return rows.message(row)

    def leading_system(self, conversation_id: str) -> StoredMessage | None:
        """Read the first message if it is a system message; None otherwise."""
        row = self._engine.row(f"{rows.MESSAGES} where {ONE} and role = 'system' and {_COUNTED}", (conversation_id, 1))
        return rows.message(row) if row else None

    def newest_first(
        self, conversation_id: str, *, up_to: int | None = None, down_to: int = 1, excluded: bool = False
    ) -> Iterator[StoredMessage]:
        """Read messages from the newest back, one by one as they are taken.

        `up_to` None begins at the last one. Excluded messages are left out unless asked for; a row that turns out to be
        unreadable is handed out in quarantine. Taking n messages reads n rows, whatever the conversation's length.
        """
        sql = f"{rows.MESSAGES} where {SPAN}{'' if excluded else f' and {_COUNTED}'} order by place desc"
        first, last = within(down_to), LARGEST_ID if up_to is None else within(up_to)
        values = (conversation_id, first, last)
        for row in self._engine.iterate(sql, values, resume=lambda row: (conversation_id, first, row["id"] - 1)):
            yield rows.message(row)

    def oldest_first(
        self, conversation_id: str, *, after: int = 0, up_to: int | None = None, excluded: bool = False
    ) -> Iterator[StoredMessage]:
        """Read messages with a larger id than `after`, one by one as they are taken. Nothing when there are none.

        `up_to` None ends at the message that is the last one when reading begins.
        """
        sql = f"{rows.MESSAGES} where {SPAN}{'' if excluded else f' and {_COUNTED}'} order by place"
        last = self.last_id(conversation_id) if up_to is None else within(up_to)
        values = (conversation_id, within(after + 1), last)
        for row in self._engine.iterate(sql, values, resume=lambda row: (conversation_id, row["id"] + 1, last)):
            yield rows.message(row)

    def of_turn(self, conversation_id: str, turn_id: int, *, excluded: bool = False) -> list[StoredMessage]:
        """Read one turn's messages, oldest first. The newest turn costs its own length, an older one more."""
        sql = f"{rows.MESSAGES} where {OF_TURN}{'' if excluded else f' and {_COUNTED}'} order by place"
        return [rows.message(row) for row in self._engine.rows(sql, (conversation_id, turn_id))]

    def opening(self, conversation_id: str, *, characters: int) -> str:
        """Read the beginning of the user's first message; "" when none of the first MOST_BEFORE_USER is a user's."""
        sql = f"select substr(text, 1, ?4) as text from messages where {SPAN} and role = 'human' order by place limit 1"
        row = self._engine.row(sql, (conversation_id, 1, MOST_BEFORE_USER, characters))
        return row["text"] if row else ""

    def last_id(self, conversation_id: str) -> int:
        """Tell the newest message's id, which is also how many there are; 0 when there are none."""
        row = self._engine.row("select last_message_id from conversations where id = ?", (conversation_id,))
        return row["last_message_id"] if row else 0

    def humans_after(self, conversation_id: str, after: int, *, at_most: int, up_to: int | None = None) -> int:
        """Count the user's messages with a larger id, stopping at `at_most`: it costs as many turns, not the rest."""
        sql = (
            f"select count(*) as n from (select 1 from messages where {SPAN} and role = 'human'"
            " and state in ('whole', 'partial') limit ?4)"
        )
        last = LARGEST_ID if up_to is None else within(up_to)
        row = self._engine.row(sql, (conversation_id, within(after + 1), last, at_most))
        return row["n"] if row else 0

    def excluded_ids(self, conversation_id: str, *, up_to: int) -> list[int]:
        """List the ids of messages that stand outside every context, ascending; [] when there are none."""
        sql = f"select id from messages where {SPAN} and state in {_EXCLUDED} order by place"
        return [row["id"] for row in self._engine.rows(sql, (conversation_id, 1, within(up_to)))]

    def token_sum(self, conversation_id: str, spans: Iterable[tuple[int, int]]) -> int:
        """Add up the budget tokens of the counted messages in these inclusive spans."""
        sql = f"select sum(tokens) as n from messages where {SPAN} and {_COUNTED}"
        total = 0
        for first, last in spans:
            row = self._engine.row(sql, (conversation_id, within(first), within(last)))
            total += (row["n"] or 0) if row else 0
        return total

    def mark(self, conversation_id: str, ids: Sequence[int], state: MessageState) -> None:
        """Change the state of messages; their content never changes. Ids that are not there are passed over."""
        with self._engine.write():
            for id in ids:
                sql = f"update messages set state = ?3 where {ONE}"
                self._engine.execute(sql, (conversation_id, within(id), state))
