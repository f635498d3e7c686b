"""`memcli chat`: talk to a model, once or in the REPL. It refuses to know how either is done."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from memcli.cli import options
from memcli.cli.memories import asked_memory
from memcli.cli.partner import Wanted
from memcli.cli.render.words import called
from memcli.cli.session import Session, writing
from memcli.cli.setting_flags import with_settings
from memcli.cli.talk import Talk, checked_name
from memcli.errors import UsageError

Message = Annotated[str | None, typer.Argument(metavar="MESSAGE", help="What to say; without it, the REPL.")]
Reference = Annotated[
    str | None,
    typer.Option("-c", "--conversation", metavar="CONVERSATION", help="Continue one: an id, a name, or `last`."),
]
GoOn = Annotated[bool, typer.Option("-C", "--continue", help="Continue the last conversation.")]
Name = Annotated[str | None, typer.Option("--name", metavar="NAME", help="A name for the conversation.")]
System = Annotated[str | None, typer.Option("--system", "--system-prompt", metavar="TEXT", help="The system prompt.")]
Tools = Annotated[
    list[str] | None,
    typer.Option("--tools", metavar="MODULE:NAME", help="Your own LangChain tools; may be given again."),
]
WithoutTools = Annotated[bool, typer.Option("--no-tools", help="No tools at all.")]
Delegate = Annotated[
    bool | None, typer.Option("--delegate/--no-delegate", help="A tool that gives tasks to sub-agents.")
]
AgentReference = Annotated[
    str | None, typer.Option("--agent", metavar="MODULE:GET_CONFIG", help="An agent of your own, by its configuration.")
]
WhoSummarises = Annotated[
    Literal["model", "extractive"] | None,
    typer.Option("--summarizer", help="A model, or the extractive summarizer, which costs no call."),
]


@with_settings("chat")
def chat(
    message: Message = None,
    conversation: Reference = None,
    go_on: GoOn = False,
    name: Name = None,
    system_prompt: System = None,
    memory: options.Memory = None,
    max_tokens: options.MaxTokens = None,
    limit_tokens: options.LimitTokens = None,
    summarizer: WhoSummarises = None,
    tools: Tools = None,
    no_tools: WithoutTools = False,
    delegate: Delegate = None,
    agent: AgentReference = None,
    model: options.Model = None,
    db: options.Db = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    **settings: object,
) -> None:
    """Talk to a model; with a message or piped text, one turn and out.

    The message is the instruction, piped text its context. A new conversation begins unless one is continued. Every
    setting that `memcli config` lists is a flag here too: --compact-every 5, --no-compact-on-overflow.
    """
    wanted = Wanted(name, system_prompt, tuple(tools or ()), no_tools, agent)
    _check(wanted, conversation, go_on=go_on)
    with writing(
        db=db, quiet=quiet, no_color=no_color, memory=memory, max_tokens=max_tokens, limit_tokens=limit_tokens,
        summarizer=summarizer, delegate=delegate, model=model, more=settings,
    ) as session:  # fmt: skip
        if message is None and sys.stdin is not None and sys.stdin.isatty():
            _check_terminal(session, as_json=json)
            from memcli.cli.repl.start import start

            raise typer.Exit(start(_talk(session, wanted, conversation or ("last" if go_on else None))))
        from memcli.cli.oneshot import one_turn, piped_text, said

        text = said(message, piped_text())
        one_turn(_talk(session, wanted, conversation or ("last" if go_on else None)), text, as_json=json)


def _check(wanted: Wanted, conversation: str | None, *, go_on: bool) -> None:
    if conversation is not None and go_on:
        raise UsageError("-c and -C exclude one another", "-C continues the last conversation, -c another one")
    if wanted.tools and wanted.without_tools:
        raise UsageError("--tools and --no-tools exclude one another", "leave one of them out")


def _check_terminal(session: Session, *, as_json: bool) -> None:
    if as_json:
        raise UsageError("--json needs a message", 'run `memcli chat --json "your question"`')
    if session.terminal.is_piped:
        raise UsageError("the REPL needs a terminal, and standard output is none", 'pass a message: `memcli chat "…"`')


def _talk(session: Session, wanted: Wanted, reference: str | None) -> Talk:
    """Find the conversation to continue, and apply what the command line changes in it."""
    if wanted.name is not None:
        checked_name(session.store, wanted.name)
    talk = Talk(session, wanted, session.conversation(reference).id if reference is not None else None)
    _check_memory(session, talk)
    if talk.conversation_id is not None:
        if wanted.name is not None:
            session.store.conversations.rename(talk.conversation_id, wanted.name)
        if wanted.system is not None:
            session.store.conversations.set_system_prompt(talk.conversation_id, wanted.system or None)
        _keep_under(session, talk)
    return talk


def _check_memory(session: Session, talk: Talk) -> None:
    """Refuse Model B for an agent of the seed design: it builds its own context, and that is Model A's."""
    memory = asked_memory(session.resolved) or talk.memory
    if talk.wanted.agent is not None and memory == "turns":
        raise UsageError(
            "an agent of your own is kept under memory window", "leave --agent out, or pass --memory window"
        )


def _keep_under(session: Session, talk: Talk) -> None:
    """Put the conversation under the memory model that --memory names, and say so with the way back."""
    asked, conversation = asked_memory(session.resolved), talk.conversation
    if asked is None or conversation is None or not (said := talk.keep_under(asked)):
        return
    name = called(conversation)
    session.terminal.note(f"{name} is {said}; `memcli chat -c {name} --memory {conversation.memory}` goes back")
