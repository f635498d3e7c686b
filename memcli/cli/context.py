"""`memcli context`: what the agent would see next, part by part, and where every message is.

It refuses to build a context and to draw one: `picture` and `render.context` do.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memcli.cli import options
from memcli.cli.memories import memory_of
from memcli.cli.output import document
from memcli.cli.picture import take
from memcli.cli.picture_json import picture_json
from memcli.cli.policy import policy_for
from memcli.cli.session import reading

OutputReserve = Annotated[
    str | None, typer.Option("--output-reserve", metavar="TOKENS", help="Tokens of the limit kept for the answer.")
]
Full = Annotated[bool, typer.Option("--full", help="Leave nothing out: every message, every line.")]


def context(
    conversation: options.ConversationName = "last",
    max_tokens: options.MaxTokens = None,
    limit_tokens: options.LimitTokens = None,
    output_reserve: OutputReserve = None,
    memory: options.Memory = None,
    full: Full = False,
    db: options.Db = None,
    json: options.Json = False,
    no_color: options.NoColor = False,
) -> None:
    """Show what the agent would see next, or saw on a call.

    Every part, its tokens and why it is there, and what is forgotten.
    """
    with reading(
        db=db, no_color=no_color, max_tokens=max_tokens, limit_tokens=limit_tokens, output_reserve=output_reserve,
        memory=memory,
    ) as session:  # fmt: skip
        found = session.conversation(conversation)
        memory_of(session.resolved, found)
        picture = take(session.store, found, policy_for(session.resolved, found))
        if json:
            session.terminal.write(document(picture_json(picture)))
            return
        from memcli.cli.render.context import ContextView
        from memcli.cli.render.palette import Detail

        detail: Detail = "plain" if session.terminal.is_piped else "full" if full else "brief"
        session.terminal.show(ContextView(picture, detail))
