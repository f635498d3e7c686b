"""Summaries that were made and are not in force: put in force, rewritten, or discarded.

A proposal's head does not move until it is applied, and then only if it is still where it was and the messages it
covers are still what it read. A long backlog makes a chain of proposals; what is done to the last is done to all. It
refuses to know how a proposal is made (`running`, `rolling`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memcli.errors import CompactionRejected, HeadMoved, UsageError
from memcli.memory.context import Policy
from memcli.memory.facts import fidelity, values_of
from memcli.memory.fold import EXCLUDED, FoldResult, value_texts
from memcli.memory.heads import parent_of
from memcli.memory.prompts import render_values
from memcli.memory.tokens import text_tokens
from memcli.memory.values import Value
from memcli.records import Conversation, NewSummary, Summary, SummaryKind
from memcli.store import Store

HEADS: tuple[SummaryKind, ...] = ("running", "compaction")
"""The kinds of summary that can be put in force."""


def apply(store: Store, conversation: Conversation, summary_id: int) -> FoldResult:
    """Put a proposal in force, or a summary that was undone. The result's status is `compacted`.

    Applying one that is in force changes nothing. Raises NotFound, UsageError for what is no proposal, and
    CompactionRejected, with nothing changed, when another compaction was made since, or messages it covers were taken
    back or came back.
    """
    summary = store.summaries.get(conversation.id, summary_id)
    if summary.in_force:
        return FoldResult(conversation.id, "nothing", summary, error=f"s{summary_id} is in force already")
    if summary.state != "made" or summary.kind not in HEADS:
        _check_proposal(summary)
    chain = _chain(store, summary)
    base = chain[-1].parent_id
    _check_messages(store, conversation, summary)
    try:
        with store.transaction(durable=True):
            for item in chain:
                store.summaries.set_state(conversation.id, item.id, "made")
            store.summaries.move_head(conversation.id, summary.kind, summary.id, expected_head=base)
    except HeadMoved as err:
        raise CompactionRejected(
            f"s{summary_id} was made on {f's{base}' if base else 'no summary'}, and another is in force now",
            "propose again with `memcli compact --dry-run --propose`",
        ) from err
    first = store.summaries.get(conversation.id, base).last_message_id + 1 if base else summary.first_message_id
    return FoldResult(
        conversation.id, "compacted", store.summaries.get(conversation.id, summary_id), first, summary.last_message_id,
        sum(_replaced(store, item) for item in chain), summary.tokens,
    )  # fmt: skip


def edit(store: Store, conversation: Conversation, policy: Policy, summary_id: int, text: str) -> Summary:
    """Store a proposal with another text in place of this one, which is discarded; its values are scored again.

    The same text gives the same proposal back. Raises NotFound, UsageError for what is no proposal, and
    CompactionRejected, with nothing changed, for a text that is empty, over its cap or no smaller than what it
    replaces.
    """
    summary = store.summaries.get(conversation.id, summary_id)
    _check_proposal(summary)
    said = text.strip()
    if said == summary.text:
        return summary
    _check_text(said, policy, _replaced(store, summary))
    values = text_tokens(render_values(summary.values)) if summary.values else 0
    written = NewSummary(
        kind=summary.kind, parent_id=summary.parent_id, first_message_id=summary.first_message_id,
        last_message_id=summary.last_message_id, text=said, values=summary.values,
        fidelity=fidelity(_values(store, summary), said, summary.values), tokens=text_tokens(said) + values,
        model=summary.model, prompt_version=summary.prompt_version, input_tokens=0, output_tokens=0,
        input_hash=f"edited:{summary.id}:{summary.input_hash}", fallback=summary.fallback,
        instructions=summary.instructions, details={**summary.details, "edited_from": summary.id}, state="proposed",
    )  # fmt: skip
    with store.transaction(durable=True):
        store.summaries.set_state(conversation.id, summary.id, "discarded")
        return store.summaries.add(conversation.id, written)


def discard(store: Store, conversation: Conversation, summary_id: int) -> Summary:
    """Give a proposal up, and those it was built on; their rows stay.

    Raises NotFound, and UsageError for what is no proposal.
    """
    summary = store.summaries.get(conversation.id, summary_id)
    _check_proposal(summary)
    with store.transaction(durable=True):
        for item in _chain(store, summary):
            store.summaries.set_state(conversation.id, item.id, "discarded")
    return replace(summary, state="discarded")


def proposals(store: Store, conversation: Conversation) -> list[Summary]:
    """List the proposals that wait for a decision, the newest first; of a chain only the last."""
    waiting = [item for item in store.summaries.list(conversation.id) if item.state == "proposed"]
    built_on = {item.parent_id for item in waiting}
    return [item for item in reversed(waiting) if item.id not in built_on]


def _check_proposal(summary: Summary) -> None:
    if summary.state != "proposed":
        what = "was discarded" if summary.state == "discarded" else "is no proposal"
        raise UsageError(f"s{summary.id} {what}", "run `memcli summaries` to see which are proposed")


def _chain(store: Store, summary: Summary) -> list[Summary]:
    """Collect a proposal and those it was built on, the newest first."""
    chain = [summary]
    while chain[-1].parent_id is not None:
        parent = store.summaries.get(summary.conversation_id, chain[-1].parent_id)
        if parent.state != "proposed":
            break
        chain.append(parent)
    return chain


def _check_messages(store: Store, conversation: Conversation, summary: Summary) -> None:
    """See that the messages it covers are still those it read. Only their state can have changed."""
    now = store.messages.excluded_ids(conversation.id, up_to=summary.last_message_id)
    then = summary.details.get(EXCLUDED)
    if isinstance(then, list) and then != now:
        changed = ", ".join(f"#{id}" for id in sorted({*then} ^ {*now})[:5])
        raise CompactionRejected(
            f"messages s{summary.id} covers were taken back or came back since: {changed}",
            "propose again with `memcli compact --dry-run --propose`",
        )


def _check_text(text: str, policy: Policy, replaced: int) -> None:
    tokens = text_tokens(text)
    hint = "shorten it, or raise `summary_tokens`"
    if not text:
        raise CompactionRejected("the text is empty", "use --discard to give the proposal up")
    if tokens > policy.summary_tokens:
        raise CompactionRejected(f"the text ({tokens:,} tokens) is over its cap ({policy.summary_tokens:,})", hint)
    if tokens >= replaced:
        raise CompactionRejected(
            f"the text ({tokens:,} tokens) is no smaller than what it replaces ({replaced:,})", hint
        )


def _folded(store: Store, summary: Summary) -> list[Summary]:
    """Read the turn summaries a compaction of Model B folded; [] for a running summary."""
    folds = summary.details.get("folds")
    ids: Sequence[object] = folds if isinstance(folds, list) else ()
    return [store.summaries.get(summary.conversation_id, id) for id in ids if isinstance(id, int)]


def _replaced(store: Store, summary: Summary) -> int:
    """Count what a summary stands in for: its parent, and what it folded."""
    parent = parent_of(store, summary)
    before = parent.tokens if parent else 0
    if summary.kind == "compaction":
        return before + sum(item.tokens for item in _folded(store, summary))
    first = parent.last_message_id + 1 if parent else summary.first_message_id
    return before + store.messages.token_sum(summary.conversation_id, [(first, summary.last_message_id)])


def _values(store: Store, summary: Summary) -> list[Value]:
    """Find the exact values of what it folded."""
    if summary.kind == "compaction":
        return values_of(["\n".join((item.text, *item.values)) for item in _folded(store, summary)])
    parent = parent_of(store, summary)
    after = parent.last_message_id if parent else summary.first_message_id - 1
    span = store.messages.oldest_first(summary.conversation_id, after=after, up_to=summary.last_message_id)
    return values_of([words for _, _, words in value_texts([item for item in span if not item.is_excluded])])
