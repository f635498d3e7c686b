"""Verbs on conversations: create, find, list, change, fork. It refuses to know what a memory model does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from memcli.errors import AmbiguousName, NotFound, UsageError
from memcli.records import Conversation, MemoryModel
from memcli.store import rows
from memcli.store.engine import Engine
from memcli.store.places import LARGEST_ID, SPAN
from memcli.store.recency import NEXT_CHANGE, note_change
from memcli.store.values import Value

LAST = "last"
"""The reference that means the conversation changed most recently."""
MOST_CANDIDATES = 8
"""Candidates named when a reference is ambiguous."""


class Conversations:
    """The conversations of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def create(
        self,
        *,
        name: str | None = None,
        model: str | None = None,
        system_prompt: str | None = None,
        memory: MemoryModel = "window",
        settings: Mapping[str, object] | None = None,
        parent_id: str | None = None,
        source: str | None = None,
        created_at: datetime | None = None,
        id: str | None = None,
    ) -> Conversation:
        """Begin a conversation. `id` None makes a random one; raises UsageError when an id or source is taken."""
        identity = id or _new_id()
        moment = rows.stamp(created_at)
        with self._engine.write():
            if self._engine.row("select 1 from conversations where id = ? or source = ?", (identity, source)):
                raise UsageError(f"conversation {identity!r} is already there", "choose another id")
            self._engine.execute(
                "insert into conversations(id, name, model, system_prompt, memory, settings, parent_id, source,"
                " created_at, updated_at, changed, number)"
                f" values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {NEXT_CHANGE}, {_NEXT_NUMBER})",
                (
                    identity, name, model, system_prompt, memory, json.dumps(dict(settings or {})), parent_id, source,
                    moment, moment,
                ),
            )  # fmt: skip
        return self.get(identity)

    def get(self, id: str) -> Conversation:
        """Read one conversation by its whole id. Raises NotFound."""
        row = self._engine.row("select * from conversations where id = ?", (id,))
        if row is None:
            raise NotFound(f"no conversation has the id {id!r}", "run `memcli history` to list conversations")
        return rows.conversation(row)

    def find(self, reference: str = LAST) -> Conversation:
        """Resolve an id, a unique prefix of one, a name, or `last`.

        An exact id wins over a name, a name over a prefix. Raises NotFound (with the closest name) or AmbiguousName
        (listing the candidates).
        """
        if reference == LAST:
            return self._last()
        for clause in ("id = ?", "name = ?"):
            found = self._engine.rows(f"select * from conversations where {clause} order by changed desc", (reference,))
            if found:
                return _only([rows.conversation(row) for row in found], reference)
        candidates = self._by_prefix(reference) or self._by_prefix(reference.lower())
        if not candidates:
            raise self._not_found(reference)
        return _only(candidates, reference)

    def by_source(self, source: str) -> Conversation | None:
        """Find the conversation imported from this source; None when there is none."""
        row = self._engine.row("select * from conversations where source = ?", (source,))
        return rows.conversation(row) if row else None

    def list(
        self, *, limit: int | None = None, since: datetime | None = None, parent_id: str | None = None
    ) -> list[Conversation]:
        """List conversations, the last changed first. `since` and `parent_id` narrow the list; [] when none."""
        clauses, values = ["1"], list[Value]()
        if since is not None:
            clauses.append("updated_at >= ?")
            values.append(rows.stamp(since))
        if parent_id is not None:
            clauses.append("parent_id = ?")
            values.append(parent_id)
        values.append(-1 if limit is None else limit)
        sql = f"select * from conversations where {' and '.join(clauses)} order by changed desc limit ?"
        return [rows.conversation(row) for row in self._engine.rows(sql, values)]

    def rename(self, id: str, name: str | None) -> None:
        """Give a conversation a name; None takes it away."""
        self._set(id, "name", name)

    def set_model(self, id: str, model: str | None) -> None:
        """Note the model a conversation is held with."""
        self._set(id, "model", model)

    def set_system_prompt(self, id: str, system_prompt: str | None) -> None:
        """Replace the system prompt; None means a leading system message, if any, or none."""
        self._set(id, "system_prompt", system_prompt)

    def set_memory(self, id: str, memory: MemoryModel) -> None:
        """Keep a conversation under another memory model. Nothing that was stored changes."""
        self._set(id, "memory", memory)

    def set_settings(self, id: str, settings: Mapping[str, object]) -> None:
        """Replace the settings a conversation overrides."""
        self._set(id, "settings", json.dumps(dict(settings)))

    def clear(self, id: str) -> None:
        """Delete a conversation's messages, turns, summaries, heads, calls, plans and pins; ids start at 1 again."""
        with self._engine.write():
            self._engine.execute(f"delete from messages where {SPAN}", (id, 0, LARGEST_ID))
            for table in ("heads", "summaries", "calls", "pins", "plans", "turns"):
                self._engine.execute(f"delete from {table} where conversation_id = ?", (id,))
            self._engine.execute(
                "update conversations set last_message_id = 0, turns = 0, tokens = 0, indexed = 0, updated_at = ?"
                " where id = ?",
                (rows.now(), id),
            )
            note_change(self._engine, id)

    def fork(self, id: str, *, at: int | None = None, name: str | None = None) -> Conversation:
        """Copy a conversation up to message `at` (None: all of it) into a new one with the same ids.

        Turns and summaries come along as far as they lie before the point; the head becomes the newest ancestor of the
        parent's head that does. Calls stay with the parent: they record what was seen there.
        """
        with self._engine.write():
            parent = self.get(id)
            point = parent.last_message_id if at is None else at
            if not 0 <= point <= parent.last_message_id:
                label = parent.name or parent.id[:8]
                raise NotFound(f"{label} has no message #{point}", f"the last is #{parent.last_message_id}")
            child = self.create(
                name=name, model=parent.model, system_prompt=parent.system_prompt, memory=parent.memory,
                settings=parent.settings, parent_id=parent.id,
            )  # fmt: skip
            self._engine.execute("update conversations set forked_at = ? where id = ?", (point, child.id))
            for sql in _FORK:
                self._engine.execute(sql, (parent.id, 0, point, child.id))
        return self.get(child.id)

    def _set(self, id: str, column: str, value: Value) -> None:
        with self._engine.write():
            changed = self._engine.execute(
                f"update conversations set {column} = ?, updated_at = ? where id = ?", (value, rows.now(), id)
            )
            if not changed:
                raise NotFound(f"no conversation has the id {id!r}", "run `memcli history` to list conversations")
            note_change(self._engine, id)

    def _by_prefix(self, prefix: str) -> Sequence[Conversation]:
        if not prefix:
            return ()
        sql = "select * from conversations where id >= ?1 and id < ?1 || char(0x10ffff) order by changed desc"
        return tuple(rows.conversation(row) for row in self._engine.rows(sql, (prefix,)))

    def _last(self) -> Conversation:
        found = self.list(limit=1)
        if not found:
            raise NotFound("there are no conversations yet", "start one with `memcli chat`")
        return found[0]

    def _not_found(self, reference: str) -> NotFound:
        import difflib

        sql = "select distinct name from conversations where name is not null limit 2000"
        names = [row["name"] for row in self._engine.rows(sql)]
        close = difflib.get_close_matches(reference, names, n=1)
        guess = f"did you mean {close[0]!r}? " if close else ""
        return NotFound(f"no conversation matches {reference!r}", f"{guess}run `memcli history` to list conversations")


