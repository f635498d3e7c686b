"""`memcli compact`: fold conversations now, say what a fold would do, or take folds back.

It refuses to know how a fold is made (`memory.running` does), who makes it (`summarizers`), and what becomes of a
proposal (`proposals`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

import typer

from memcli.cli import options
from memcli.cli.cleaning import clean_line
from memcli.cli.compactions import Outcome, attempt, document_of, worst_code
from memcli.cli.memories import asked_memory, memory_of, request_of
from memcli.cli.numbers import parse_share, parse_summary_id
from memcli.cli.output import document
from memcli.cli.policy import policy_for, settings_for
from memcli.cli.progress import Progress
from memcli.cli.proposals import Order, decide, decision_of, propose
from memcli.cli.session import Session, reading
from memcli.cli.setting_flags import with_settings
from memcli.cli.summarizers import Summarizers, standing_in
from memcli.errors import Interrupted, UsageError
from memcli.memory import proposal, rolling_proposal
from memcli.memory.fold import FoldResult
from memcli.memory.model import memory_of as model_of
from memcli.memory.summarizer import ExtractiveSummarizer
from memcli.records import Conversation

MOST_STEPS_DIGITS = 3
"""A number this short beside --undo counts compactions; a conversation is never meant by it."""

Work = Callable[[Conversation], FoldResult]

All = Annotated[bool, typer.Option("--all", help="Every conversation of the store.")]
IfNeeded = Annotated[bool, typer.Option("--if-needed", help="Only where a fold is due.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be folded; call no model, change nothing.")]
Propose = Annotated[bool, typer.Option("--propose", help="Make the summary and keep it aside until it is applied.")]
Apply = Annotated[
    int | None, typer.Option("--apply", metavar="ID", parser=parse_summary_id, help="Put a proposal in force.")
]
Edit = Annotated[
    int | None, typer.Option("--edit", metavar="ID", parser=parse_summary_id, help="Edit a proposal in your $EDITOR.")
]
Discard = Annotated[
    int | None, typer.Option("--discard", metavar="ID", parser=parse_summary_id, help="Give a proposal up.")
]
MinFidelity = Annotated[
    float | None,
    typer.Option(
        "--min-fidelity", metavar="SHARE", parser=parse_share,
        help="Reject a summary that keeps a smaller share of the exact values: 0.9 or 90%.",
    ),
]  # fmt: skip
Undo = Annotated[bool, typer.Option("--undo", help="Take back the last compaction, or with a number the last N.")]
Instructions = Annotated[
    str | None, typer.Option("--instructions", metavar="TEXT", help="What the summary is to mind, this time.")
]
WhoSummarises = Annotated[
    Literal["model", "extractive"] | None,
    typer.Option("--summarizer", help="A model, or the extractive summarizer, which costs no call."),
]


@with_settings("compact")
def compact(
    conversations: options.Conversations = None,
    everything: All = False,
    if_needed: IfNeeded = False,
    dry_run: DryRun = False,
    proposing: Propose = False,
    apply: Apply = None,
    edit: Edit = None,
    discard: Discard = None,
    take_back: Undo = False,
    instructions: Instructions = None,
    min_fidelity: MinFidelity = None,
    summarizer: WhoSummarises = None,
    model: options.Model = None,
    max_tokens: options.MaxTokens = None,
    memory: options.Memory = None,
    db: options.Db = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    yes: options.Yes = False,
    no_color: options.NoColor = False,
    **settings: object,
) -> None:
    """Fold old messages into a summary now.

    Under memory `turns` that is a summary for every completed turn, and then a compaction of them. Nothing is deleted:
    the messages stay stored and searchable, and --undo puts the summary before back in force.
    """
    decision = decision_of({"apply": apply, "edit": edit, "discard": discard})
    order = Order(if_needed, instructions, min_fidelity)
    names, steps = _names_and_steps(conversations or [], take_back=take_back)
    is_making = dry_run or proposing or order != Order()
    _check(names, everything=everything, take_back=take_back, is_making=is_making)
    if decision is not None and (is_making or everything or take_back or len(names) > 1):
        raise decision.stands_alone()
    if min_fidelity is not None and dry_run and not proposing:
        raise UsageError("--min-fidelity judges a summary, and --dry-run makes none", "add --propose")
    with reading(  # a store that is not there is an error: there is nothing to fold in a new one
        db=db,
        quiet=quiet,
        no_color=no_color,
        summarizer=summarizer,
        model=model,
        max_tokens=max_tokens,
        memory=memory,
        more=settings,
    ) as session:
        found = _found(session, names, everything=everything)
        if proposing or not dry_run:
            _check_memory(session, found)
        summarizers = Summarizers()
        if decision is not None:
            work = partial(decide, session, decision)
        elif take_back:
            work = partial(_undo, session, steps)
        elif dry_run and not proposing:
            work = partial(_foretell, session, if_needed, instructions)
        else:
            if everything and not if_needed and not yes:
                _ask(session, len(found))
            work = partial(propose if proposing else _settle, session, summarizers, order)
        if decision is not None:  # no progress line: an editor may have the screen
            outcomes = [attempt(item, work, is_only=True) for item in found]
        else:
            outcomes = _run(session, found, work)
        for reason in summarizers.reasons:
            session.terminal.note(f"summaries by {clean_line(reason)}")
        _show(session, outcomes, as_json=json)
    if code := worst_code(outcomes):
        raise typer.Exit(code)


def _check(names: list[str], *, everything: bool, take_back: bool, is_making: bool) -> None:
    if everything and names:
        raise UsageError("--all and named conversations exclude one another", "name conversations, or pass --all alone")
    if take_back and (everything or is_making):
        raise UsageError("--undo takes named conversations and nothing else", "try `memcli compact NAME --undo`")


def _names_and_steps(words: list[str], *, take_back: bool) -> tuple[list[str], int]:
    """Tell a number beside --undo from the names of conversations."""
    numbers = [word for word in words if take_back and len(word) <= MOST_STEPS_DIGITS and word.isdecimal()]
    if len(numbers) > 1 or "0" in numbers:
        raise UsageError(f"--undo {' '.join(numbers)} is no number of compactions", "use --undo, or --undo 2")
    names = list(dict.fromkeys(word for word in words if word not in numbers))
    return names, int(numbers[0]) if numbers else 1


def _found(session: Session, names: list[str], *, everything: bool) -> list[Conversation]:
    """Find every conversation before one is touched."""
    if everything:
        return [] if session.is_fresh else session.store.conversations.list()
    return list({found.id: found for found in map(session.conversation, names or ["last"])}.values())


def _ask(session: Session, number: int) -> None:
    if number < 2 or not session.terminal.can_ask:
        return
    try:
        agreed = typer.confirm(f"fold {number} conversations, due or not?", err=True)
    except typer.Abort:
        raise Interrupted("interrupted") from None
    if not agreed:
        session.terminal.note("nothing was folded; --if-needed folds only what is due")
        raise typer.Exit(0)


def _check_memory(session: Session, found: list[Conversation]) -> None:
    """Refuse to fold under another memory model than a conversation is kept under: its summaries would not be seen."""
    asked = asked_memory(session.resolved)
    for conversation in found:
        if asked is not None and conversation.memory != asked:
            name = conversation.name or conversation.id[:8]
            raise UsageError(
                f"{name} is kept under memory {conversation.memory}, not {asked}",
                f"`memcli chat -c {name} --memory {asked}` changes that; --dry-run only says what would be folded",
            )


def _settle(
    session: Session, summarizers: Summarizers, order: Order, conversation: Conversation
) -> FoldResult:  # fmt: skip
    memory, request = model_of(conversation.memory), request_of(conversation)
    policy = policy_for(session.resolved, conversation)
    what = memory.due(session.store, conversation, policy, request)
    has_rest = what.first_message_id <= what.last_message_id or (memory.name == "turns" and what.humans > 0)
    is_idle = what.reason is None and (order.if_needed or not has_rest)
    summarizer = ExtractiveSummarizer() if is_idle else summarizers.choose(settings_for(session.resolved, conversation))
    return memory.settle(
        session.store, conversation, policy, summarizer, request, if_needed=order.if_needed,
        instructions=order.instructions, min_fidelity=order.min_fidelity,
    )  # fmt: skip


def _foretell(session: Session, if_needed: bool, instructions: str | None, conversation: Conversation) -> FoldResult:
    summarizer = standing_in(settings_for(session.resolved, conversation))
    policy = policy_for(session.resolved, conversation)
    if memory_of(session.resolved, conversation) == "turns":
        return rolling_proposal.propose(
            session.store, conversation, policy, summarizer, request_of(conversation),
            if_needed=if_needed, instructions=instructions,
        )  # fmt: skip
    return proposal.propose(
        session.store, conversation, policy, summarizer, if_needed=if_needed, instructions=instructions
    )  # fmt: skip


def _undo(session: Session, steps: int, conversation: Conversation) -> FoldResult:
    return model_of(conversation.memory).undo(session.store, conversation, steps)


def _run(session: Session, found: list[Conversation], work: Work) -> list[Outcome]:
    """Do the work one by one. With several a failure is an outcome, and the others are still done."""
    outcomes: list[Outcome] = []
    with Progress(session.terminal, len(found)) as progress:
        for conversation in found:
            progress.begin(conversation)
            outcome = attempt(conversation, work, is_only=len(found) == 1)
            progress.end(outcome)
            outcomes.append(outcome)
    return outcomes


def _show(session: Session, outcomes: list[Outcome], *, as_json: bool) -> None:
    if as_json:
        session.terminal.write(document(document_of(outcomes)))
        return
    from memcli.cli.render.compact import compactions_view

    session.terminal.show(compactions_view(outcomes))
