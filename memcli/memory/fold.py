"""The compaction protocol, one implementation for both memory models: a span becomes a summary, or nothing changes.

    snapshot (head, span) → call the summarizer, no transaction open → validate → head unchanged? commit : discard

A long backlog is folded in bounded chunks, oldest first, each committed, so that the request always fits the summarizer's
window and progress survives a failure. Only what the summarizer was shown is covered. It refuses to know when to fold
(`running`, `turns`) and which model writes.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from memcli.errors import HeadMoved, MemcliError, ModelUnreachable
from memcli.memory.context import Policy, text_tokens
from memcli.memory.facts import extract_values, fidelity, select_values
from memcli.memory.prompts import PROMPT_VERSION, Prompt, render_values, summary_prompt, transcript_lines
from memcli.memory.reasoning import without_reasoning
from memcli.memory.summarizer import Completion, Summarizer, request_tokens
from memcli.memory.tokens import estimate_tokens
from memcli.memory.verdict import reject
from memcli.records import NewSummary, StoredMessage, Summary, SummaryKind
from memcli.store import Store

FoldStatus = Literal["compacted", "nothing", "proposed", "rejected", "failed", "locked", "undone"]

CHUNK_TOKENS = 6000
"""The most history one request carries, however large the summarizer's window: it bounds the cost of one failure."""
ATTEMPTS = 2
"""A summary that is rejected is asked for once more."""
LEAST_TOKENS = 20
"""A shorter span is not worth a summary."""
BREAKER_ATTEMPTS = 6
"""Failed attempts in a row after which automatic folds stop asking the model for a while."""
BREAKER_BASE = timedelta(minutes=1)
BREAKER_LONGEST = timedelta(hours=1)


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


@dataclass(slots=True)
class _Progress:
    """What a fold has done so far."""

    first_message_id: int | None = None
    summary: Summary | None = None
    tokens_before: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    reasons: list[str] = field(default_factory=list)

    def result(self, task: Task, status: FoldStatus, error: str | None) -> FoldResult:
        last = self.summary
        return FoldResult(
            task.conversation_id, status, last, self.first_message_id if last else None,
            last.last_message_id if last else None, self.tokens_before, last.tokens if last else 0,
            self.input_tokens, self.output_tokens, self.calls, error,
        )  # fmt: skip


def fold(task: Task) -> FoldResult:
    """Fold everything that is not covered yet, chunk by chunk.

    The result's status: `compacted`; `nothing` (said why in `error`); `rejected` when no acceptable summary came back and
    `failed` when the model did not answer, with whatever chunks were committed before. Raises ModelUnreachable when the
    model cannot be reached at all, and Interrupted or StoreLocked as they come; the store is consistent in every case.
    """
    progress = _Progress()
    while True:
        head = task.store.summaries.head(task.conversation_id, task.kind)
        chunk = next_chunk(task, head)
        replaced = (head.tokens if head else 0) + sum(message.tokens for message in chunk)
        if not chunk or replaced - (head.tokens if head else 0) < LEAST_TOKENS:
            return _finished(task, progress, chunk)
        try:
            summary = _fold_chunk(task, head, chunk, replaced, progress)
        except HeadMoved as err:
            return progress.result(task, "compacted" if progress.summary else "nothing", err.message)
        except _Rejected as err:
            return progress.result(task, err.status, err.message)
        progress.summary = summary
        progress.first_message_id = progress.first_message_id or chunk[0].id
        progress.tokens_before += replaced


def next_chunk(task: Task, head: Summary | None) -> list[StoredMessage]:
    """Take the oldest uncovered messages that fit one request; [] when all are covered.

    A unit (calls and their results) is not cut unless it alone is larger than a chunk. At least one message is taken.
    """
    budget = chunk_budget(task.policy, task.summarizer, head)
    after = head.last_message_id if head else 0
    chunk: list[StoredMessage] = []
    used, last_whole = 0, 0
    for message in task.store.messages.oldest_first(task.conversation_id, after=after, up_to=task.up_to):
        if message.is_excluded:
            continue
        if message.role != "tool":
            last_whole = len(chunk)
        used += _shown_tokens(message)
        if chunk and used > budget:
            return chunk[: last_whole or len(chunk)]
        chunk.append(message)
    return chunk


def chunk_budget(policy: Policy, summarizer: Summarizer, head: Summary | None) -> int:
    """Tell how many tokens of history one request can carry beside the prompt, the old summary and the answer."""
    bare = request_tokens(summary_prompt(head.text if head else None, (), max_tokens=policy.summary_tokens, instructions=None))
    return max(64, min(CHUNK_TOKENS, summarizer.window_tokens - bare - 2 * policy.summary_tokens))