def _only(found: Sequence[Conversation], reference: str) -> Conversation:
    if len(found) == 1:
        return found[0]
    size = _telling_size([item.id for item in found])
    shown = ", ".join(f"{item.id[:size]}{f' ({item.name})' if item.name else ''}" for item in found[:MOST_CANDIDATES])
    more = f" and {len(found) - MOST_CANDIDATES} more" if len(found) > MOST_CANDIDATES else ""
    raise AmbiguousName(f"{reference!r} fits {len(found)} conversations", f"use one of {shown}{more}")


def _new_id() -> str:
    import secrets

    return secrets.token_hex(16)


def _telling_size(ids: Sequence[str]) -> int:
    """Find the shortest prefix, of 12 characters or more, that tells these ids apart."""
    size = 12
    while len({id[:size] for id in ids}) < len(ids):
        size += 4
    return size


_NEXT_NUMBER = "(select coalesce(max(number), 0) + 1 from conversations)"
_TURN = "id, started_at, ended_at, status, after_message_id"
_MESSAGE = "id, turn_id, uid, kind, role, state, tokens, created_at, text, payload"
_SUMMARY = (
    "id, kind, first_message_id, last_message_id, text, facts, fidelity, tokens, model, prompt_version, input_tokens,"
    " output_tokens, input_hash, fallback, instructions, created_at, details, state"
)
_FORK = (
    f"insert into turns(conversation_id, {_TURN}) select ?4, {_TURN} from turns where conversation_id = ?1"
    f" and id in (select turn_id from messages where {SPAN})",
    f"insert into messages(place, conversation_id, {_MESSAGE})"
    f" select (select number << 32 from conversations where id = ?4) + id, ?4, {_MESSAGE} from messages"
    f" where {SPAN} order by place",
    f"insert into summaries(conversation_id, parent_id, {_SUMMARY}) select ?4, (select p.id from summaries p"
    "  where p.conversation_id = ?1 and p.id = s.parent_id and p.last_message_id <= ?3),"
    f" {_SUMMARY} from summaries s where conversation_id = ?1 and last_message_id <= ?3 order by id",
    "insert into heads(conversation_id, kind, summary_id)"
    " with recursive line(kind, id) as (select kind, summary_id from heads where conversation_id = ?1 union"
    "  select line.kind, s.parent_id from line join summaries s on s.conversation_id = ?1 and s.id = line.id"
    "  where s.parent_id is not null)"
    " select ?4, line.kind, max(line.id) from line"
    " join summaries s on s.conversation_id = ?4 and s.id = line.id group by line.kind",
    "insert into plans(conversation_id, id, text, created_at)"
    " select ?4, id, text, created_at from plans where conversation_id = ?1",
    "insert into pins(conversation_id, message_id, created_at) select ?4, message_id, created_at from pins"
    " where conversation_id = ?1 and message_id <= ?3",
    "update conversations set last_message_id = ?3,"
    " turns = (select coalesce(max(id), 0) from turns where conversation_id = ?4),"
    f" tokens = (select coalesce(sum(tokens), 0) from messages where {SPAN}) where id = ?4",
)
"""What goes from conversation ?1, up to message ?3, into ?4."""
