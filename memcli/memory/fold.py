"""The compaction protocol: a span becomes a summary, or nothing changes.

    snapshot (head, span) → call the summarizer, no transaction open → validate → head unchanged? commit : discard

A long backlog is folded in bounded chunks, oldest first, each committed: a request always fits the summarizer's window
and progress survives a failure. Only what the summarizer was shown is covered. It refuses to know when to fold
(`running`, `rolling`) and which model writes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from memcli.errors import HeadMoved
from memcli.memory.asking import Rejected, Spending, ask
from memcli.memory.context import Policy
from memcli.memory.facts import fidelity, select_values, values_of
from memcli.memory.prompts import PROMPT_VERSION, Prompt, render_values, summary_prompt, transcript_lines
from memcli.memory.summarizer import Completion, Summarizer, request_tokens
from memcli.memory.tokens import estimate_tokens, text_tokens
from memcli.memory.verdict import reject
from memcli.records import NewSummary, StoredMessage, Summary, SummaryKind, SummaryState
from memcli.store import Store

FoldStatus = Literal["compacted", "nothing", "proposed", "rejected", "failed", "locked", "undone", "discarded"]

CHUNK_TOKENS = 6000
"""The most history one request carries, however large the summarizer's window: it bounds the cost of one failure."""
LEAST_CHUNK_TOKENS = 64
EXCLUDED = "excluded"
"""A proposal's detail: the messages up to its last that stood outside every context when it was made."""
LEAST_TOKENS = 20
"""A shorter span is not worth a summary."""


@dataclass(frozen=True, slots=True)
class FoldResult:
    """What became of a compaction."""

    conversation_id: str
    status: FoldStatus
    summary: Summary | None = None
    """The summary now in force, when one was made."""
    first_message_id: int | None = None
    """The span that was folded, or would be."""
    last_message_id: int | None = None
    tokens_before: int = 0
    """What the folded messages and the previous summary took."""
    tokens_after: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    """Requests to a model; a fold that was reused, or is extractive, made none."""
    error: str | None = None
    """Why it was rejected or failed, or why there was nothing to do."""
    turn_summaries: int = 0
    """Turn summaries made, or to be made; Model B only."""
    folds: int = 0
    """Compactions made of turn summaries, or to be made; Model B only."""


@dataclass(frozen=True, slots=True)
class Task:
    """One compaction to be made: what is folded, onto what, by whom."""

    store: Store
    conversation_id: str
    kind: SummaryKind
    policy: Policy
    summarizer: Summarizer
    up_to: int
    """The last message it may cover."""
    instructions: str | None = None
    fallback: bool = False
    """The summarizer stands in for a model that keeps failing; the summary is flagged."""
    min_fidelity: float | None = None
    """The least share of the span's exact values a summary must keep, 0 to 1; None asks for nothing."""
    state: SummaryState = "made"
    """`proposed` stores what is made without putting it in force."""


@dataclass(slots=True)
class Progress:
    """What a compaction has done so far."""

    spending: Spending = field(default_factory=Spending)
    first_message_id: int | None = None
    summary: Summary | None = None
    """The last one that was committed."""
    tokens_before: int = 0

    def result(self, conversation_id: str, status: FoldStatus, error: str | None = None) -> FoldResult:
        """Say how it ended."""
        last = self.summary
        return FoldResult(
            conversation_id, status, last, self.first_message_id if last else None,
            last.last_message_id if last else None, self.tokens_before, last.tokens if last else 0,
            self.spending.input_tokens, self.spending.output_tokens, self.spending.calls, error,
        )  # fmt: skip


def fold(task: Task) -> FoldResult:
    """Fold everything that is not covered yet, chunk by chunk.

    The result's status: `compacted`; `nothing` (said why in `error`); `rejected` when no acceptable summary came back,
    and `failed` when the model did not answer, with whatever chunks were committed before. Raises ModelUnreachable when
    the model cannot be reached at all, and Interrupted or StoreLocked as they come; the store is then consistent.
    """
    progress = Progress()
    while True:
        head = _head(task, progress)
        chunk = next_chunk(task, head)
        span_tokens = sum(message.tokens for message in chunk)
        if not chunk or span_tokens < LEAST_TOKENS:
            return _finished(task, progress, chunk)
        try:
            summary = _fold_chunk(task, head, chunk, (head.tokens if head else 0) + span_tokens, progress.spending)
        except HeadMoved as err:
            return progress.result(task.conversation_id, _done(task) if progress.summary else "nothing", err.message)
        except Rejected as err:
            return progress.result(task.conversation_id, err.status, err.message)
        if progress.summary is None and head is not None:
            progress.tokens_before += head.tokens
        progress.summary = summary
        progress.first_message_id = progress.first_message_id or chunk[0].id
        progress.tokens_before += span_tokens


