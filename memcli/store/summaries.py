"""Verbs on summaries and their heads: commit, read, undo. It refuses to judge a summary; `memory/fold` does."""

from __future__ import annotations

import json

from memcli.errors import HeadMoved, NotFound
from memcli.records import NewSummary, Summary, SummaryKind, SummaryState
from memcli.store import rows
from memcli.store.engine import Engine
from memcli.store.places import START
from memcli.store.recency import note_change

_SELECT = (
    "select s.*, exists(select 1 from heads h where h.conversation_id = s.conversation_id and h.kind = s.kind"
    " and h.summary_id = s.id) as in_force from summaries s"
)


class Summaries:
    """The summaries of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def commit(self, conversation_id: str, summary: NewSummary, *, expected_head: int | None) -> Summary:
        """Store a summary and move its kind's head to it, if the head is still where the caller saw it.

        Raises HeadMoved otherwise, and nothing is stored.
        """
        with self._engine.write():
            self._expect(conversation_id, summary.kind, expected_head)
            stored = self.add(conversation_id, summary)
            self._point(conversation_id, summary.kind, stored.id)
        return self.get(conversation_id, stored.id)

    def add(self, conversation_id: str, summary: NewSummary) -> Summary:
        """Store a summary without putting it in force."""
        with self._engine.write():
            row = self._engine.row(
                "select coalesce(max(id), 0) + 1 as id from summaries where conversation_id = ?", (conversation_id,)
            )
            assert row is not None
            self._engine.execute(
                "insert into summaries(conversation_id, id, kind, parent_id, first_message_id, last_message_id, text,"
                " facts, fidelity, tokens, model, prompt_version, input_tokens, output_tokens, input_hash, fallback,"
                " instructions, created_at, details, state)"
                " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    conversation_id, row["id"], summary.kind, summary.parent_id, summary.first_message_id,
                    summary.last_message_id, summary.text, json.dumps(list(summary.values)), summary.fidelity,
                    summary.tokens, summary.model, summary.prompt_version, summary.input_tokens,
                    summary.output_tokens, summary.input_hash, int(summary.fallback), summary.instructions, rows.now(),
                    json.dumps(dict(summary.details)), summary.state,
                ),
            )  # fmt: skip
            return self.get(conversation_id, row["id"])

    def head(self, conversation_id: str, kind: SummaryKind) -> Summary | None:
        """Read the summary in force; None when there is none."""
        sql = (
            _SELECT
            + " join heads h on h.conversation_id = s.conversation_id and h.summary_id = s.id"
            + (" where h.conversation_id = ? and h.kind = ?")
        )
        row = self._engine.row(sql, (conversation_id, kind))
        return rows.summary(row) if row else None

    def move_head(
        self, conversation_id: str, kind: SummaryKind, summary_id: int | None, *, expected_head: int | None
    ) -> None:
        """Put another summary in force, or none.

        Raises HeadMoved when the head is not where the caller saw it, and NotFound when this kind has no such summary.
        """
        with self._engine.write():
            self._expect(conversation_id, kind, expected_head)
            if summary_id is not None and self.get(conversation_id, summary_id).kind != kind:
                raise NotFound(f"s{summary_id} is not a {kind} summary", "run `memcli summaries` to list them")
            self._point(conversation_id, kind, summary_id)

    def get(self, conversation_id: str, id: int) -> Summary:
        """Read one summary. Raises NotFound."""
        row = self._engine.row(_SELECT + " where s.conversation_id = ? and s.id = ?", (conversation_id, id))
        if row is None:
            raise NotFound(f"there is no summary s{id}", "run `memcli summaries` to list them")
        return rows.summary(row)

    def newest_of_turns(self, conversation_id: str, *, after: int = 0, limit: int | None = None) -> list[Summary]:
        """List the newest summary of every turn that begins after message `after`, the newest turn first.

        Turns that were rewound are left out, and summaries that were discarded; [] when there are none.
        """
        sql = _SELECT + (
            " where s.conversation_id = ?1 and s.kind = 'turn' and s.first_message_id > ?2 and s.id = (select max(t.id)"
            " from summaries t where t.conversation_id = s.conversation_id and t.kind = 'turn' and t.state = 'made'"
            " and t.first_message_id = s.first_message_id) and exists (select 1 from messages m"
            f" where m.place = {START} + s.first_message_id and m.state <> 'rewound')"
            " order by s.first_message_id desc limit ?3"
        )
        values = (conversation_id, after, -1 if limit is None else limit)
        return [rows.summary(row) for row in self._engine.rows(sql, values)]

    def newest_of(self, conversation_id: str, kind: SummaryKind, first_message_id: int) -> Summary | None:
        """Find the newest summary of a kind that begins at this message and was not discarded; None without."""
        sql = _SELECT + (
            " where s.conversation_id = ? and s.kind = ? and s.first_message_id = ? and s.state = 'made'"
            " order by s.id desc limit 1"
        )
        row = self._engine.row(sql, (conversation_id, kind, first_message_id))
        return rows.summary(row) if row else None

    def set_state(self, conversation_id: str, id: int, state: SummaryState) -> None:
        """Note what became of a proposal, or that a turn's summary was taken back with the turn."""
        with self._engine.write():
            self._engine.execute(
                "update summaries set state = ? where conversation_id = ? and id = ?", (state, conversation_id, id)
            )

    def list(self, conversation_id: str, *, kind: SummaryKind | None = None) -> list[Summary]:
        """List every summary ever made, in the order they were made; [] when there are none."""
        sql = _SELECT + " where s.conversation_id = ?" + (" and s.kind = ?" if kind else "") + " order by s.id"
        values = (conversation_id, kind) if kind else (conversation_id,)
        return [rows.summary(row) for row in self._engine.rows(sql, values)]

    def by_input(self, conversation_id: str, input_hash: str) -> Summary | None:
        """Find a summary that was made from the same input; None when there is none."""
        sql = _SELECT + " where s.conversation_id = ? and s.input_hash = ? order by s.id desc limit 1"
        row = self._engine.row(sql, (conversation_id, input_hash))
        return rows.summary(row) if row else None

    def _expect(self, conversation_id: str, kind: SummaryKind, expected: int | None) -> None:
        row = self._engine.row(
            "select summary_id from heads where conversation_id = ? and kind = ?", (conversation_id, kind)
        )
        if (row["summary_id"] if row else None) != expected:
            raise HeadMoved("another compaction of this conversation finished first")

    def _point(self, conversation_id: str, kind: SummaryKind, summary_id: int | None) -> None:
        if summary_id is None:
            self._engine.execute("delete from heads where conversation_id = ? and kind = ?", (conversation_id, kind))
        else:
            self._engine.execute(
                "insert into heads(conversation_id, kind, summary_id) values (?, ?, ?)"
                " on conflict(conversation_id, kind) do update set summary_id = excluded.summary_id",
                (conversation_id, kind, summary_id),
            )
        self._engine.execute("update conversations set updated_at = ? where id = ?", (rows.now(), conversation_id))
        note_change(self._engine, conversation_id)
