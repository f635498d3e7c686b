"""The slash commands that change the conversation, or go to another one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from memcli.cli.cleaning import clean, clean_line
from memcli.cli.memories import other_memory
from memcli.cli.render.words import called
from memcli.cli.repl import showing
from memcli.cli.repl.desk import Desk
from memcli.cli.repl.turns import show_turn
from memcli.cli.talk import checked_name
from memcli.errors import UsageError
from memcli.records import MemoryModel

MOST_LISTED = 10
"""Conversations /resume lists."""
NO_PROMPT = '""'
"""What takes the system prompt, or the plan, away."""


def compact(desk: Desk, argument: str) -> None:
    """Fold what is not covered yet, now."""
    from rich.text import Text

    from memcli.cli.render.turn import fold_line

    desk.begun()
    partner = desk.partner()
    with desk.console.status(Text("folding…", "dim")):
        result = partner.compact(instructions=argument or None)
    desk.show(fold_line(result))


def model(desk: Desk, argument: str) -> None:
    """Show the model, or go on with another one."""
    from rich.text import Text

    if argument:
        desk.loading.wait()
        with desk.console.status(Text(f"connecting {clean_line(argument)}…", "dim")):
            desk.talk.switch_model(argument).load()
    connected = desk.connected(again=True)
    tools = "can call tools" if connected.can_call_tools else "cannot call tools"
    desk.say(f"a call holds {connected.limit_tokens:,} tokens; it {tools}")


def system(desk: Desk, argument: str) -> None:
    """Show the system prompt, or set it."""
    conversation = desk.talk.conversation
    if not argument:
        prompt = conversation.system_prompt if conversation is not None else desk.talk.wanted.system
        desk.say(prompt or "there is no system prompt; /system TEXT sets one", "" if prompt else "dim")
        return
    prompt = None if argument == NO_PROMPT else argument
    desk.talk.set_system_prompt(prompt)
    desk.say("the system prompt is set, from the next message on" if prompt else "there is no system prompt any more")


def memory(desk: Desk, argument: str) -> None:
    """Show which memory model keeps the past, or keep it under another."""
    if not argument:
        showing.memory(desk)
        return
    if argument not in ("window", "turns"):
        raise UsageError(f"there is no memory {argument!r}", "there are /memory window and /memory turns")
    said = desk.talk.keep_under(cast("MemoryModel", argument))
    desk.say(
        f"{said}; /memory {other_memory(argument)} goes back" if said else f"it is kept under memory {argument} already"
    )


def plan(desk: Desk, argument: str) -> None:
    """Show the plan, or set it."""
    if not argument:
        conversation = desk.talk.conversation
        current = desk.talk.store.plans.current(conversation.id) if conversation is not None else None
        said = clean(current.text) if current is not None else "there is no plan; /plan TEXT sets one"
        desk.say(said, "" if current is not None else "dim")
        return
    text = "" if argument == NO_PROMPT else argument
    version = desk.talk.store.plans.save(desk.talk.begin().id, text)
    desk.say(
        f"the plan is set (version {version.id}), from the next message on" if text else "there is no plan any more"
    )


def undo(desk: Desk, _argument: str) -> None:
    """Take the last turn back."""
    desk.begun()
    turn = desk.partner().undo()
    said = desk.talk.store.messages.of_turn(turn.conversation_id, turn.id, excluded=True)
    text = next((clean_line(message.text) for message in said if message.role == "human"), "")
    quote = f": “{text[:60]}{'…' if len(text) > 60 else ''}”" if text else ""
    kept = "message stays" if len(said) == 1 else f"{len(said)} messages stay"
    desk.say(f"turn {turn.id} is taken back{quote}; its {kept} stored, outside the memory")


def retry(desk: Desk, _argument: str) -> None:
    """Ask the last message again."""
    desk.begun()
    show_turn(desk, lambda partner, emit: partner.retry(emit))


def fork(desk: Desk, argument: str) -> None:
    """Copy the conversation and go on in the copy."""
    conversation = desk.begun()
    name = checked_name(desk.talk.store, argument) if argument else None
    child = desk.talk.store.conversations.fork(conversation.id, name=name)
    desk.talk.move_to(child)
    desk.say(f"forked {called(conversation)} at #{conversation.last_message_id}; you are in {called(child)} now")


def rename(desk: Desk, argument: str) -> None:
    """Give the conversation a name."""
    if not argument:
        raise UsageError("/rename needs a name", "type /rename NAME")
    name = checked_name(desk.talk.store, argument)
    desk.talk.store.conversations.rename(desk.talk.begin().id, name)
    desk.say(f"this conversation is called {name!r} now")


def new(desk: Desk, _argument: str) -> None:
    """Begin a new conversation."""
    before = desk.talk.conversation
    desk.talk.move_to(None)
    back = f"; /resume {before.name or before.id[:8]} goes back" if before is not None else ""
    desk.say(f"your next message begins a new conversation{back}")


def resume(desk: Desk, argument: str) -> None:
    """Go to another conversation, or list them."""
    from memcli.cli.history_rows import title_of
    from memcli.cli.render.history import conversations_table

    conversations = desk.talk.store.conversations
    if not argument:
        listed = conversations.list(limit=MOST_LISTED)
        titles = {item.id: title_of(desk.talk.store, item) for item in listed}
        desk.show(conversations_table(listed, datetime.now(UTC), titles))
        desk.say("/resume with an id, the beginning of one, or a name goes there")
        return
    found = conversations.find(argument)
    desk.talk.move_to(found)
    greet(desk)


def export(desk: Desk, argument: str) -> None:
    """Write the conversation to a file."""
    from memcli.cli.exporting import FORMAT, export_to_file

    conversation = desk.begun()
    path = Path(argument).expanduser() if argument else Path(f"memcli-{conversation.id[:8]}.jsonl")
    try:
        export_to_file(desk.talk.store, [conversation], path)
    except UsageError as err:
        raise UsageError(err.message, "type /export and another file's name") from err
    desk.say(f"written to {path} in {FORMAT}")


def leave(_desk: Desk, _argument: str) -> None:
    """Leave."""
    raise EOFError


def greet(desk: Desk) -> None:
    """Say which conversation this is, and where it stands."""
    from memcli.cli.render.palette import counted

    conversation = desk.talk.conversation
    if conversation is None:
        return
    held = f", held with {clean_line(conversation.model)}" if conversation.model else ""
    desk.say(f"in {called(conversation)}: {counted(conversation.last_message_id, 'message')}{held}")
    last = desk.talk.store.turns.last(conversation.id)
    if last is not None and last.status == "open":
        desk.say("its last turn did not end: /retry asks again, /undo takes it back", "yellow")
