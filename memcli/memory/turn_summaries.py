"""One completed turn becomes a turn summary: three short texts, the turn's exact values, its times and how it ended.

It refuses to know which turns need one (`lacking`) and what becomes of it later (`compaction`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memcli.errors import ModelUnreachable
from memcli.memory.asking import Rejected
from memcli.memory.extract import extractive_turn
from memcli.memory.facts import fidelity, select_values, values_of
from memcli.memory.fold import shown_tokens, value_texts
from memcli.memory.in_force import beyond, recap_of
from memcli.memory.lacking import Lack
from memcli.memory.prompts import MESSAGE_BODY_TOKENS, Prompt
from memcli.memory.recalls import FAILED_NOTE, INTERRUPTED_NOTE, NOT_AVAILABLE, render_turn_summary
from memcli.memory.recap import pieces_of, recap_middle
from memcli.memory.summarizer import EXTRACTIVE, Completion, ExtractiveSummarizer, Summarizer
from memcli.memory.tokens import text_tokens
from memcli.memory.turn_prompts import TurnFields, read_turn, turn_prompt, write_turn
from memcli.memory.work import LEAST_BODY_TOKENS, Work, body_tokens, new_summary, room_in
from memcli.records import NewSummary, StoredMessage

VALUES_SHARE = 4
"""A turn summary carries at most a quarter of what a compaction may, in exact values."""
FRAME_TOKENS = 5
"""What a recall takes as a message of its own beside its text."""


def summarise(work: Work, lack: Lack) -> None:
    """Make one turn's summary; another process that was faster wins.

    Where the model fails the turn's own words stand for it, flagged, until a later round makes it again. Source: the
    design's fallback.
    """
    turn = _messages(work, lack)
    if lack.span.turn.status == "failed" or not turn:
        fields = TurnFields(extractive_turn(turn)[0] or NOT_AVAILABLE, FAILED_NOTE, NOT_AVAILABLE)
        prompt = turn_prompt(turn, body_tokens=LEAST_BODY_TOKENS)
        _store(work, lack, turn, fields, Completion("", 0, 0, "stop"), prompt, ExtractiveSummarizer())
        return
    stands_in, writer = work.stands_in(), work.writer()
    if lack.previous is not None and lack.previous.fallback and stands_in:
        return
    is_fallback = stands_in
    prompt = turn_prompt(turn, body_tokens=LEAST_BODY_TOKENS)
    completion = Completion("", 0, 0, "stop")
    try:
        prompt = _prompt(work, writer, turn)
        fields, completion = _ask(work, writer, prompt)
    except (Rejected, ModelUnreachable) as err:
        work.failure = err.message
        work.unreachable = err if isinstance(err, ModelUnreachable) else work.unreachable
        if lack.previous is not None and lack.previous.fallback:
            return
        is_fallback, fields = True, _verbatim(turn)
    if lack.span.turn.status == "interrupted":
        actions = "" if fields.actions == NOT_AVAILABLE else f" {fields.actions}"
        fields = replace(fields, actions=f"{INTERRUPTED_NOTE}{actions}")
    _store(work, lack, turn, fields, completion, prompt, writer, is_fallback=is_fallback)


def _messages(work: Work, lack: Lack) -> list[StoredMessage]:
    """Read what a turn's summary is made of: a failed turn's rows count here, though in no context."""
    is_failed = lack.span.turn.status == "failed"
    turn = work.store.messages.of_turn(work.id, lack.span.turn.id, excluded=is_failed)
    return [message for message in turn if message.role != "system" or message.id != 1]


def _prompt(work: Work, writer: Summarizer, turn: Sequence[StoredMessage]) -> Prompt:
    """Ask for a turn that fits one request, its middle as a recap where it alone does not."""
    room = room_in(writer, turn_prompt((), body_tokens=0))
    if writer.label == EXTRACTIVE or sum(map(shown_tokens, turn)) <= room:
        return turn_prompt(turn, body_tokens=MESSAGE_BODY_TOKENS)
    recap_middle(work, writer, turn)
    recap = recap_of(work.store, work.id, turn)
    shown, so_far = beyond(turn, recap), recap.text if recap else None
    room = room_in(writer, turn_prompt((), body_tokens=0, so_far=so_far))
    return turn_prompt(shown, body_tokens=body_tokens(room, pieces_of(shown)), so_far=so_far)


def _ask(work: Work, writer: Summarizer, prompt: Prompt) -> tuple[TurnFields, Completion]:
    """Ask for the fields. Raises Rejected, and ModelUnreachable at once where it was before."""
    if work.unreachable is not None and writer is work.summarizer:
        raise work.unreachable
    text, completion = work.ask(writer, prompt, _judge)
    fields = read_turn(text)
    assert fields is not None
    return fields, completion


def _judge(completion: Completion, text: str) -> str | None:
    if completion.asked_for_tools:
        return "the model asked for a tool instead of summarising"
    if completion.finish_reason == "length":
        return "the turn summary was cut off before its end"
    return None if read_turn(text) else "the answer is not a turn summary within its bounds"


def _store(
    work: Work, lack: Lack, turn: Sequence[StoredMessage], fields: TurnFields, completion: Completion, prompt: Prompt,
    writer: Summarizer, *, is_fallback: bool = False,
) -> None:  # fmt: skip
    span = (lack.span.first_message_id, lack.span.last_message_id)
    new = new_summary(work, writer, "turn", lack.previous, span, write_turn(fields), completion, prompt)
    new = _with_values(work, replace(new, details=_details(lack, turn, fields), fallback=is_fallback), turn)
    new = replace(new, tokens=text_tokens(render_turn_summary(new)) + FRAME_TOKENS)
    work.commit(new, lack.previous, sum(message.tokens for message in turn))


def _with_values(work: Work, new: NewSummary, turn: Sequence[StoredMessage]) -> NewSummary:
    spoken = value_texts(turn)
    cap = work.policy.values_tokens // VALUES_SHARE
    values = tuple(value for value in select_values(spoken, max_tokens=cap) if value not in new.text)
    found = values_of([words for _, _, words in spoken])
    return replace(new, values=values, fidelity=fidelity(found, new.text, values))


def _details(lack: Lack, turn: Sequence[StoredMessage], fields: TurnFields) -> dict[str, object]:
    times = [lack.span.turn.ended_at, *(message.created_at for message in turn)]
    known = [moment for moment in times if moment is not None] or [lack.span.turn.started_at]
    return {
        "user": fields.user,
        "actions": fields.actions,
        "response": fields.response,
        "started_at": min(known).isoformat(),
        "ended_at": max(known).isoformat(),
        "status": lack.span.turn.status,
    }


def _verbatim(turn: Sequence[StoredMessage]) -> TurnFields:
    """Take the turn's words as they are. Source: the design's fallback where a model cannot summarise."""
    said = next((message.text for message in turn if message.role == "human"), NOT_AVAILABLE)
    answers = (message.text for message in reversed(turn) if message.role == "ai" and message.text)
    return TurnFields(said, NOT_AVAILABLE, next(answers, NOT_AVAILABLE))
