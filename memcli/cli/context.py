"""`memcli context`: what the agent would see next, part by part, and where every message is.

It refuses to build a context and to draw one: `picture` and `render.context` do.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli import options
from memcli.cli.memories import context_under, memory_of
from memcli.cli.picture import next_request, take
from memcli.cli.policy import policy_for, settings_for
from memcli.cli.session import Session, reading
from memcli.records import Conversation, MemoryModel

OutputReserve = Annotated[
    str | None, typer.Option("--output-reserve", metavar="TOKENS", help="Tokens of the limit kept for the answer.")
]
Raw = Annotated[bool, typer.Option("--raw", help="Print the exact messages, as a provider gets them.")]
Full = Annotated[bool, typer.Option("--full", help="Leave nothing out: every message, every line.")]


def context(
    conversation: options.ConversationName = "last",
    max_tokens: options.MaxTokens = None,
    limit_tokens: options.LimitTokens = None,
    output_reserve: OutputReserve = None,
    memory: options.Memory = None,
    full: Full = False,
    raw: Raw = False,
    db: options.Db = None,
    json: options.Json = False,
    no_color: options.NoColor = False,
) -> None:
    """Show what the agent would see next, or saw on a call.

    Every part, its tokens and why it is there, and what is forgotten. With --memory it is what would be seen under
    that memory model; nothing is changed.
    """
    with reading(
        db=db, no_color=no_color, max_tokens=max_tokens, limit_tokens=limit_tokens, output_reserve=output_reserve,
        memory=memory,
    ) as session:  # fmt: skip
        found = session.conversation(conversation)
        memory = memory_of(session.resolved, found)
        if raw:
            _show_raw(session, found, memory, as_json=json)
        else:
            _show_picture(session, found, memory, as_json=json, full=full)


def _show_picture(
    session: Session, conversation: Conversation, memory: MemoryModel, *, as_json: bool, full: bool
) -> None:  # fmt: skip
    policy = policy_for(session.resolved, conversation)
    summarizer = None
    if memory == "turns":
        from memcli.cli.summarizers import standing_in

        summarizer = standing_in(settings_for(session.resolved, conversation))
    picture = take(session.store, conversation, policy, memory=memory, summarizer=summarizer)
    if as_json:
        from memcli.cli.output import document
        from memcli.cli.picture_json import picture_json

        session.terminal.write(document(picture_json(picture)))
        return
    from memcli.cli.render.context import ContextView
    from memcli.cli.render.palette import Detail

    detail: Detail = "plain" if session.terminal.is_piped else "full" if full else "brief"
    session.terminal.show(ContextView(picture, detail))


def _show_raw(session: Session, conversation: Conversation, memory: MemoryModel, *, as_json: bool) -> None:
    """Print what a provider would get."""
    from memcli.memory.wire import wire

    policy, request = policy_for(session.resolved, conversation), next_request(session.store, conversation)
    context = context_under(memory, session.store, conversation, policy, request)
    messages = wire(context)
    if as_json:
        from memcli.cli.output import document
        from memcli.cli.picture_json import raw_json

        session.terminal.write(document(raw_json(context, messages)))
        return
    from memcli.cli.render.raw import raw_text

    for message in messages:
        session.terminal.show(raw_text(message))
