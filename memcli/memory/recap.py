"""The recap of an ongoing turn's middle: made when the turn alone outgrows its bounds, once, and extended later.

The user's message and the newest unit are never in it, and storage is unchanged. It refuses to know how a context shows
it (`turns`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memcli.memory.asking import Rejected
from memcli.memory.context import Policy, Request
from memcli.memory.fold import FoldResult, shown_tokens
from memcli.memory.in_force import beyond, middle_of, recap_of
from memcli.memory.parts import ongoing_turn
from memcli.memory.prompts import MESSAGE_BODY_TOKENS
from memcli.memory.summarizer import Summarizer
from memcli.memory.turn_prompts import recap_prompt
from memcli.memory.work import Work, body_tokens, new_summary, room_in, smaller_than
from memcli.records import Conversation, StoredMessage
from memcli.store import Store


def prepare(
    store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer, turn_id: int
) -> FoldResult:
    """Recap the ongoing turn's middle when the turn alone is over the window's budget; `nothing` otherwise.

    What came after the last recap counts, so it is made once and reused. Raises ModelUnreachable.
    """
    request = Request(turn_id=turn_id)
    turn = ongoing_turn(store, conversation.id, request)
    recap = recap_of(store, conversation.id, turn)
    shown = sum(message.tokens for message in beyond(turn, recap))
    if shown <= policy.max_tokens or not middle_of(turn, recap):
        return FoldResult(conversation.id, "nothing", error="the ongoing turn is within its bounds")
    work = Work(store, conversation, policy, summarizer, request)
    try:
        recap_middle(work, work.writer(), turn)
    except Rejected as err:
        return work.rejected(err)
    if work.progress.summary is None:
        return work.result("nothing", "another process was faster")
    return work.result("compacted")


def recap_middle(work: Work, writer: Summarizer, turn: Sequence[StoredMessage]) -> None:
    """Recap a turn's middle, as many units at a time as one request carries, each recap standing for the ones before.

    Raises Rejected and ModelUnreachable; what was made before stays.
    """
    while True:
        recap = recap_of(work.store, work.id, turn)
        so_far = recap.text if recap else None
        room = room_in(writer, recap_prompt(so_far, (), max_tokens=work.policy.summary_tokens, body_tokens=0))
        chunk = _chunk(middle_of(turn, recap), room)
        if not chunk:
            return
        replaced = (recap.tokens if recap else 0) + sum(message.tokens for message in chunk)
        cap = min(work.policy.summary_tokens, max(1, replaced - 1))
        fits = sum(map(shown_tokens, chunk)) <= room
        shown = MESSAGE_BODY_TOKENS if fits else body_tokens(room, pieces_of(chunk))
        prompt = recap_prompt(so_far, chunk, max_tokens=cap, body_tokens=shown)
        text, completion = work.ask(writer, prompt, smaller_than(replaced, prompt))
        new = new_summary(work, writer, "recap", recap, (turn[1].id, chunk[-1].id), text, completion, prompt)
        if not work.commit(replace(new, fallback=writer is not work.summarizer), recap, replaced):
            return


def pieces_of(messages: Sequence[StoredMessage]) -> int:
    """Count the texts a request shows of messages: each one's own, and its calls."""
    return len(messages) + sum(len(message.tool_calls) for message in messages)


def _chunk(units: Sequence[Sequence[StoredMessage]], budget: int) -> list[StoredMessage]:
    """Take the oldest units that fit one request, at least one; [] when there are none."""
    chunk: list[StoredMessage] = []
    used = 0
    for unit in units:
        used += sum(map(shown_tokens, unit))
        if chunk and used > budget:
            break
        chunk += unit
    return chunk
