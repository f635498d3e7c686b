"""What a compaction would do, worked out without calling a model: the span, the requests, and what they would carry.

It refuses to change anything: `running.settle` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from memcli.memory.context import Policy
from memcli.memory.fold import LEAST_TOKENS, FoldResult, Task, next_chunk
from memcli.memory.prompts import summary_prompt
from memcli.memory.running import due
from memcli.memory.summarizer import EXTRACTIVE, Summarizer, request_tokens
from memcli.records import Conversation, StoredMessage, Summary
from memcli.store import Store


def propose(
    store: Store,
    conversation: Conversation,
    policy: Policy,
    summarizer: Summarizer,
    *,
    if_needed: bool,
    instructions: str | None = None,
) -> FoldResult:
    """Say what `settle` with the same arguments would fold. The summarizer is asked for its window, never to write.

    The result's status is `proposed` or `nothing`; `calls` and `input_tokens` are the requests to a model and what they
    would carry, in budget tokens, each taken to succeed at once with a summary as long as it may be.
    """
    what = due(store, conversation, policy)
    if what.last_message_id < what.first_message_id:
        return FoldResult(conversation.id, "nothing", error="everything is covered already")
    if if_needed and what.reason is None:
        return FoldResult(conversation.id, "nothing", error="no fold is due")
    task = Task(store, conversation.id, "running", policy, summarizer, what.last_message_id, instructions)
    head = store.summaries.head(conversation.id, "running")
    before = head.tokens if head else 0
    result = FoldResult(conversation.id, "proposed", tokens_before=before, tokens_after=policy.summary_tokens)
    for earlier, chunk in _chunks(task, head):
        result = _with_chunk(result, task, earlier, chunk)
    if result.first_message_id is None:
        return FoldResult(
            conversation.id, "nothing", error="the uncovered messages are too short to be worth a summary yet"
        )
    return result


def _chunks(task: Task, head: Summary | None) -> Iterator[tuple[Summary | None, list[StoredMessage]]]:
    """Cut the span as a fold would, a summary of the largest size standing for what went before."""
    while chunk := next_chunk(task, head):
        if sum(message.tokens for message in chunk) < LEAST_TOKENS:
            return
        yield head, chunk
        head = _stand_in(task, head, chunk[-1].id)


def _stand_in(task: Task, head: Summary | None, last_message_id: int) -> Summary:
    text = "x" * (4 * task.policy.summary_tokens)
    if head is not None:
        return replace(head, text=text, tokens=task.policy.summary_tokens, last_message_id=last_message_id)
    return Summary(
        kind=task.kind, parent_id=None, first_message_id=1, last_message_id=last_message_id, text=text, values=(),
        fidelity=None, tokens=task.policy.summary_tokens, model=task.summarizer.label, prompt_version="",
        input_tokens=0, output_tokens=0, input_hash="",
    )  # fmt: skip


def _with_chunk(result: FoldResult, task: Task, head: Summary | None, chunk: list[StoredMessage]) -> FoldResult:
    prompt = summary_prompt(
        head.text if head else None, chunk, max_tokens=task.policy.summary_tokens, instructions=task.instructions
    )
    asks = task.summarizer.label != EXTRACTIVE
    return replace(
        result,
        first_message_id=result.first_message_id or chunk[0].id,
        last_message_id=chunk[-1].id,
        tokens_before=result.tokens_before + sum(message.tokens for message in chunk),
        input_tokens=result.input_tokens + (request_tokens(prompt) if asks else 0),
        calls=result.calls + (1 if asks else 0),
    )
