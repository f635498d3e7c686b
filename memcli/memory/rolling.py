"""Model B's upkeep: a summary for every completed turn, the oldest folded into the compaction, a recap in mid-turn.

All of it is derived state: what a killed process did not get to is found and made by the next `settle`, in any later
process; running it twice changes nothing. It refuses to know how a context is laid out (`turns`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memcli.errors import HeadMoved, ModelUnreachable, NotFound
from memcli.memory.asking import Rejected, ask, breaker_opens_until
from memcli.memory.context import Policy, text_tokens
from memcli.memory.due import Due
from memcli.memory.extract import extractive_turn
from memcli.memory.facts import fidelity, select_values, values_of
from memcli.memory.fold import FoldResult, Progress, chunk_budget, input_hash, value_texts
from memcli.memory.parts import ongoing_turn
from memcli.memory.prompts import PROMPT_VERSION, Prompt, render_values
from memcli.memory.recalls import (
    FAILED_NOTE,
    INTERRUPTED_NOTE,
    NOT_AVAILABLE,
    render_turn_summary,
    turn_summary_of,
)
from memcli.memory.summarizer import Completion, ExtractiveSummarizer, Summarizer
from memcli.memory.turn_prompts import TurnFields, fold_prompt, read_turn, recap_prompt, turn_prompt, write_turn
from memcli.memory.turns import Recalls, is_cleared, middle_of, recalls_at, recap_of
from memcli.memory.verdict import reject
from memcli.records import Conversation, NewSummary, StoredMessage, Summary, TurnSpan
from memcli.store import Store

KEPT_SHARE = 0.5
"""The share of the window of turn summaries that is left when it overflowed: folding in batches keeps the compaction from
being rewritten every turn."""
VALUES_SHARE = 4
"""A turn summary carries at most a quarter of what a compaction may, in exact values."""


@dataclass(frozen=True, slots=True)
class _Work:
    """What a settle works with."""

    store: Store
    conversation: Conversation
    policy: Policy
    summarizer: Summarizer
    progress: Progress
    stands_in: bool
    """The extractive summarizer stands in for a model that keeps failing."""
    instructions: str | None = None

    @property
    def id(self) -> str:
        return self.conversation.id

    def recalls(self) -> Recalls:
        return recalls_at(self.store, self.id, self.conversation.last_message_id)

    def ask(self, prompt: Prompt, replaced: int | None = None) -> tuple[str, Completion]:
        """Ask for a text; `replaced` None asks for a turn's fields."""

        def judge(completion: Completion, text: str) -> str | None:
            if replaced is None:
                return None if read_turn(text) else "the answer is not a turn summary within its bounds"
            source = f"{prompt.previous or ''}\n{prompt.user}"
            return reject(completion, text, max_tokens=prompt.max_tokens, replaced_tokens=replaced, source=source)

        return ask(self.store, self.id, self.summarizer, prompt, judge, self.progress.spending)


def due(store: Store, conversation: Conversation, policy: Policy) -> Due:
    """Tell whether a turn lacks its summary or the window of summaries is over its bounds."""
    recalls = recalls_at(store, conversation.id, conversation.last_message_id)
    lacking = _lacking(store, conversation, recalls)
    reason = None
    if lacking:
        reason = f"{len(lacking)} completed turns have no summary of their own"
    elif _is_over(recalls, policy):
        reason = f"{len(recalls.summaries)} turn summaries are over the bounds of their window"
    first = lacking[0][0].first_message_id if lacking else recalls.boundary + 1
    last = lacking[-1][0].last_message_id if lacking else recalls.boundary
    left = max(0, policy.max_summaries - len(recalls.summaries))
    return Due(reason, len(recalls.summaries), first, last, left)


def settle(
    store: Store,
    conversation: Conversation,
    policy: Policy,
    summarizer: Summarizer,
    *,
    if_needed: bool = True,
    instructions: str | None = None,
) -> FoldResult:
    """Make the summaries that are missing, then fold what the window cannot hold; all of it with `if_needed` off.

    The ongoing turn is left alone. Running it twice changes nothing. A model that fails leaves a flagged turn summary,
    word for word, that the next settle makes again; a fold that fails leaves everything as it was.
    """
    stands_in = if_needed and breaker_opens_until(store, conversation.id, summarizer.label) is not None
    writer: Summarizer = ExtractiveSummarizer() if stands_in else summarizer
    work = _Work(store, conversation, policy, writer, Progress(), stands_in, instructions)
    for span, previous in _lacking(store, conversation, work.recalls()):
        _summarise(work, span, previous)
    try:
        while chosen := _to_fold(work, everything=not if_needed):
            _fold(work, chosen)
    except Rejected as err:
        return work.progress.result(work.id, err.status, err.message)
    except HeadMoved as err:
        return work.progress.result(work.id, "compacted" if work.progress.summary else "nothing", err.message)
    if work.progress.summary is None:
        return FoldResult(
            work.id,
            "nothing",
            error="every completed turn is summarised already" if if_needed else "there is nothing to fold",
        )
    return work.progress.result(work.id, "compacted")


