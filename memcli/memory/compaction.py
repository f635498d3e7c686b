"""The oldest turn summaries become one compaction, or are cleared with it as the source does.

It refuses to know how a turn summary is made (`turn_summaries`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memcli.memory.facts import fidelity, select_values, values_of
from memcli.memory.fold import EXCLUDED, below, input_hash
from memcli.memory.in_force import Recalls, is_cleared
from memcli.memory.lacking import KEPT_SHARE
from memcli.memory.prompts import render_values
from memcli.memory.recalls import compaction_of, turn_summary_of
from memcli.memory.summarizer import Completion
from memcli.memory.tokens import text_tokens
from memcli.memory.turn_prompts import LONGEST_TOLD_TOKENS, TURN_PROMPT_VERSION, fold_prompt
from memcli.memory.turns import summaries_room
from memcli.memory.work import LABEL_TOKENS, Work, new_summary, room_in, smaller_than
from memcli.records import NewSummary, Summary


def is_over(recalls: Recalls, most: int, room_tokens: int) -> bool:
    """Tell whether the turn summaries are more than wanted, or take more than there is room for."""
    return len(recalls.summaries) > most or (recalls.tokens > room_tokens and bool(recalls.summaries))


def overflowing(work: Work) -> list[Summary]:
    """Choose the oldest turn summaries that must leave the window now; [] when it holds what there is.

    Half a window is left, so that the compaction is not rewritten every turn; with `on_full = "clear"` a whole one.
    """
    recalls = work.recalls()
    summaries = list(recalls.summaries)
    room = summaries_room(work.store, work.conversation, work.policy, work.request, recalls)
    most = work.policy.max_summaries
    if not is_over(recalls, most, room):
        return []
    share = 1.0 if work.policy.on_full == "clear" else KEPT_SHARE
    kept: list[Summary] = []
    for summary in reversed(summaries):
        used = sum(item.tokens for item in kept) + summary.tokens
        if len(kept) >= max(1, int(most * share)) or used > room * (share if kept else 1.0):
            break
        kept.append(summary)
    return _whole(summaries[: len(summaries) - len(kept)], summaries)


def everything(work: Work) -> list[Summary]:
    """Choose all turn summaries there are; [] when there are none."""
    return list(work.recalls().summaries)


def fold(work: Work, leaving: Sequence[Summary]) -> None:
    """Fold the oldest of these turn summaries, as many as one request carries, into the compaction.

    Raises Rejected, ModelUnreachable and HeadMoved; then everything is as it was.
    """
    previous = work.recalls().compaction
    base = None if previous is None or is_cleared(previous) else previous
    writer = work.writer()
    told = base.text if base else None
    frame = fold_prompt(told, (), max_tokens=work.policy.summary_tokens, instructions=work.instructions)
    budget = room_in(writer, frame)
    chosen = _whole(_within_request(leaving, budget), leaving)
    replaced = (base.tokens if base else 0) + sum(summary.tokens for summary in chosen)
    prompt = fold_prompt(
        told, chosen, max_tokens=min(work.policy.summary_tokens, max(1, replaced - 1)),
        instructions=work.instructions, body_tokens=min(budget - LABEL_TOKENS, LONGEST_TOLD_TOKENS),
    )  # fmt: skip
    made = work.store.summaries.by_input(
        work.id, input_hash("compaction", writer, previous.id if previous else None, prompt, work.policy)
    )
    is_kept = made is not None and made.state != "discarded" and not below(made.fidelity, work.min_fidelity, 0)
    if made is not None and made.kind == "compaction" and is_kept:
        _reuse(work, made, previous, chosen[0], replaced)
        return
    spoken = [(item.first_message_id, "human", "\n".join((item.text, *item.values))) for item in chosen]
    values = select_values(spoken, max_tokens=work.policy.values_tokens, previous=base.values if base else ())
    said = values_of([words for _, _, words in spoken])
    is_summary = smaller_than(replaced, prompt)

    def judge(completion: Completion, text: str) -> str | None:
        error = is_summary(completion, text)
        return error or below(fidelity(said, text, values), work.min_fidelity, len(said))

    text, completion = work.ask(writer, prompt, judge)
    new = new_summary(work, writer, "compaction", previous, _span(base, chosen), text, completion, prompt)
    new = replace(
        new, values=values, fidelity=fidelity(said, text, values), fallback=writer is not work.summarizer,
        tokens=text_tokens(text) + (text_tokens(render_values(values)) if values else 0),
        details={"timespan": _timespan(base, chosen), "folds": [summary.id for summary in chosen]},
    )  # fmt: skip
    _commit(work, new, previous, chosen[0], replaced)


def clear(work: Work, leaving: Sequence[Summary]) -> None:
    """Drop the compaction and these turn summaries as the source does, marked so that the ledger can show them."""
    previous = work.recalls().compaction
    parent_id = previous.id if previous else None
    last = max(summary.last_message_id for summary in leaving)
    first = previous.first_message_id if previous else leaving[0].first_message_id
    marker = NewSummary(
        kind="compaction", parent_id=parent_id, first_message_id=first, last_message_id=last, text="", values=(),
        fidelity=None, tokens=0, model="cleared", prompt_version=TURN_PROMPT_VERSION, input_tokens=0, output_tokens=0,
        input_hash=f"cleared:{parent_id or 0}:{leaving[-1].id}",
        details={"cleared": True, "folds": [summary.id for summary in leaving]},
    )  # fmt: skip
    _commit(work, marker, previous, leaving[0], sum(summary.tokens for summary in leaving))


def _whole(chosen: Sequence[Summary], summaries: Sequence[Summary]) -> list[Summary]:
    """Take with them every later summary whose turn begins before their end: a compaction stands for one stretch."""
    last = max((summary.last_message_id for summary in chosen), default=0)
    whole = list(chosen)
    for summary in summaries[len(chosen) :]:
        if summary.first_message_id > last:
            break
        whole.append(summary)
        last = max(last, summary.last_message_id)
    return whole


def _within_request(summaries: Sequence[Summary], budget: int) -> list[Summary]:
    chosen: list[Summary] = []
    for summary in summaries:
        if chosen and sum(item.tokens for item in chosen) + summary.tokens > budget:
            break
        chosen.append(summary)
    return chosen


def _span(base: Summary | None, chosen: Sequence[Summary]) -> tuple[int, int]:
    first = base.first_message_id if base else chosen[0].first_message_id
    return first, max(summary.last_message_id for summary in chosen)


def _reuse(work: Work, made: Summary, previous: Summary | None, oldest: Summary, replaced_tokens: int) -> None:
    """Take a compaction of the same input that is there already: undone before, or proposed."""
    if work.state == "made":
        with work.store.transaction(durable=True):
            work.store.summaries.set_state(work.id, made.id, "made")
            work.store.summaries.move_head(
                work.id, "compaction", made.id, expected_head=previous.id if previous else None
            )
    work.made(made, replaced_tokens, first_message_id=oldest.first_message_id)


def _commit(
    work: Work, new: NewSummary, previous: Summary | None, oldest: Summary, replaced_tokens: int
) -> None:  # fmt: skip
    with work.store.transaction(durable=True):
        if work.state == "proposed":
            excluded = work.store.messages.excluded_ids(work.id, up_to=new.last_message_id)
            proposal = replace(new, state="proposed", details={**new.details, EXCLUDED: excluded})
            stored = work.store.summaries.add(work.id, proposal)
        else:
            stored = work.store.summaries.commit(work.id, new, expected_head=previous.id if previous else None)
    work.made(stored, replaced_tokens, first_message_id=oldest.first_message_id)


def _timespan(base: Summary | None, chosen: Sequence[Summary]) -> list[str]:
    """Take the earliest start and the latest end of what is folded. Source: the design."""
    records = [turn_summary_of(summary) for summary in chosen]
    starts = [record.turn_start_timestamp for record in records]
    ends = [record.turn_end_timestamp for record in records]
    span = compaction_of(base).timespan if base else None
    if span is not None:
        starts.append(span[0])
        ends.append(span[1])
    return [min(starts).isoformat(), max(ends).isoformat()]
