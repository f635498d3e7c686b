"""What `memcli compact` brought about, one outcome a conversation: its status, its exit code, its JSON.

It refuses to know how it is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memcli.errors import CompactionRejected, Interrupted, MemcliError, ModelError, StoreLocked, StoreUnusable
from memcli.memory.fold import FoldResult
from memcli.records import Conversation


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one conversation."""

    conversation: Conversation
    result: FoldResult
    exit_code: int


def attempt(conversation: Conversation, work: Callable[[Conversation], FoldResult], *, is_only: bool) -> Outcome:
    """Do the work on one conversation.

    A model that cannot be reached, a locked store, and with several conversations any error of one of them, become its
    outcome. A store that cannot be used and an interruption end the run.
    """
    try:
        result = work(conversation)
    except (StoreUnusable, Interrupted):
        raise
    except StoreLocked as err:
        return Outcome(conversation, FoldResult(conversation.id, "locked", error=err.message), err.exit_code)
    except MemcliError as err:
        if is_only and not isinstance(err, ModelError):
            raise
        return Outcome(conversation, FoldResult(conversation.id, "failed", error=_whole(err)), err.exit_code)
    failed = result.status in ("rejected", "failed")
    return Outcome(conversation, result, CompactionRejected.exit_code if failed else 0)


def worst_code(outcomes: Sequence[Outcome]) -> int:
    """Take the largest exit code; 0 when everything was done, or there was nothing to do."""
    return max((outcome.exit_code for outcome in outcomes), default=0)


def document_of(outcomes: Sequence[Outcome]) -> Mapping[str, object]:
    """Describe the outcomes as a document, in the order they came about."""
    return {"results": [_json(outcome) for outcome in outcomes]}


def _json(outcome: Outcome) -> Mapping[str, object]:
    result = outcome.result
    return {
        "conversation": result.conversation_id,
        "name": outcome.conversation.name,
        "status": result.status,
        "summary": result.summary.id if result.summary is not None else None,
        "first_message_id": result.first_message_id,
        "last_message_id": result.last_message_id,
        "tokens_before": result.tokens_before,
        "tokens_after": result.tokens_after,
        "input_tokens": result.input_tokens,
        "output_tokens": result.output_tokens,
        "calls": result.calls,
        "turn_summaries": result.turn_summaries,
        "folds": result.folds,
        "summarizer": result.summary.model if result.summary is not None else None,
        "fallback": result.summary.fallback if result.summary is not None else False,
        "error": result.error,
    }


def _whole(err: MemcliError) -> str:
    return f"{err.message}; {err.hint}" if err.hint else err.message