def prepare(
    store: Store, conversation: Conversation, policy: Policy, summarizer: Summarizer, turn_id: int
) -> FoldResult:
    """Make a recap of the ongoing turn's middle when the turn alone outgrows the window's budget.

    The user's message and the newest unit are never in it. It is made once and reused; what comes later extends it.
    """
    from memcli.memory.context import Request

    turn = ongoing_turn(store, conversation.id, Request(turn_id=turn_id))
    recap = recap_of(store, conversation.id, turn)
    after = recap.last_message_id if recap else 0
    shown = sum(message.tokens for message in turn if message.id > after or message is turn[0])
    middle = middle_of(turn, recap)
    if shown <= policy.max_tokens or not middle:
        return FoldResult(conversation.id, "nothing", error="the ongoing turn is within its bounds")
    work = _Work(store, conversation, policy, summarizer, Progress(), stands_in=False)
    replaced = (recap.tokens if recap else 0) + sum(message.tokens for message in middle)
    cap = min(policy.summary_tokens, max(1, replaced - 1))
    body_tokens = max(64, chunk_budget(policy, summarizer, recap) // len(middle))
    prompt = recap_prompt(recap.text if recap else None, middle, max_tokens=cap, body_tokens=body_tokens)
    try:
        text, completion = work.ask(prompt, replaced)
    except Rejected as err:
        return work.progress.result(work.id, err.status, err.message)
    new = _new(work, "recap", recap, (turn[1].id, middle[-1].id), text, completion, prompt)
    new = replace(new, values=(), fidelity=None, tokens=text_tokens(text))
    return _committed(work, new, recap, replaced)


def undo(store: Store, conversation: Conversation, steps: int = 1) -> FoldResult:
    """Put the compaction before the one in force back in force; the turn summaries it had folded count again.

    Raises NotFound when there are not that many to undo.
    """
    head = store.summaries.head(conversation.id, "compaction")
    target = head
    for step in range(steps):
        if target is None:
            raise NotFound(f"there are {step} compactions to undo, not {steps}", "run `memcli summaries` to list them")
        target = store.summaries.get(conversation.id, target.parent_id) if target.parent_id else None
    assert head is not None
    try:
        store.summaries.move_head(conversation.id, "compaction", target.id if target else None, expected_head=head.id)
    except HeadMoved as err:
        return FoldResult(conversation.id, "nothing", error=err.message)
    first = (target.last_message_id if target else head.first_message_id - 1) + 1
    after = target.tokens if target else 0
    return FoldResult(conversation.id, "undone", target, first, head.last_message_id, head.tokens, after)


def _lacking(store: Store, conversation: Conversation, recalls: Recalls) -> list[tuple[TurnSpan, Summary | None]]:
    """List the completed turns behind the compaction that have no summary, or one that must be made again."""
    made = {summary.first_message_id: summary for summary in recalls.summaries}
    lacking: list[tuple[TurnSpan, Summary | None]] = []
    for span in store.turns.spans(conversation.id, after=recalls.boundary):
        summary = made.get(span.first_message_id)
        is_current = summary is not None and not summary.fallback and summary.last_message_id == span.last_message_id
        if span.turn.status not in ("open", "rewound") and not is_current and not _is_system_only(store, span):
            lacking.append((span, summary))
    return lacking


def _is_system_only(store: Store, span: TurnSpan) -> bool:
    """Tell whether a turn is nothing but the leading system message, which stands in every context itself."""
    if span.first_message_id != 1 or span.last_message_id != 1:
        return False
    return store.messages.leading_system(span.turn.conversation_id) is not None


def _summarise(work: _Work, span: TurnSpan, previous: Summary | None) -> None:
    """Make one turn's summary; another process that was faster wins."""
    failed = span.turn.status == "failed"
    messages = work.store.messages.of_turn(work.id, span.turn.id, excluded=failed)
    messages = [message for message in messages if message.role != "system" or message.id != 1]
    if not messages:
        return
    tokens = sum(message.tokens for message in messages)
    prompt = turn_prompt(messages, body_tokens=_body_tokens(work, messages))
    is_fallback = False
    completion = Completion("", 0, 0, "stop")
    if failed:
        fields = TurnFields(extractive_turn(messages)[0] or NOT_AVAILABLE, FAILED_NOTE, NOT_AVAILABLE)
    else:
        try:
            text, completion = work.ask(prompt)
            fields = read_turn(text) or _verbatim(messages)
        except (Rejected, ModelUnreachable):
            if previous is not None:
                return
            is_fallback, fields = True, _verbatim(messages)
    if span.turn.status == "interrupted":
        actions = "" if fields.actions == NOT_AVAILABLE else f" {fields.actions}"
        fields = replace(fields, actions=f"{INTERRUPTED_NOTE}{actions}")
    new = _turn_summary(work, span, previous, messages, fields, completion, prompt)
    _committed(work, replace(new, fallback=is_fallback or work.stands_in), previous, tokens)


def _turn_summary(
    work: _Work, span: TurnSpan, previous: Summary | None, messages: Sequence[StoredMessage], fields: TurnFields,
    completion: Completion, prompt: Prompt,
) -> NewSummary:  # fmt: skip
    ended = span.turn.ended_at or messages[-1].created_at
    started = messages[0].created_at
    details = {
        "user": fields.user,
        "actions": fields.actions,
        "response": fields.response,
        "started_at": min(started, ended).isoformat(),
        "ended_at": max(started, ended).isoformat(),
        "status": span.turn.status,
    }
    spoken = value_texts(messages)
    text = write_turn(fields)
    found = values_of([words for _, _, words in spoken])
    cap = work.policy.values_tokens // VALUES_SHARE
    values = tuple(value for value in select_values(spoken, max_tokens=cap) if value not in text)
    new = NewSummary(
        kind="turn", parent_id=previous.id if previous else None, first_message_id=span.first_message_id,
        last_message_id=span.last_message_id, text=text, values=values, fidelity=fidelity(found, text, values),
        tokens=0, model=work.summarizer.label, prompt_version=PROMPT_VERSION, input_tokens=completion.input_tokens,
        output_tokens=completion.output_tokens,
        input_hash=input_hash("turn", work.summarizer, previous.id if previous else None, prompt, work.policy),
        details=details,
    )  # fmt: skip
    return replace(new, tokens=text_tokens(render_turn_summary(new)) + 5)


def _verbatim(messages: Sequence[StoredMessage]) -> TurnFields:
    """Take the turn's words as they are. Source: the design's fallback where a model cannot summarise."""
    said = next((message.text for message in messages if message.role == "human"), NOT_AVAILABLE)
    answer = next(
        (message.text for message in reversed(messages) if message.role == "ai" and message.text), NOT_AVAILABLE
    )
    return TurnFields(said, NOT_AVAILABLE, answer)


def _body_tokens(work: _Work, messages: Sequence[StoredMessage]) -> int:
    """Tell how much of each message a request can show, so that a long turn fits it whole."""
    budget = chunk_budget(work.policy, work.summarizer, None)
    return max(16, budget // max(1, len(messages) + sum(len(message.tool_calls) for message in messages)))


def _is_over(recalls: Recalls, policy: Policy) -> bool:
    tokens = sum(summary.tokens for summary in recalls.summaries)
    return len(recalls.summaries) > policy.max_summaries or (tokens > policy.max_tokens and len(recalls.summaries) > 1)


def _to_fold(work: _Work, *, everything: bool) -> list[Summary]:
    """Choose the oldest summaries that must go into the compaction now; [] when the window holds what there is."""
    recalls = work.recalls()
    summaries = list(recalls.summaries)
    if everything:
        return _within_request(work, recalls, summaries)
    if not _is_over(recalls, work.policy):
        return []
    if work.policy.on_full == "clear":
        return summaries[: max(1, len(summaries) - work.policy.max_summaries)]
    keep = max(1, int(work.policy.max_summaries * KEPT_SHARE))
    kept: list[Summary] = []
    room = int(work.policy.max_tokens * KEPT_SHARE)
    for summary in reversed(summaries):
        if kept and (len(kept) >= keep or sum(item.tokens for item in kept) + summary.tokens > room):
            break
        kept.append(summary)
    return _within_request(work, recalls, summaries[: len(summaries) - len(kept)])


def _within_request(work: _Work, recalls: Recalls, summaries: list[Summary]) -> list[Summary]:
    budget = chunk_budget(work.policy, work.summarizer, recalls.compaction)
    chosen: list[Summary] = []
    for summary in summaries:
        if chosen and sum(item.tokens for item in chosen) + summary.tokens > budget:
            break
        chosen.append(summary)
    return chosen


def _fold(work: _Work, chosen: Sequence[Summary]) -> None:
    """Fold turn summaries into the compaction, or clear it with them as the source does."""
    previous = work.recalls().compaction
    base = None if previous is None or is_cleared(previous) else previous
    first = base.first_message_id if base else chosen[0].first_message_id
    span = (first, chosen[-1].last_message_id)
    if work.policy.on_full == "clear" and not work.instructions and _is_over(work.recalls(), work.policy):
        _commit_compaction(work, _cleared(work, previous, chosen), previous, 0)
        return
    replaced = (base.tokens if base else 0) + sum(summary.tokens for summary in chosen)
    cap = min(work.policy.summary_tokens, max(1, replaced - 1))
    prompt = fold_prompt(base.text if base else None, chosen, max_tokens=cap, instructions=work.instructions)
    digest = input_hash("compaction", work.summarizer, previous.id if previous else None, prompt, work.policy)
    made = work.store.summaries.by_input(work.id, digest)
    if made is not None and made.kind == "compaction" and made.state == "made":
        work.store.summaries.move_head(work.id, "compaction", made.id, expected_head=previous.id if previous else None)
        work.progress.summary = made
        return
    text, completion = work.ask(prompt, replaced)
    new = _new(work, "compaction", previous, span, text, completion, prompt)
    spoken = [(item.first_message_id, "human", "\n".join((item.text, *item.values))) for item in chosen]
    values = select_values(spoken, max_tokens=work.policy.values_tokens, previous=base.values if base else ())
    said = values_of([words for _, _, words in spoken])
    tokens = text_tokens(text) + (text_tokens(render_values(values)) if values else 0)
    details = {"timespan": _timespan(base, chosen), "folds": [summary.id for summary in chosen]}
    new = replace(new, values=values, fidelity=fidelity(said, text, values), tokens=tokens, details=details)
    _commit_compaction(work, replace(new, fallback=work.stands_in), previous, replaced)


def _new(
    work: _Work,
    kind: str,
    parent: Summary | None,
    span: tuple[int, int],
    text: str,
    completion: Completion,
    prompt: Prompt,
) -> NewSummary:
    return NewSummary(
        kind=kind,  # type: ignore[arg-type]
        parent_id=parent.id if parent else None, first_message_id=span[0], last_message_id=span[1], text=text, values=(),
        fidelity=None, tokens=text_tokens(text), model=work.summarizer.label, prompt_version=PROMPT_VERSION,
        input_tokens=completion.input_tokens, output_tokens=completion.output_tokens,
        input_hash=input_hash(kind, work.summarizer, parent.id if parent else None, prompt, work.policy),  # type: ignore[arg-type]
        instructions=work.instructions,
    )  # fmt: skip


def _cleared(work: _Work, previous: Summary | None, chosen: Sequence[Summary]) -> NewSummary:
    """Mark what the source would lose silently: the compaction and the oldest turn summaries, by message id."""
    first = previous.first_message_id if previous else chosen[0].first_message_id
    return NewSummary(
        kind="compaction", parent_id=previous.id if previous else None, first_message_id=first,
        last_message_id=chosen[-1].last_message_id, text="", values=(), fidelity=None, tokens=0, model="cleared",
        prompt_version=PROMPT_VERSION, input_tokens=0, output_tokens=0,
        input_hash=f"cleared:{previous.id if previous else 0}:{chosen[-1].id}",
        details={"cleared": True, "folds": [summary.id for summary in chosen]},
    )  # fmt: skip


def _timespan(base: Summary | None, chosen: Sequence[Summary]) -> list[str]:
    """Take the earliest start and the latest end of what is folded. Source: the design."""
    records = [turn_summary_of(summary) for summary in chosen]
    starts = [record.turn_start_timestamp.isoformat() for record in records]
    ends = [record.turn_end_timestamp.isoformat() for record in records]
    span = base.details.get("timespan") if base else None
    if isinstance(span, list) and len(span) == 2:
        starts.append(str(span[0]))
        ends.append(str(span[1]))
    return [min(starts), max(ends)]


def _committed(work: _Work, new: NewSummary, previous: Summary | None, tokens_before: int) -> FoldResult:
    """Store a turn summary or a recap, unless another process has stored a newer one for the same span meanwhile."""
    with work.store.transaction(durable=True):
        newest = work.store.summaries.newest_of(work.id, new.kind, new.first_message_id)
        if (newest.id if newest else None) != (previous.id if previous else None):
            return work.progress.result(work.id, "nothing", "another process was faster")
        stored = work.store.summaries.add(work.id, new)
    _note(work, stored, new.first_message_id, tokens_before)
    return work.progress.result(work.id, "compacted")


def _commit_compaction(work: _Work, new: NewSummary, previous: Summary | None, replaced: int) -> None:
    with work.store.transaction(durable=True):
        stored = work.store.summaries.commit(work.id, new, expected_head=previous.id if previous else None)
    _note(work, stored, new.first_message_id, replaced)


def _note(work: _Work, stored: Summary, first: int, tokens_before: int) -> None:
    work.progress.summary = stored
    work.progress.first_message_id = work.progress.first_message_id or first
    work.progress.tokens_before += tokens_before