def next_chunk(task: Task, head: Summary | None) -> list[StoredMessage]:
    """Take the oldest uncovered messages that fit one request; [] when all are covered.

    A unit (calls and their results) is not cut unless it alone is larger than a chunk. At least one message is taken;
    one that is larger is shown to the summarizer clipped. A leading system message that stands in every context is left
    out: it is never forgotten, and a summary must not spend itself on it.
    """
    budget = chunk_budget(task.policy, task.summarizer, head, task.instructions)
    after = head.last_message_id if head else int(leads_with_system(task.store, task.conversation_id))
    chunk: list[StoredMessage] = []
    used, last_whole = 0, 0
    for message in task.store.messages.oldest_first(task.conversation_id, after=after, up_to=task.up_to):
        if message.is_excluded:
            continue
        if message.role != "tool":
            last_whole = len(chunk)
        used += shown_tokens(message)
        if chunk and used > budget:
            return chunk[: last_whole or len(chunk)]
        chunk.append(message)
    return chunk


def leads_with_system(store: Store, conversation_id: str) -> bool:
    """Tell whether the first message is the system message of every context."""
    conversation = store.conversations.get(conversation_id)
    return not conversation.system_prompt and store.messages.leading_system(conversation_id) is not None


def chunk_budget(
    policy: Policy, summarizer: Summarizer, head: Summary | None, instructions: str | None = None
) -> int:  # fmt: skip
    """Tell how many tokens of history one request can carry beside the prompt, the old summary and the answer."""
    previous = head.text if head else None
    bare = summary_prompt(previous, (), max_tokens=policy.summary_tokens, instructions=instructions)
    frame = max(request_tokens(bare), estimate_tokens(bare.system + bare.user))
    return max(LEAST_CHUNK_TOKENS, min(CHUNK_TOKENS, summarizer.window_tokens - frame - 2 * policy.summary_tokens))


def shown_tokens(message: StoredMessage) -> int:
    """Count what a message takes in a request: the larger of the budget count and the script-aware estimate."""
    return sum(max(text_tokens(line), estimate_tokens(line)) + 1 for line in transcript_lines([message]))


def value_texts(messages: Sequence[StoredMessage]) -> list[tuple[int, str, str]]:
    """List (id, role, text) of messages for the search for exact values: their calls' arguments are text too."""
    return [(item.id, item.role, "\n".join(filter(None, (item.text, *_call_lines(item))))) for item in messages]


def input_hash(kind: SummaryKind, summarizer: Summarizer, parent: int | None, prompt: Prompt, policy: Policy) -> str:
    """Hash everything a summary depends on: equal hashes mean it need not be made again."""
    pieces = (
        PROMPT_VERSION, kind, summarizer.label, str(parent or 0), prompt.system, prompt.user, str(policy.values_tokens)
    )  # fmt: skip
    return hashlib.sha256("\0".join(pieces).encode("utf-8", "backslashreplace")).hexdigest()


def below(share: float | None, least: float | None, of: int) -> str | None:
    """Say that too few exact values survive, with the numbers; None when enough do, or nothing is asked for."""
    if share is None or least is None or share >= least:
        return None
    return f"fidelity {share:.0%} is below {least:.0%}: {round(share * of)} of {of} exact values survive"


def _head(task: Task, progress: Progress) -> Summary | None:
    if task.state == "proposed" and progress.summary is not None:
        return progress.summary
    return task.store.summaries.head(task.conversation_id, task.kind)


def _done(task: Task) -> FoldStatus:
    return "proposed" if task.state == "proposed" else "compacted"


