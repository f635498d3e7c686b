"""`memcli history`: list conversations, show one's messages, search them, give one a name, pin its messages.

It refuses to change a message, and to know what a pin does (`pinning`).
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, cast

import typer

from memcli.cli import output
from memcli.cli.history_rows import Shape, conversation_row, listed_row, message_row, title_of
from memcli.cli.numbers import parse_message_id
from memcli.cli.options import ConversationOrNone, Db, Json, JsonLines, Limit, NoColor, Quiet, Search, Since
from memcli.cli.session import Session, reading, writing
from memcli.cli.setting_flags import with_settings
from memcli.errors import UsageError
from memcli.records import Conversation, Hit, Role, StoredMessage
from memcli.store.search import split_terms

LISTED_IN_TERMINAL = 20
"""Conversations a terminal shows when nobody says how many; a pipe and JSON get them all."""
MOST_HITS = 20
"""Search hits shown when nobody says how many."""
_EVERY = 2**31


@with_settings("history")
def history(
    conversation: ConversationOrNone = None,
    search: Search = None,
    role: Annotated[Role | None, typer.Option("--role", help="Only messages of this role.")] = None,
    since: Since = None,
    limit: Limit = None,
    children: Annotated[
        bool, typer.Option("--children", help="Forks and sub-agents' conversations under the one they come from.")
    ] = False,
    rename: Annotated[
        str | None, typer.Option("--rename", metavar="NAME", help="Give it a name; '' takes it away.")
    ] = None,
    pin: Annotated[
        int | None, typer.Option("--pin", metavar="ID", parser=parse_message_id, help="Keep a message word for word.")
    ] = None,
    unpin: Annotated[
        int | None, typer.Option("--unpin", metavar="ID", parser=parse_message_id, help="Let it be folded again.")
    ] = None,
    pins: Annotated[bool, typer.Option("--pins", help="Show the pinned messages and what they take.")] = False,
    as_json: Json = False,
    as_lines: JsonLines = False,
    db: Db = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
    **settings: object,
) -> None:
    """List conversations; with one, show its messages.

    The newest conversation comes first, and messages in the order they were said. With -n the newest are shown.
    """
    begin = reading if rename is None else writing
    with begin(db=db, quiet=quiet, no_color=no_color, more=settings) as session:
        shape = Shape(as_json=as_json, as_lines=as_lines)
        if pins or pin is not None or unpin is not None:
            from memcli.cli.pinning import Pinning, show_pins

            asked = Pinning(pin, unpin)
            asked.check(is_alone=not children and all(item is None for item in (rename, search, role, since, limit)))
            show_pins(session, shape, session.conversation(conversation or "last"), asked)
        elif rename is not None:
            _rename(session, shape, conversation, rename)
        elif children:
            _check_family(search, role)
            _family(session, shape, conversation, since, limit)
        elif search is not None:
            _search(session, shape, conversation, search, Filter(role, since, limit))
        elif conversation is None:
            _list(session, shape, role, since, limit)
        else:
            _show(session, shape, session.conversation(conversation), Filter(role, since, limit))


@dataclass(frozen=True, slots=True)
class Filter:
    """Which messages are wanted; None means any."""

    role: Role | None
    since: datetime | None
    limit: int | None

    def takes(self, role: Role, created_at: datetime) -> bool:
        """Tell whether a message's role and time are wanted."""
        return (self.role is None or role == self.role) and (self.since is None or created_at >= self.since)


def _list(session: Session, shape: Shape, role: Role | None, since: datetime | None, limit: int | None) -> None:
    if role is not None:
        raise UsageError("--role needs a conversation or --search", "run `memcli history last --role human`")
    terminal = session.terminal
    is_text = not (shape.as_json or shape.as_lines)
    most = LISTED_IN_TERMINAL if limit is None and is_text and not terminal.is_piped else limit
    found = [] if session.is_fresh else session.store.conversations.list(limit=most and most + 1, since=since)
    shown = found[:most]
    rows = (listed_row(session.store, item) for item in shown)
    if shape.as_lines:
        output.stream_lines(terminal.write, rows)
    elif shape.as_json:
        output.stream_document(terminal.write, {}, "conversations", rows)
    elif not found:
        terminal.note("no conversations since then" if since else "no conversations yet: start one with `memcli chat`")
    else:
        from memcli.cli.render.history import conversations_table

        with terminal.paged():
            titles = {item.id: title_of(session.store, item) for item in shown}
            terminal.show(conversations_table(shown, datetime.now(UTC), titles))
        if len(found) > len(shown):
            terminal.note(f"the newest {len(shown)}; -n 0 lists them all")


def _check_family(search: str | None, role: Role | None) -> None:
    if search is not None or role is not None:
        raise UsageError("--children lists conversations, not messages", "leave --search and --role out")


