"""The data model as numbered migrations.

A conversation owns everything: `turns` group its `messages`, the append-only log with ids from 1 and no gaps.
`summaries` are append-only too; `heads` says which one is in force, so undoing a compaction moves a head and deletes
nothing. `calls` records what each model call saw, by reference.

What looks odd is there for a law of cost. A message's key is its `place`: its conversation's `number` and its own id in
one integer, so that a conversation lies together and an append touches one tree; what comes without a uid is in no
other. `messages_excluded` makes the ledger's arithmetic independent of length, and `turns.after_message_id` is where a
turn's messages begin. `conversations.changed` numbers the changes: the largest is `last`, whatever the clock did, and
an append to the conversation that has it already leaves its index alone. `conversations.indexed` is the last message
the full-text index has taken in.

A released migration is never edited; the next one is added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

    Step = Callable[[Database], None]


def _run(database: Database, script: str) -> None:
    for statement in script.split(";\n\n"):
        database.execute(statement)


def _m001_conversations(database: Database) -> None:
    _run(
        database,
        """
create table conversations (
    id text primary key,
    name text,
    model text,
    system_prompt text,
    memory text not null,
    settings text not null,
    parent_id text references conversations(id) on delete set null,
    forked_at integer,
    source text unique,
    created_at text not null,
    updated_at text not null,
    changed integer not null,
    last_message_id integer not null default 0,
    turns integer not null default 0,
    tokens integer not null default 0
);

create index conversations_changed on conversations(changed);

create index conversations_name on conversations(name);

create table turns (
    conversation_id text not null references conversations(id) on delete cascade,
    id integer not null,
    started_at text not null,
    ended_at text,
    status text not null,
    after_message_id integer not null default 0,
    primary key (conversation_id, id)
) without rowid;

create index turns_open on turns(conversation_id) where status = 'open';

create table messages (
    conversation_id text not null references conversations(id) on delete cascade,
    id integer not null,
    turn_id integer,
    uid text not null,
    kind text not null,
    role text not null,
    state text not null,
    tokens integer not null,
    created_at text not null,
    text text not null,
    payload text not null,
    primary key (conversation_id, id),
    unique (conversation_id, uid),
    foreign key (conversation_id, turn_id) references turns(conversation_id, id)
);

create index messages_human on messages(conversation_id, id) where role = 'human' and state in ('whole', 'partial');

create index messages_excluded on messages(conversation_id, id) where state in ('failed', 'rewound', 'unreadable');

create table summaries (
    conversation_id text not null references conversations(id) on delete cascade,
    id integer not null,
    kind text not null,
    parent_id integer,
    first_message_id integer not null,
    last_message_id integer not null,
    text text not null,
    facts text not null,
    fidelity real,
    tokens integer not null,
    model text not null,
    prompt_version text not null,
    input_tokens integer not null,
    output_tokens integer not null,
    input_hash text not null,
    fallback integer not null,
    instructions text,
    created_at text not null,
    primary key (conversation_id, id),
    foreign key (conversation_id, parent_id) references summaries(conversation_id, id)
) without rowid;

create index summaries_input on summaries(conversation_id, input_hash);

create table heads (
    conversation_id text not null references conversations(id) on delete cascade,
    kind text not null,
    summary_id integer not null,
    primary key (conversation_id, kind),
    foreign key (conversation_id, summary_id) references summaries(conversation_id, id)
) without rowid;

create table calls (
    conversation_id text not null references conversations(id) on delete cascade,
    id integer not null,
    turn_id integer,
    purpose text not null,
    model text not null,
    limit_tokens integer not null,
    parts text not null,
    estimated_tokens integer not null,
    input_tokens integer,
    output_tokens integer,
    duration_ms integer,
    status text not null,
    error text,
    started_at text not null,
    primary key (conversation_id, id)
) without rowid
""",
    )


def _m002_search(database: Database) -> None:
    _run(
        database,
        """
create virtual table messages_text using fts5(text, content='messages', content_rowid='rowid', tokenize='trigram');

create table search_state (indexed integer not null);

insert into search_state values (0);

create trigger messages_text_delete after delete on messages
when old.rowid <= (select indexed from search_state) begin
    insert into messages_text(messages_text, rowid, text) values ('delete', old.rowid, old.text);
end
""",
    )


def _m003_plans_and_pins(database: Database) -> None:
    _run(
        database,
        """
create table plans (
    conversation_id text not null references conversations(id) on delete cascade,
    id integer not null,
    text text not null,
    created_at text not null,
    primary key (conversation_id, id)
) without rowid;

create table pins (
    conversation_id text not null references conversations(id) on delete cascade,
    message_id integer not null,
    created_at text not null,
    primary key (conversation_id, message_id)
) without rowid
""",
    )


def _m004_turn_summaries(database: Database) -> None:
    """Model B's fields of a summary, and proposals: a summary that was made but is not in force until it is applied."""
    _run(
        database,
        """
alter table summaries add column details text not null default '{}';

alter table summaries add column state text not null default 'made';

create index summaries_spans on summaries(conversation_id, kind, first_message_id)
""",
    )


def _m005_places(database: Database) -> None:
    """Messages keyed by their place: three trees an append had to walk are gone. The search index is made anew.

    The two foreign keys of messages go with them, since a table can only be searched by what it is indexed by: the
    store hands out turn ids and numbers itself, a trigger deletes what a conversation owns, and `doctor` checks both.
    """
    _run(
        database,
        """
alter table conversations add column number integer not null default 0;

alter table conversations add column indexed integer not null default 0;

update conversations set number = rowid;

create unique index conversations_number on conversations(number);

drop trigger messages_text_delete;

drop table messages_text;

drop table search_state;

create table placed (
    place integer primary key,
    conversation_id text not null,
    id integer not null,
    turn_id integer,
    uid text,
    kind text not null,
    role text not null,
    state text not null,
    tokens integer not null,
    created_at text not null,
    text text not null,
    payload text not null
);

insert into placed(place, conversation_id, id, turn_id, uid, kind, role, state, tokens, created_at, text, payload)
    select (c.number << 32) + m.id, m.conversation_id, m.id, m.turn_id, m.uid, m.kind, m.role, m.state, m.tokens,
    m.created_at, m.text, m.payload
    from conversations c cross join messages m on m.conversation_id = c.id order by c.number, m.id;

drop table messages;

alter table placed rename to messages;

create unique index messages_uid on messages(conversation_id, uid) where uid is not null;

create index messages_excluded on messages(place) where state in ('failed', 'rewound', 'unreadable');

create trigger conversations_delete before delete on conversations begin
    delete from messages where place between old.number << 32 and (old.number << 32) + 4294967295;
end;

create virtual table messages_text using fts5(text, content='messages', content_rowid='place', tokenize='trigram');

create trigger messages_text_delete after delete on messages
when old.id <= (select indexed from conversations where number = old.place >> 32) begin
    insert into messages_text(messages_text, rowid, text) values ('delete', old.place, old.text);
end;

drop index turns_open
""",
    )


STEPS: tuple[Step, ...] = (
    _m001_conversations, _m002_search, _m003_plans_and_pins, _m004_turn_summaries, _m005_places,
)  # fmt: skip
"""The migrations, oldest first; their count is the schema's version."""