def _finished(task: Task, progress: Progress, rest: Sequence[StoredMessage]) -> FoldResult:
    if progress.summary is not None:
        return progress.result(task.conversation_id, _done(task))
    why = "everything is covered already" if not rest else f"{len(rest)} short messages are not worth a summary yet"
    return progress.result(task.conversation_id, "nothing", why)


def _fold_chunk(
    task: Task, head: Summary | None, chunk: Sequence[StoredMessage], replaced: int, spending: Spending
) -> Summary:
    cap = min(task.policy.summary_tokens, max(replaced - 1, 1))
    prompt = summary_prompt(
        head.text if head else None, chunk, max_tokens=cap, instructions=task.instructions,
        body_tokens=chunk_budget(task.policy, task.summarizer, head, task.instructions),
    )  # fmt: skip
    expected = head.id if head else None
    digest = input_hash(task.kind, task.summarizer, expected, prompt, task.policy)
    made = task.store.summaries.by_input(task.conversation_id, digest)
    is_same = made is not None and made.kind == task.kind and made.state != "discarded"
    if made is not None and is_same and not below(made.fidelity, task.min_fidelity, 0):
        return _reused(task, made, expected)
    source = f"{prompt.previous or ''}\n{prompt.user}"
    spoken = value_texts(chunk)
    found = values_of([words for _, _, words in spoken])
    values = select_values(spoken, max_tokens=task.policy.values_tokens, previous=head.values if head else ())

    def judge(completion: Completion, text: str) -> str | None:
        error = reject(completion, text, max_tokens=cap, replaced_tokens=replaced, source=source)
        return error or below(fidelity(found, text, values), task.min_fidelity, len(found))

    text, completion = ask(task.store, task.conversation_id, task.summarizer, prompt, judge, spending)
    new = _new_summary(task, head, chunk, text, values, completion, digest)
    new = replace(new, fidelity=fidelity(found, text, values))
    with task.store.transaction(durable=True):
        _expect_counted(task, chunk)
        if task.state == "proposed":
            return task.store.summaries.add(task.conversation_id, new)
        return task.store.summaries.commit(task.conversation_id, new, expected_head=expected)


def _expect_counted(task: Task, chunk: Sequence[StoredMessage]) -> None:
    """Raise HeadMoved when a message of the span was taken back while the summarizer wrote about it."""
    excluded = task.store.messages.excluded_ids(task.conversation_id, up_to=chunk[-1].id)
    if not {message.id for message in chunk}.isdisjoint(excluded):
        raise HeadMoved("a turn of the span was taken back meanwhile")


def _reused(task: Task, made: Summary, expected: int | None) -> Summary:
    """Take a summary of the same input that is there already: undone before, or proposed."""
    if task.state == "proposed":
        return made
    with task.store.transaction(durable=True):
        task.store.summaries.set_state(task.conversation_id, made.id, "made")
        task.store.summaries.move_head(task.conversation_id, task.kind, made.id, expected_head=expected)
    return replace(made, in_force=True, state="made")


def _new_summary(
    task: Task, head: Summary | None, chunk: Sequence[StoredMessage], text: str, values: tuple[str, ...],
    completion: Completion, digest: str,
) -> NewSummary:  # fmt: skip
    up_to = chunk[-1].id
    excluded = task.store.messages.excluded_ids(task.conversation_id, up_to=up_to) if task.state == "proposed" else []
    return NewSummary(
        kind=task.kind,
        parent_id=head.id if head else None,
        first_message_id=head.first_message_id if head else 1,
        last_message_id=up_to,
        text=text,
        values=values,
        fidelity=None,
        tokens=text_tokens(text) + (text_tokens(render_values(values)) if values else 0),
        model=task.summarizer.label,
        prompt_version=PROMPT_VERSION,
        input_tokens=completion.input_tokens,
        output_tokens=completion.output_tokens,
        input_hash=digest,
        fallback=task.fallback,
        instructions=task.instructions,
        state=task.state,
        details={EXCLUDED: excluded} if task.state == "proposed" else {},
    )


def _call_lines(message: StoredMessage) -> list[str]:
    return [
        f"{call.name} {json.dumps(dict(call.args), ensure_ascii=False, default=str)}" for call in message.tool_calls
    ]
