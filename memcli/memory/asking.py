"""Asking for a summary until one is accepted: every attempt is recorded, and failures in a row open a breaker.

It refuses to know what is summarised and where the answer goes; `fold` and `rolling` do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from memcli.errors import MemcliError, ModelUnreachable
from memcli.memory.estimate import FRAME_TOKENS
from memcli.memory.fold_call import references
from memcli.memory.prompts import Prompt, asked_again
from memcli.memory.reasoning import without_reasoning
from memcli.memory.summarizer import Completion, Summarizer
from memcli.memory.tokens import estimate_tokens, text_tokens
from memcli.records import CallStatus
from memcli.store import Store

ATTEMPTS = 2
"""A summary that is rejected is asked for once more, in other words: the same request would give the same answer."""
BREAKER_ATTEMPTS = 6
"""Failed attempts in a row after which automatic folds stop asking the model for a while."""
BREAKER_BASE = timedelta(minutes=1)
BREAKER_LONGEST = timedelta(hours=1)
LONGEST_LOOK_BACK = 100
"""Recorded attempts that are looked at, newest first."""

Judge = Callable[[Completion, str], str | None]
"""Say why a completion, and its text without reasoning, is not acceptable; None when it is."""


@dataclass(slots=True)
class Spending:
    """What the requests of one compaction have cost so far, as the model reported it."""

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0

    def add(self, completion: Completion) -> None:
        """Count one answer; what cost nothing was no request."""
        self.calls += 1 if completion.input_tokens or completion.output_tokens else 0
        self.input_tokens += completion.input_tokens
        self.output_tokens += completion.output_tokens


class Rejected(Exception):
    """Report that no acceptable summary came back: the last reason, and whether the model answered at all."""

    def __init__(self, status: Literal["rejected", "failed"], message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def ask(
    store: Store, conversation_id: str, summarizer: Summarizer, prompt: Prompt, judge: Judge, spending: Spending
) -> tuple[str, Completion]:
    """Ask until an answer is accepted, at most ATTEMPTS times, and return its text without reasoning.

    Raises Rejected after the last attempt and ModelUnreachable at once; Ctrl-C is recorded and passes through.
    """
    last = Rejected("failed", "")
    for _ in range(ATTEMPTS):
        record = _Record(store, conversation_id, summarizer, prompt)
        try:
            completion = summarizer.complete(prompt)
        except ModelUnreachable as err:
            record.end("failed", error=err.message)
            raise
        except KeyboardInterrupt:
            record.end("interrupted", error="interrupted")
            raise
        except Exception as err:  # noqa: BLE001 - a summarizer is anybody's code; whatever it raises is a failed attempt
            last = Rejected("failed", err.message if isinstance(err, MemcliError) else f"{type(err).__name__}: {err}")
            record.end("failed", error=last.message)
            continue
        spending.add(completion)
        text = completion.text.strip() if completion.is_quoted else without_reasoning(completion.text)
        error = judge(completion, text)
        record.end("rejected" if error else "done", completion, error=error)
        if error is None:
            return _storable(text), completion
        last = Rejected("rejected", error)
        is_long = completion.finish_reason == "length" or text_tokens(text) > prompt.max_tokens
        prompt = asked_again(prompt, error, shorter=is_long)
    raise last


def breaker_opens_until(store: Store, conversation_id: str, model: str) -> datetime | None:
    """Tell until when automatic folds leave the model alone, after it failed too often in a row; None when closed.

    Only the model's own attempts count: what a stand-in made in between says nothing about it, an interrupt neither.
    """
    failures = 0
    newest: datetime | None = None
    for call in store.calls.newest_first(conversation_id, purpose="compaction", limit=LONGEST_LOOK_BACK):
        if call.model != model or call.status in ("running", "interrupted"):
            continue
        if call.status == "done":
            break
        failures += 1
        newest = newest or call.started_at
    if newest is None or failures < BREAKER_ATTEMPTS:
        return None
    wait = min(BREAKER_LONGEST, BREAKER_BASE * 2 ** ((failures - BREAKER_ATTEMPTS) // ATTEMPTS))
    until = newest + wait
    return until if until > datetime.now(UTC) else None


class _Record:
    """The record of one attempt."""

    def __init__(self, store: Store, conversation_id: str, summarizer: Summarizer, prompt: Prompt) -> None:
        self._store = store
        self._conversation_id = conversation_id
        self._started = time.monotonic()
        self._id = store.calls.begin(
            conversation_id, turn_id=None, purpose="compaction", model=summarizer.label,
            limit_tokens=summarizer.window_tokens, parts=references(prompt), estimated_tokens=_estimate(prompt),
        )  # fmt: skip

    def end(self, status: CallStatus, completion: Completion | None = None, *, error: str | None = None) -> None:
        self._store.calls.finish(
            self._conversation_id, self._id, status=status, error=error,
            input_tokens=completion.input_tokens if completion else None,
            output_tokens=completion.output_tokens if completion else None,
            duration_ms=int((time.monotonic() - self._started) * 1000),
        )  # fmt: skip


def _estimate(prompt: Prompt) -> int:
    """Estimate the request by script, as chats' prompts are: a model's reported counts are compared with both."""
    return 2 * FRAME_TOKENS + estimate_tokens(prompt.system) + estimate_tokens(prompt.user)


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
