"""Verbs on turns: start, close, reopen, rewind. It refuses to know what happens inside one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memcli.errors import NotFound
from memcli.records import MessageState, NewMessage, Turn, TurnPlace, TurnSpan, TurnStatus
from memcli.store import rows
from memcli.store.engine import Engine
from memcli.store.places import LARGEST_ID, SPAN, START, within
from memcli.store.tail import Tail
from memcli.store.values import LARGEST

_EXCLUDED_BY: dict[TurnStatus, MessageState] = {"failed": "failed", "rewound": "rewound"}
OF_TURN = (
    f"place > {START} + (select after_message_id from turns where conversation_id = ?1 and id = ?2)"
    f" and place <= {START} + {LARGEST_ID} and turn_id = ?2"
)
"""The messages of turn ?2 of conversation ?1."""
_NEWEST_COUNTED = "select id from turns where conversation_id = ?1 and status <> 'rewound' order by id desc limit 1"


class Turns:
    """The turns of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def start(self, conversation_id: str) -> Turn:
        """Open a turn. A turn that is still open was left by a dead process and is closed as interrupted."""
        with self._engine.write():
            self._engine.execute(
                "update turns set status = 'interrupted', ended_at = ?2 where conversation_id = ?1 and id ="
                f" ({_NEWEST_COUNTED}) and status = 'open'",
                (conversation_id, rows.now()),
            )
            tail = Tail(self._engine, conversation_id)
            tail.open_turn()
            tail.settle()
            return Turn(tail.turn_id, conversation_id, tail.moment, None, "open")

    def record(self, conversation_id: str, steps: Sequence[tuple[NewMessage, TurnPlace]]) -> None:
        """Store messages in the turns they make up, in order, all or none.

        One that opens a turn closes the one before it; one within a turn goes on with the newest, if that is open or
        done, and else opens one as well; one that closes a turn is its last. A message whose uid is there with the same
        payload is a retry and adds nothing; with another payload it is kept under the uid with `~2` behind it. Raises
        NotFound when there is no such conversation.
        """
        if not steps:
            return
        with self._engine.write():
            tail = Tail(self._engine, conversation_id)
            for message, place in steps:
                if place == "opens" or tail.turn_status not in ("open", "done"):
                    if tail.holds(message):
                        continue
                    tail.open_turn()
                tail.keep(message)
                if place == "closes":
                    tail.close_turn()
            tail.settle()

    def close(self, conversation_id: str, turn_id: int, status: TurnStatus) -> None:
        """Close a turn. `failed` and `rewound` also mark its messages, which then stand outside every context."""
        with self._engine.write():
            changed = self._engine.execute(
                "update turns set status = ?, ended_at = ? where conversation_id = ? and id = ?",
                (status, rows.now(), conversation_id, turn_id),
            )
            if not changed:
                raise NotFound(f"there is no turn {turn_id}")
            state = _EXCLUDED_BY.get(status)
            if state is not None:
                self._engine.execute(
                    f"update messages set state = ?3 where {OF_TURN} and state in ('whole', 'partial')",
                    (conversation_id, turn_id, state),
                )

    def reopen(self, conversation_id: str, turn_id: int) -> None:
        """Open a failed turn again for a retry: its user messages count again, what the attempt left stays excluded.

        Only for the newest turn that was not rewound: `start` looks for no other that a dead process left open.
        """
        with self._engine.write():
            changed = self._engine.execute(
                "update turns set status = 'open', ended_at = null where conversation_id = ? and id = ?",
                (conversation_id, turn_id),
            )
            if not changed:
                raise NotFound(f"there is no turn {turn_id}")
            self._engine.execute(
                f"update messages set state = 'whole' where {OF_TURN} and role = 'human'"
                " and state in ('failed', 'rewound')",
                (conversation_id, turn_id),
            )

    def get(self, conversation_id: str, turn_id: int) -> Turn:
        """Read one turn. Raises NotFound."""
        row = self._engine.row("select * from turns where conversation_id = ? and id = ?", (conversation_id, turn_id))
        if row is None:
            raise NotFound(f"there is no turn {turn_id}")
        return rows.turn(row)

    def newest_first(self, conversation_id: str) -> Iterator[Turn]:
        """Read turns from the newest back, one by one as they are taken."""
        sql = "select * from turns where conversation_id = ? and id < ? order by id desc"
        values = (conversation_id, LARGEST)
        for row in self._engine.iterate(sql, values, resume=lambda row: (conversation_id, row["id"])):
            yield rows.turn(row)

    def last(self, conversation_id: str, *, counted: bool = False) -> Turn | None:
        """Read the newest turn; with `counted`, the newest that was not rewound. None when there is none."""
        narrowed = " and status <> 'rewound'" if counted else ""
        sql = f"select * from turns where conversation_id = ?{narrowed} order by id desc limit 1"
        row = self._engine.row(sql, (conversation_id,))
        return rows.turn(row) if row else None

    def spans(self, conversation_id: str, *, after: int = 0) -> list[TurnSpan]:
        """List the turns with messages behind message `after`, oldest first, with their first and last message ids."""
        sql = (
            "select t.*, x.first, x.last from (select turn_id, min(id) as first, max(id) as last from messages"
            f" where {SPAN} and turn_id is not null group by turn_id) x"
            " join turns t on t.conversation_id = ?1 and t.id = x.turn_id order by x.first"
        )
        return [
            TurnSpan(rows.turn(row), row["first"], row["last"])
            for row in self._engine.rows(sql, (conversation_id, within(after + 1), LARGEST_ID))
        ]