def _family(
    session: Session, shape: Shape, reference: str | None, since: datetime | None, limit: int | None
) -> None:  # fmt: skip
    """List conversations as families: with a reference the one below it, else all of them."""
    from memcli.cli.families import descendants, families

    if reference is not None:
        members = descendants(session.store, session.conversation(reference))
    else:
        members = families([] if session.is_fresh else session.store.conversations.list(limit=limit, since=since))
    terminal = session.terminal
    rows = (listed_row(session.store, member.conversation) for member in members)
    if shape.as_lines:
        output.stream_lines(terminal.write, rows)
    elif shape.as_json:
        output.stream_document(terminal.write, {}, "conversations", rows)
    elif not members:
        terminal.note("no conversations yet: start one with `memcli chat`")
    else:
        from memcli.cli.render.history import families_table

        with terminal.paged():
            titles = {member.conversation.id: title_of(session.store, member.conversation) for member in members}
            terminal.show(families_table(members, datetime.now(UTC), titles))


def _show(session: Session, shape: Shape, conversation: Conversation, wanted: Filter) -> None:
    terminal = session.terminal
    pins = set(session.store.pins.list(conversation.id))
    with closing(_messages(session, conversation, wanted)) as messages:
        rows = ({**message_row(message), "pinned": message.id in pins} for message in messages)
        if shape.as_lines:
            output.stream_lines(terminal.write, rows)
        elif shape.as_json:
            output.stream_document(terminal.write, {"conversation": conversation_row(conversation)}, "messages", rows)
        else:
            _print_messages(session, messages, pins)


def _messages(session: Session, conversation: Conversation, wanted: Filter) -> Generator[StoredMessage]:
    """Read the wanted messages, oldest first; with a limit the newest of them, and no more rows than that takes."""
    log = session.store.messages
    read = log.oldest_first if wanted.limit is None else log.newest_first
    with closing(cast("Generator[StoredMessage]", read(conversation.id, excluded=True))) as rows:
        found = (row for row in rows if wanted.takes(row.role, row.created_at))
        yield from found if wanted.limit is None else reversed(list(islice(found, wanted.limit)))


def _print_messages(session: Session, messages: Iterable[StoredMessage], pins: Collection[int]) -> None:
    from memcli.cli.render.history import message_text

    terminal, shown = session.terminal, 0
    with terminal.paged():
        for message in messages:
            terminal.show(message_text(message, mark="pinned" if message.id in pins else ""))
            shown += 1
    if not shown:
        terminal.note("no messages")


def _search(session: Session, shape: Shape, reference: str | None, text: str, wanted: Filter) -> None:
    if not text.strip():
        raise UsageError("--search has nothing to look for", "pass a word, or a phrase in double quotes")
    only = session.conversation(reference) if reference is not None else None
    hits = [] if session.is_fresh else _hits(session, only, text, wanted)
    owners = {id: only or session.store.conversations.get(id) for id in {hit.conversation_id for hit in hits}}
    terminal = session.terminal
    rows = (_hit_row(session, hit, owners[hit.conversation_id]) for hit in hits)
    if shape.as_lines:
        output.stream_lines(terminal.write, rows)
    elif shape.as_json:
        head = {"conversation": conversation_row(only)} if only else {}
        output.stream_document(terminal.write, head, "messages", rows)
    elif not hits:
        terminal.note(f"no message contains {text!r}")
    else:
        from memcli.cli.render.history import hit_text

        with terminal.paged():
            for hit in hits:
                terminal.show(hit_text(hit, split_terms(text), None if only else owners[hit.conversation_id]))


def _hits(session: Session, only: Conversation | None, text: str, wanted: Filter) -> list[Hit]:
    is_narrowed = wanted.role is not None or wanted.since is not None
    most = wanted.limit or MOST_HITS
    found = session.store.search(text, conversation_id=only.id if only else None, limit=_EVERY if is_narrowed else most)
    return [hit for hit in found if wanted.takes(hit.role, hit.created_at)][:most]


def _hit_row(session: Session, hit: Hit, conversation: Conversation) -> Mapping[str, object]:
    message = session.store.messages.get(hit.conversation_id, hit.message_id)
    return {"conversation_id": conversation.id, **message_row(message), "snippet": hit.snippet}


def _rename(session: Session, shape: Shape, reference: str | None, name: str) -> None:
    if reference is None:
        raise UsageError("--rename needs a conversation", "run `memcli history CONVERSATION --rename NAME`")
    if name == "last" or name != name.strip() or not name.isprintable():
        raise UsageError(f"{name!r} cannot be a name", "use printable text with no space around it; `last` is taken")
    found = session.conversation(reference)
    session.store.conversations.rename(found.id, name or None)
    changed = session.store.conversations.get(found.id)
    if shape.as_json or shape.as_lines:
        write = output.line if shape.as_lines else output.document
        session.terminal.write(write({"conversation": conversation_row(changed)}))
    else:
        session.terminal.note(f"{found.id[:8]} is now called {name!r}" if name else f"{found.id[:8]} has no name now")
