"""Model B's upkeep: a summary for every completed turn, then what the window of summaries cannot hold is folded.

All of it is derived state: what a killed process did not get to is found and made by the next `settle`, in any later
process; running it twice changes nothing. It refuses to know how a context is laid out (`turns`).
"""

from __future__ import annotations

from memcli.errors import HeadMoved
from memcli.memory import compaction
from memcli.memory.asking import Rejected
from memcli.memory.context import Policy, Request
from memcli.memory.due import Due
from memcli.memory.fold import FoldResult
from memcli.memory.in_force import recalls_at
from memcli.memory.lacking import lacking
from memcli.memory.summarizer import Summarizer
from memcli.memory.turn_summaries import summarise
from memcli.memory.turns import summaries_room
from memcli.memory.uncovered import foldable_up_to
from memcli.memory.work import Work
from memcli.records import Conversation
from memcli.store import Store


def due(store: Store, conversation: Conversation, policy: Policy, request: Request) -> Due:
    """Tell whether a turn lacks its summary or the window of summaries is over its bounds."""
    recalls = recalls_at(store, conversation.id, foldable_up_to(store, conversation))
    lack = lacking(store, conversation, recalls)
    reason = None
    if lack:
        turns = "turn has no summary of its own" if len(lack) == 1 else "turns have no summary of their own"
        reason = f"{len(lack)} completed {turns}"
    elif compaction.is_over(
        recalls, policy.max_summaries, summaries_room(store, conversation, policy, request, recalls)
    ):
        reason = f"{len(recalls.summaries)} turn summaries are over the bounds of their window"
    first = lack[0].span.first_message_id if lack else recalls.boundary + 1
    last = lack[-1].span.last_message_id if lack else recalls.boundary
    left = 0 if reason else policy.max_summaries - len(recalls.summaries) + 1
    return Due(reason, len(recalls.summaries), first, last, left)


def settle(
    store: Store,
    conversation: Conversation,
    policy: Policy,
    summarizer: Summarizer,
    request: Request,
    *,
    if_needed: bool = True,
    instructions: str | None = None,
    min_fidelity: float | None = None,
) -> FoldResult:
    """Make the summaries that are missing, then fold what the window cannot hold; all of it with `if_needed` off.

    The ongoing turn is left alone. Running it twice changes nothing. A model that fails leaves a flagged turn summary,
    word for word, that the next settle makes again; a fold that fails, or keeps a smaller share of the exact values
    than `min_fidelity`, leaves everything as it was. Raises ModelUnreachable when a fold is due and nobody answers.
    """
    work = Work(store, conversation, policy, summarizer, request, if_needed, instructions, min_fidelity)
    for lack in lacking(store, conversation, work.recalls()):
        summarise(work, lack)
    try:
        _fold(work)
    except Rejected as err:
        return work.rejected(err)
    except HeadMoved as err:
        return work.result("compacted" if work.progress.summary else "nothing", err.message)
    if work.progress.summary is not None:
        return work.result("compacted", work.failure)
    idle = "every completed turn is summarised already" if if_needed else "there is nothing to fold"
    return work.result("nothing", work.failure or idle)


def propose(
    store: Store,
    conversation: Conversation,
    policy: Policy,
    summarizer: Summarizer,
    *,
    instructions: str | None = None,
    min_fidelity: float | None = None,
) -> FoldResult:
    """Fold the turn summaries there are into a compaction that is stored as a proposal: nothing in force changes.

    As many as one request carries, the oldest first. The result's status is `proposed`, `nothing`, `rejected` or
    `failed`.
    """
    work = Work(
        store, conversation, policy, summarizer, Request(), False, instructions, min_fidelity, "proposed"
    )  # fmt: skip
    chosen = compaction.everything(work)
    if not chosen:
        return work.result("nothing", "there is nothing to fold")
    try:
        compaction.fold(work, chosen)
    except Rejected as err:
        return work.rejected(err)
    return work.result("proposed")


def _fold(work: Work) -> None:
    """Fold until the window holds what there is, or until there is nothing left where everything was asked for."""
    if not work.is_automatic:
        while chosen := compaction.everything(work):
            compaction.fold(work, chosen)
        return
    take = compaction.clear if work.policy.on_full == "clear" else compaction.fold
    while chosen := compaction.overflowing(work):
        take(work, chosen)