def breaker_opens_until(store: Store, conversation_id: str) -> datetime | None:
    """Tell until when automatic folds leave the model alone, after it failed too often in a row; None when closed."""
    failures = 0
    newest: datetime | None = None
    for call in store.calls.newest_first(conversation_id, purpose="compaction", limit=4 * BREAKER_ATTEMPTS):
        if call.status not in ("failed", "rejected"):
            break
        failures += 1
        newest = newest or call.started_at
    if newest is None or failures < BREAKER_ATTEMPTS:
        return None
    wait = min(BREAKER_LONGEST, BREAKER_BASE * 2 ** ((failures - BREAKER_ATTEMPTS) // ATTEMPTS))
    until = newest + wait
    return until if until > datetime.now(UTC) else None


class _Rejected(Exception):
    def __init__(self, status: Literal["rejected", "failed"], message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def _finished(task: Task, progress: _Progress, rest: Sequence[StoredMessage]) -> FoldResult:
    if progress.summary is not None:
        return progress.result(task, "compacted", None)
    why = "everything is covered already" if not rest else f"{len(rest)} short messages are not worth a summary yet"
    return progress.result(task, "nothing", why)


def _fold_chunk(
    task: Task, head: Summary | None, chunk: Sequence[StoredMessage], replaced: int, progress: _Progress
) -> Summary:
    cap = min(task.policy.summary_tokens, max(replaced - 1, 1))
    prompt = summary_prompt(head.text if head else None, chunk, max_tokens=cap, instructions=task.instructions)
    input_hash = _input_hash(task, head, prompt)
    made = task.store.summaries.by_input(task.conversation_id, input_hash)
    if made is not None and made.kind == task.kind:
        expected = head.id if head else None
        task.store.summaries.move_head(task.conversation_id, task.kind, made.id, expected_head=expected)
        return replace(made, in_force=True)
    text, completion = _ask(task, prompt, replaced, progress)
    new = _new_summary(task, head, chunk, text, completion, input_hash)
    with task.store.transaction(durable=True):
        return task.store.summaries.commit(task.conversation_id, new, expected_head=head.id if head else None)


def _ask(task: Task, prompt: Prompt, replaced: int, progress: _Progress) -> tuple[str, Completion]:
    """Ask until a summary is accepted, at most ATTEMPTS times; every attempt is recorded."""
    source = (prompt.previous or "") + "\n" + "\n".join(transcript_lines(prompt.messages))
    reason: tuple[Literal["rejected", "failed"], str] = ("failed", "")
    for _ in range(ATTEMPTS):
        estimated = request_tokens(prompt)
        call = task.store.calls.begin(
            task.conversation_id, turn_id=None, purpose="compaction", model=task.summarizer.label,
            limit_tokens=task.summarizer.window_tokens, parts=(), estimated_tokens=estimated,
        )  # fmt: skip
        started = time.monotonic()

        def record(status: str, completion: Completion | None, error: str | None, call: int = call, started: float = started) -> None:
            task.store.calls.finish(
                task.conversation_id, call, status=status, error=error,  # type: ignore[arg-type]
                input_tokens=completion.input_tokens if completion else None,
                output_tokens=completion.output_tokens if completion else None,
                duration_ms=int((time.monotonic() - started) * 1000),
            )  # fmt: skip

        try:
            completion = task.summarizer.complete(prompt)
        except ModelUnreachable as err:
            record("failed", None, err.message)
            raise
        except KeyboardInterrupt:
            record("interrupted", None, "interrupted")
            raise
        except Exception as err:  # noqa: BLE001 - a summarizer is anybody's code; whatever it raises is a failed attempt
            reason = ("failed", err.message if isinstance(err, MemcliError) else f"{type(err).__name__}: {err}")
            record("failed", None, reason[1])
            continue
        progress.calls += 1 if completion.input_tokens or completion.output_tokens else 0
        progress.input_tokens += completion.input_tokens
        progress.output_tokens += completion.output_tokens
        text = without_reasoning(completion.text)
        error = reject(completion, text, max_tokens=prompt.max_tokens, replaced_tokens=replaced, source=source)
        record("rejected" if error else "done", completion, error)
        if error is None:
            return text, completion
        reason = ("rejected", error)
    raise _Rejected(*reason)


def _new_summary(
    task: Task, head: Summary | None, chunk: Sequence[StoredMessage], text: str, completion: Completion, input_hash: str
) -> NewSummary:
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
    spoken = [(message.id, message.role, _value_text(message)) for message in chunk]
    values = select_values(spoken, max_tokens=task.policy.values_tokens, previous=head.values if head else ())
    said = [value for _, _, words in spoken for value in extract_values(words)]
    return NewSummary(
        kind=task.kind,
        parent_id=head.id if head else None,
        first_message_id=head.first_message_id if head else 1,
        last_message_id=chunk[-1].id,
        text=text,
        values=values,
        fidelity=fidelity(said, text, values),
        tokens=text_tokens(text) + (text_tokens(render_values(values)) if values else 0),
        model=task.summarizer.label,
        prompt_version=PROMPT_VERSION,
        input_tokens=completion.input_tokens,
        output_tokens=completion.output_tokens,
        input_hash=input_hash,
        fallback=task.fallback,
        instructions=task.instructions,
    )


def _value_text(message: StoredMessage) -> str:
    calls = "\n".join(line for line in transcript_lines([message]) if " calls " in line)
    return f"{message.text}\n{calls}" if calls else message.text


def _shown_tokens(message: StoredMessage) -> int:
    return sum(max(text_tokens(line), estimate_tokens(line)) + 1 for line in transcript_lines([message]))


def _input_hash(task: Task, head: Summary | None, prompt: Prompt) -> str:
    pieces: Iterable[str] = (
        PROMPT_VERSION, task.kind, task.summarizer.label, str(head.id if head else 0), prompt.system, prompt.user,
        str(task.policy.values_tokens),
    )  # fmt: skip
    return hashlib.sha256("\0".join(pieces).encode("utf-8", "backslashreplace")).hexdigest()
