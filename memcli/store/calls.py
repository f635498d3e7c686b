"""Verbs on calls: what every model call saw, and how it ended. An undo or a fork never rewrites a recorded call."""

from __future__ import annotations

from collections.abc import Sequence

from memcli.errors import NotFound
from memcli.records import ALLOTTED, REQUEST, Call, CallPurpose, CallStatus, PartRef
from memcli.store import rows
from memcli.store.engine import Engine
from memcli.store.values import Value


class Calls:
    """The model calls of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def begin(
        self,
        conversation_id: str,
        *,
        turn_id: int | None,
        purpose: CallPurpose,
        model: str,
        limit_tokens: int,
        parts: Sequence[PartRef],
        estimated_tokens: int,
    ) -> int:
        """Record a call that is about to be made and return its id."""
        with self._engine.write():
            row = self._engine.row(
                "select coalesce(max(id), 0) + 1 as id from calls where conversation_id = ?", (conversation_id,)
            )
            assert row is not None
            self._engine.execute(
                "insert into calls(conversation_id, id, turn_id, purpose, model, limit_tokens, parts, estimated_tokens,"
                " status, started_at) values (?, ?, ?, ?, ?, ?, ?, ?, 'running', ?)",
                (
                    conversation_id, row["id"], turn_id, purpose, model, limit_tokens, rows.parts_json(tuple(parts)),
                    estimated_tokens, rows.now(),
                ),
            )  # fmt: skip
            return int(row["id"])

    def note_request(self, conversation_id: str, id: int, record: str) -> None:
        """Add to a call's parts what it sends beside its messages. Raises NotFound."""
        self._add_part(
            conversation_id, id, PartRef(REQUEST, None, None, 0, None, "sent beside the messages", text=record)
        )

    def note_allotted(self, conversation_id: str, id: int, tokens: int) -> None:
        """Add to a call's parts what its server really allotted to it. Raises NotFound."""
        self._add_part(conversation_id, id, PartRef(ALLOTTED, None, None, tokens, None, "what the server allots"))

    def finish(
        self,
        conversation_id: str,
        id: int,
        *,
        status: CallStatus,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        duration_ms: int | None = None,
        error: str | None = None,
    ) -> None:
        """Record how a call ended. Counts are the server's own; None where it gave none. Raises NotFound."""
        with self._engine.write():
            changed = self._engine.execute(
                "update calls set status = ?, input_tokens = ?, output_tokens = ?, duration_ms = ?, error = ?"
                " where conversation_id = ? and id = ?",
                (status, input_tokens, output_tokens, duration_ms, error, conversation_id, id),
            )
            if not changed:
                raise NotFound(f"there is no call {id}")

    def get(self, conversation_id: str, id: int) -> Call:
        """Read one call. Raises NotFound."""
        row = self._engine.row("select * from calls where conversation_id = ? and id = ?", (conversation_id, id))
        if row is None:
            raise NotFound(f"there is no call {id}", "run `memcli context --calls` to list them")
        return rows.call(row)

    def newest_first(
        self, conversation_id: str, *, purpose: CallPurpose | None = None, limit: int | None = None
    ) -> list[Call]:
        """List calls from the newest back; [] when there are none."""
        values: list[Value] = [conversation_id]
        clause = ""
        if purpose is not None:
            clause = " and purpose = ?"
            values.append(purpose)
        values.append(-1 if limit is None else limit)
        sql = f"select * from calls where conversation_id = ?{clause} order by id desc limit ?"
        return [rows.call(row) for row in self._engine.rows(sql, values)]

    def of_turn(self, conversation_id: str, turn_id: int) -> list[Call]:
        """List the calls of one turn, the newest first; [] when there are none."""
        sql = "select * from calls where conversation_id = ? and turn_id = ? order by id desc"
        return [rows.call(row) for row in self._engine.rows(sql, (conversation_id, turn_id))]

    def reported(self, model: str, *, limit: int = 50) -> list[tuple[int, int]]:
        """List (estimated, reported) prompt tokens of a model's last finished calls, for calibration; newest first."""
        sql = (
            "select estimated_tokens, input_tokens from calls where model = ? and status = 'done' and input_tokens > 0"
            " and estimated_tokens > 0 order by started_at desc limit ?"
        )
        return [(row["estimated_tokens"], row["input_tokens"]) for row in self._engine.rows(sql, (model, limit))]

    def _add_part(self, conversation_id: str, id: int, part: PartRef) -> None:
        with self._engine.write():
            changed = self._engine.execute(
                "update calls set parts = json_insert(parts, '$[#]', json_extract(?, '$[0]'))"
                " where conversation_id = ? and id = ?",
                (rows.parts_json((part,)), conversation_id, id),
            )
            if not changed:
                raise NotFound(f"there is no call {id}")
