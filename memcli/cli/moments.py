"""The moment a command line asks about, and its picture: an earlier context with the numbers that stand around it.

It refuses to know how a moment is put together again (`memory.travel`) and how it is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile

from memcli.cli.asked import Asked
from memcli.cli.picture import Outside, Picture, next_request
from memcli.cli.policy import policy_for
from memcli.cli.session import Session
from memcli.errors import NotFound, UsageError
from memcli.memory.due import Due
from memcli.memory.estimate import estimate
from memcli.memory.model import memory_of
from memcli.memory.travel import Moment, at_message, of_call, seen
from memcli.records import Conversation, MemoryModel
from memcli.store import Store

MOST_CALLS = 12
"""Calls named where one is not there."""


def moment_of(session: Session, conversation: Conversation, memory: MemoryModel, asked: Asked) -> Moment:
    """Find the moment that is asked about; the next call when none is named.

    Raises NotFound without such a message or call, UsageError for what names none, and ContextOverflow.
    """
    store, policy = session.store, policy_for(session.resolved, conversation)
    request = next_request(store, conversation)
    if asked.call is not None:
        with _naming_calls(store, conversation.id):
            return of_call(store, conversation, asked.call, policy=policy)
    if asked.at is not None:
        id = _message_id(asked.at)
        return at_message(store, conversation, policy, id, request=request, memory=memory)
    context = memory_of(memory).context(store, conversation, policy, request)
    return Moment(context, "next", conversation.last_message_id)


def named_moment(session: Session, conversation: Conversation, reference: str) -> Moment:
    """Find the moment a reference names: `3` a call, `m41` a message, `next`. Raises as moment_of does."""
    policy = policy_for(session.resolved, conversation)
    with _naming_calls(session.store, conversation.id):
        return seen(session.store, conversation, policy, next_request(session.store, conversation), reference)


def picture_of(store: Store, conversation: Conversation, moment: Moment) -> Picture:
    """Gather what stands around an earlier context. It folds nothing: nothing is due."""
    context, ledger = moment.context, moment.context.ledger
    fixed = takewhile(lambda part: part.source != "new", context.parts)
    summary_id = next((part.summary_id for part in fixed if part.source in ("summary", "compaction")), None)
    model = moment.call.model if moment.call is not None else conversation.model
    return Picture(
        conversation=conversation,
        context=context,
        summary=store.summaries.get(conversation.id, summary_id) if summary_id else None,
        outside=Outside(
            summarised=store.messages.token_sum(conversation.id, ledger.summarised),
            forgotten=store.messages.token_sum(conversation.id, ledger.forgotten),
            excluded=_excluded_tokens(store, conversation.id, moment),
        ),
        due=Due(None, 0, 1, 0),
        estimate=estimate(store, context, model),
        reported=moment.call,
    )


@contextmanager
def _naming_calls(store: Store, conversation_id: str) -> Iterator[None]:
    """Let an error about a call that is not there say which are."""
    try:
        yield
    except NotFound as err:
        if not err.message.startswith(("there is no call", "call ")):
            raise
        calls = store.calls.newest_first(conversation_id, purpose="chat", limit=MOST_CALLS)
        ids = ", ".join(str(call.id) for call in reversed(calls))
        hint = f"the last calls are {ids}" if ids else "no call was made; --at MESSAGE rebuilds any moment"
        raise NotFound(err.message, hint) from err


def _excluded_tokens(store: Store, conversation_id: str, moment: Moment) -> int:
    return sum(
        message.tokens
        for first, last in moment.context.ledger.excluded
        for message in store.messages.newest_first(conversation_id, up_to=last, down_to=first, excluded=True)
    )


def _message_id(text: str) -> int:
    """Read a message's id: `41`, `#41` or `m41`. Raises UsageError."""
    digits = text.strip().removeprefix("#").removeprefix("m")
    if not digits.isascii() or not digits.isdigit():
        raise UsageError(f"--at {text!r} is no message's id", "use --at 41; `memcli history` shows the ids")
    return int(digits)
