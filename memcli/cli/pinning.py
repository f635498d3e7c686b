"""`memcli history CONVERSATION --pin ID`, `--unpin ID`, `--pins`: which messages stay word for word, at what cost.

It refuses to know how a pinned message stands in a context: `memory.pins` does.
"""

from __future__ import annotations

from dataclasses import dataclass

from memcli.cli import output
from memcli.cli.history_rows import Shape, conversation_row, message_row
from memcli.cli.memories import request_of
from memcli.cli.policy import policy_for
from memcli.cli.render.palette import counted
from memcli.cli.session import Session
from memcli.errors import UsageError
from memcli.memory import pins
from memcli.memory.context import Policy
from memcli.records import Conversation, StoredMessage
from memcli.store import Store


@dataclass(frozen=True, slots=True)
class Pinning:
    """What was asked of a conversation's pins. Listing them is what is left when nothing else is asked."""

    pin: int | None = None
    unpin: int | None = None

    def check(self, *, is_alone: bool) -> None:
        """Raise UsageError when both are asked for, or something else beside them."""
        if self.pin is not None and self.unpin is not None:
            raise UsageError("--pin and --unpin exclude one another", "do one after the other")
        if not is_alone:
            raise UsageError("pins take a conversation and nothing else", "try `memcli history NAME --pins`")


@dataclass(frozen=True, slots=True)
class Pinned:
    """What is pinned, and what that takes."""

    messages: tuple[StoredMessage, ...]
    """The pinned ones and those that go with them, ascending."""
    by_hand: frozenset[int]

    @property
    def tokens(self) -> int:
        """Add up what they take of the limit, in budget tokens; what stands outside every context takes nothing."""
        return sum(message.tokens for message in self.messages if not message.is_excluded)

    def mark(self, message: StoredMessage) -> str:
        """Say how one of the messages comes to stay."""
        return "pinned" if message.id in self.by_hand else "goes with a pinned one"


def show_pins(session: Session, shape: Shape, conversation: Conversation, asked: Pinning) -> None:
    """Do what is asked, then show the pins: all of them in JSON, and in text only when nothing was changed.

    Raises what `change` raises.
    """
    terminal = session.terminal
    said = change(session.store, conversation, policy_for(session.resolved, conversation), asked)
    found = pinned_in(session.store, conversation)
    rows = [{**message_row(item), "pinned": item.id in found.by_hand} for item in found.messages]
    if shape.as_lines:
        output.stream_lines(terminal.write, rows)
    elif shape.as_json:
        body = {"conversation": conversation_row(conversation), "pins": rows, "tokens": found.tokens}
        terminal.write(output.document(body))
    elif said:
        terminal.note(said)
    else:
        from memcli.cli.render.history import message_text

        with terminal.paged():
            for item in found.messages:
                terminal.show(message_text(item, mark=found.mark(item)))
        terminal.note(taken(found))


def change(store: Store, conversation: Conversation, policy: Policy, asked: Pinning) -> str:
    """Do what is asked and say in a line what came of it; "" when only a list was asked for.

    Raises NotFound without such a message, UsageError for one outside every context, and ContextOverflow with the
    numbers when it cannot fit.
    """
    if asked.pin is not None:
        is_new = asked.pin not in store.pins.list(conversation.id)
        pins.pin(store, conversation, policy, request_of(conversation), asked.pin)
        word = "is pinned" if is_new else "is pinned already"
        return f"#{asked.pin} {word}; {taken(pinned_in(store, conversation))}"
    if asked.unpin is not None:
        store.messages.get(conversation.id, asked.unpin)
        was_pinned = store.pins.remove(conversation.id, asked.unpin)
        word = "is pinned no longer" if was_pinned else "was not pinned"
        return f"#{asked.unpin} {word}; {taken(pinned_in(store, conversation))}"
    return ""


def pinned_in(store: Store, conversation: Conversation) -> Pinned:
    """Read what is pinned in a conversation. One that stands outside every context is named too, without its unit."""
    by_hand = store.pins.list(conversation.id)
    found = {item.id: item for item in pins.pinned(store, conversation.id, up_to=conversation.last_message_id)}
    for id in by_hand:
        if id not in found:
            found[id] = store.messages.get(conversation.id, id)
    return Pinned(tuple(found[id] for id in sorted(found)), frozenset(by_hand))


def taken(found: Pinned) -> str:
    """Say in a line how many are pinned and what they take."""
    if not found.by_hand:
        return "nothing is pinned"
    with_it = len(found.messages) - len(found.by_hand)
    go = "goes" if with_it == 1 else "go"
    beside = f" and {with_it} that {go} with them" if with_it else ""
    take = "takes" if len(found.messages) == 1 else "take"
    return (
        f"{counted(len(found.by_hand), 'pinned message')}{beside} {take} {counted(found.tokens, 'token')} of the limit"
    )
