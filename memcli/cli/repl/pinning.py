"""The slash commands on pinned messages."""

from __future__ import annotations

from memcli.cli.numbers import parse_message_id
from memcli.cli.repl.desk import Desk
from memcli.errors import UsageError


def pin(desk: Desk, argument: str) -> None:
    """Keep a message word for word, or list what is pinned."""
    from memcli.cli.pinning import Pinning, change, pinned_in, taken

    conversation, store = desk.begun(), desk.talk.store
    if argument:
        desk.say(change(store, conversation, desk.talk.policy(), Pinning(pin=parse_message_id(argument))))
        return
    from memcli.cli.render.history import message_text

    found = pinned_in(store, conversation)
    for item in found.messages:
        desk.show(message_text(item, mark=found.mark(item)))
    desk.say(taken(found) if found.by_hand else "nothing is pinned; /pin ID pins a message, /history shows their ids")


def unpin(desk: Desk, argument: str) -> None:
    """Let a pinned message be folded again."""
    from memcli.cli.pinning import Pinning, change

    if not argument:
        raise UsageError("/unpin needs a message's id", "type /unpin ID; /pin lists what is pinned")
    asked = Pinning(unpin=parse_message_id(argument))
    desk.say(change(desk.talk.store, desk.begun(), desk.talk.policy(), asked))
