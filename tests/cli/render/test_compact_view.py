from __future__ import annotations

import io
from datetime import UTC, datetime

from rich.console import Console

from memcli.cli.compactions import Outcome
from memcli.cli.render.compact import compactions_view
from memcli.memory.fold import FoldResult
from memcli.records import Conversation, Summary

MOMENT = datetime(2026, 3, 1, tzinfo=UTC)


def _conversation(name: str) -> Conversation:
    return Conversation(
        id=f"{name}-id", name=name, model=None, system_prompt=None, memory="window", settings={}, parent_id=None,
        forked_at=None, source=None, created_at=MOMENT, updated_at=MOMENT, last_message_id=0, turns=0, tokens=0,
    )  # fmt: skip


def _summary() -> Summary:
    return Summary(
        kind="running", parent_id=None, first_message_id=1, last_message_id=40, text="The user asked of depots.",
        values=("PX-1", "40 kg"), fidelity=0.5, tokens=20, model="llama3.2", prompt_version="1", input_tokens=900,
        output_tokens=12, input_hash="", id=3,
    )  # fmt: skip


def _shown(*outcomes: Outcome) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=110, markup=False, highlight=False).print(compactions_view(outcomes))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def _outcome(name: str, result: FoldResult, exit_code: int = 0) -> Outcome:
    return Outcome(_conversation(name), result, exit_code)


def test_one_fold_is_told_with_its_cost_its_fidelity_its_text_and_its_values() -> None:
    result = FoldResult("work-id", "compacted", _summary(), 21, 40, 1_234, 20, 900, 12, 1)
    assert _shown(_outcome("work", result)) == [
        "work: compacted #21–#40 (20 messages): 1,234 → 20 tokens",
        "  summary s3 by llama3.2 · 1 request (900 tokens in, 12 out) · 50% of the exact values kept",
        "",
        "The user asked of depots.",
        "",
        "values: PX-1; 40 kg",
    ]


def test_nothing_to_do_says_why() -> None:
    assert _shown(_outcome("work", FoldResult("work-id", "nothing", error="no fold is due"))) == [
        "work: nothing to do: no fold is due"
    ]


def test_a_proposal_says_what_it_would_take() -> None:
    result = FoldResult("work-id", "proposed", None, 1, 40, 5_000, 500, 4_800, 0, 2)
    assert _shown(_outcome("work", result)) == [
        "work: proposed #1–#40 (40 messages): 5,000 → at most 500 tokens, "
        "2 requests (about 4,800 tokens in) if a model",
        "writes it",
    ]


def test_a_rejection_says_why_beneath() -> None:
    result = FoldResult("work-id", "rejected", error="the summary is empty")
    assert _shown(_outcome("work", result, 5)) == ["work: rejected", "  the summary is empty"]


def test_an_undo_says_what_is_in_force_now() -> None:
    assert _shown(_outcome("work", FoldResult("work-id", "undone", _summary(), 41, 60, 30, 20))) == [
        "work: undone #41–#60: s3 is in force again"
    ]
    assert _shown(_outcome("work", FoldResult("work-id", "undone", None, 1, 60, 30, 0))) == [
        "work: undone #1–#60: no summary is in force"
    ]


def test_several_are_a_table_with_totals() -> None:
    shown = _shown(
        _outcome("work", FoldResult("work-id", "compacted", _summary(), 1, 40, 1_200, 20, 900, 12, 1)),
        _outcome("home", FoldResult("home-id", "nothing", error="no fold is due")),
        _outcome("[b]art[/b]\x1b[31m", FoldResult("art-id", "failed", error="it broke"), 5),
    )
    assert [line.split() for line in shown[:1]] == [["conversation", "status", "messages", "tokens", "requests", "why"]]
    assert [line.split() for line in shown[2:5]] == [
        ["work", "compacted", "#1–#40", "1,200", "→", "20", "1"],
        ["home", "nothing", "–", "–", "0", "no", "fold", "is", "due"],
        ["[b]art[/b]", "failed", "–", "–", "0", "it", "broke"],
    ]
    assert shown[-1] == (
        "3 conversations: 1 compacted, 1 nothing, 1 failed · 1,200 → 20 tokens · 1 request, 900 prompt tokens"
    )
