"""`memcli context`: what the agent would see next, or saw, part by part, and where every message is.

It refuses to build a context and to draw one: `picture` and `render.context` do. What is asked beside the next call's
picture is answered by `inspect_*`, each loaded when it is asked for.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from memcli.cli import options
from memcli.cli.asked import Asked
from memcli.cli.memories import memory_of
from memcli.cli.outlet import Outlet
from memcli.cli.picture import take
from memcli.cli.policy import policy_for, settings_for
from memcli.cli.session import Session, reading
from memcli.cli.setting_flags import with_settings
from memcli.errors import NotFound
from memcli.records import Conversation, MemoryModel

OutputReserve = Annotated[
    str | None, typer.Option("--output-reserve", metavar="TOKENS", help="Tokens of the limit kept for the answer.")
]
Find = Annotated[str | None, typer.Option("--find", metavar="TEXT", help="Tell where every message that says it is.")]
Word = Annotated[bool, typer.Option("--word", help="With --find: only as a word of its own.")]
Exact = Annotated[bool, typer.Option("--exact", help="With --find: exactly as written, case and all.")]
At = Annotated[str | None, typer.Option("--at", metavar="MESSAGE", help="Go back to when a message was the newest.")]
Call = Annotated[int | None, typer.Option("--call", metavar="N", help="Show what a past call really saw.")]
Calls = Annotated[bool, typer.Option("--calls", help="List the calls that were made, with their numbers.")]
Diff = Annotated[
    tuple[str, str] | None,
    typer.Option("--diff", metavar="A B", help="Show what changed: 3 is a call, m41 a message, next the next call."),
]
Compare = Annotated[
    list[str] | None,
    typer.Option("--compare", metavar="KEY=VALUE", help="Put policies side by side; once for each, commas within one."),
]
Replay = Annotated[bool, typer.Option("--replay", help="Walk the whole conversation under a policy, a row a turn.")]
Raw = Annotated[bool, typer.Option("--raw", help="Print what a provider gets, to the byte in a pipe.")]
Message = Annotated[
    str | None, typer.Option("--message", metavar="TEXT", help="With --raw: what the next call sends if you say this.")
]
Full = Annotated[bool, typer.Option("--full", help="Leave nothing out: every message, every line.")]
Svg = Annotated[str | None, typer.Option("--svg", metavar="FILE", help="Save what would be shown as an SVG image.")]
Html = Annotated[str | None, typer.Option("--html", metavar="FILE", help="Save what would be shown as a web page.")]
Overwrite = Annotated[bool, typer.Option("-y", "--yes", help="Overwrite the file to save to.")]


@with_settings("context")
def context(
    conversation: options.ConversationName = "last",
    find: Find = None,
    word: Word = False,
    exact: Exact = False,
    at: At = None,
    call: Call = None,
    calls: Calls = False,
    diff: Diff = None,
    compare: Compare = None,
    replay: Replay = False,
    raw: Raw = False,
    message: Message = None,
    max_tokens: options.MaxTokens = None,
    limit_tokens: options.LimitTokens = None,
    output_reserve: OutputReserve = None,
    memory: options.Memory = None,
    full: Full = False,
    svg: Svg = None,
    html: Html = None,
    yes: Overwrite = False,
    db: options.Db = None,
    json: options.Json = False,
    no_color: options.NoColor = False,
    **settings: object,
) -> None:
    """Show what the agent would see next, or saw on a call.

    Every part, its tokens and why it is there, and what is forgotten. With --memory it is what would be seen under
    that memory model; nothing is changed. What `memcli config` lists of windows and summaries is a flag here too:
    --window-step 500.
    """
    asked = Asked(find, word, exact, at, call, diff, tuple(compare or ()), replay, calls, raw, message)
    asked.check()
    with reading(
        db=db, no_color=no_color, max_tokens=max_tokens, limit_tokens=limit_tokens, output_reserve=output_reserve,
        memory=memory, more=settings,
    ) as session:  # fmt: skip
        outlet = Outlet(session.terminal, as_json=json, full=full, svg=svg, html=html, overwrite=yes)
        outlet.check(can_save=not raw)
        found = session.conversation(conversation)
        memory = memory_of(session.resolved, found)
        if asked.is_picture:
            _show_picture(session, found, memory, outlet)
        elif asked.calls:
            from memcli.cli.inspect_calls import show_calls

            show_calls(session, found, outlet)
        elif asked.call is not None and asked.find is None and _is_of_a_fold(session, found, asked.call):
            from memcli.cli.inspect_fold_call import show_fold_call

            show_fold_call(session, found, asked.call, asked, outlet)
        else:
            _inspect(session, found, memory, asked, outlet)


def _is_of_a_fold(session: Session, conversation: Conversation, call_id: int) -> bool:
    with suppress(NotFound):  # whoever shows a call says which are there
        return session.store.calls.get(conversation.id, call_id).purpose == "compaction"
    return False


def _show_picture(session: Session, conversation: Conversation, memory: MemoryModel, outlet: Outlet) -> None:
    policy = policy_for(session.resolved, conversation)
    summarizer = None
    if memory == "turns":
        from memcli.cli.summarizers import standing_in

        summarizer = standing_in(settings_for(session.resolved, conversation))
    picture = take(session.store, conversation, policy, memory=memory, summarizer=summarizer)
    if outlet.as_json:
        from memcli.cli.picture_json import picture_json

        outlet.write(picture_json(picture))
        return
    from memcli.cli.render.context import ContextView

    outlet.show(ContextView(picture, outlet.detail), title=f"memcli context {conversation.name or conversation.id}")


def _inspect(
    session: Session, conversation: Conversation, memory: MemoryModel, asked: Asked, outlet: Outlet
) -> None:  # fmt: skip
    """Answer what is asked beside the picture, by the module that knows."""
    if asked.replay:
        from memcli.cli.inspect_replay import show_replay as show
    elif asked.compare:
        from memcli.cli.inspect_compare import show_compare as show
    elif asked.find is not None:
        from memcli.cli.inspect_find import show_find as show
    elif asked.diff is not None:
        from memcli.cli.inspect_diff import show_diff as show
    elif asked.raw:
        from memcli.cli.inspect_raw import show_raw as show
    else:
        from memcli.cli.inspect_moment import show_moment as show
    show(session, conversation, memory, asked, outlet)
