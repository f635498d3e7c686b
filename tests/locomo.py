"""LoCoMo dialogues as chats in OpenAI's format, for tests and benchmarks on long conversations.

The data set is not part of this repository: it lies in `shared/data` beside the checkout, and what needs it is skipped
where it does not. It refuses to know the store.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

from memcli.records import NewMessage
from memcli.transcripts.imported import ImportedConversation
from memcli.transcripts.openai_reader import read_openai

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
_Turn = dict[str, str]
_Sample = dict[str, object]


@dataclass(frozen=True, slots=True)
class Question:
    """One question on a dialogue."""

    question: str
    answer: str | None
    """None for a question that the dialogue does not answer."""
    evidence: tuple[str, ...]
    """The dia_ids of the turns that hold the answer."""
    category: int


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One dialogue: speaker_a is the user, speaker_b the assistant, every turn a message of its own."""

    sample_id: str
    conversation: ImportedConversation
    dia_ids: tuple[str, ...]
    """One for each message, in order."""
    questions: tuple[Question, ...]

    @property
    def messages(self) -> tuple[NewMessage, ...]:
        """Give the messages in order."""
        return self.conversation.messages


def data_file(name: str) -> Path | None:
    """Find a file of the data folder, `shared/data` beside the checkout; None when it is not there."""
    path = DATA / name
    return path if path.is_file() else None


def load_locomo(path: Path) -> list[Dialogue]:
    """Read every dialogue of the file, in file order."""
    return [_dialogue(sample) for sample in cast("list[_Sample]", json.loads(path.read_text(encoding="utf-8")))]


def write_jsonl(path: Path, out: Path) -> None:
    """Write every dialogue as one line of a file that `memcli import` reads."""
    samples = cast("list[_Sample]", json.loads(path.read_text(encoding="utf-8")))
    out.write_text("".join(json.dumps(_chat(sample)) + "\n" for sample in samples), encoding="utf-8")


def _dialogue(sample: _Sample) -> Dialogue:
    chat = _chat(sample)
    item = next(read_openai(io.BytesIO(json.dumps(chat).encode()), name="locomo"))
    assert isinstance(item, ImportedConversation)
    entries = cast("list[dict[str, str]]", chat["messages"])
    questions = tuple(
        Question(
            str(entry["question"]),
            None if entry.get("answer") is None else str(entry["answer"]),
            tuple(cast("list[str]", entry["evidence"])),
            cast("int", entry["category"]),
        )
        for entry in cast("list[dict[str, object]]", sample["qa"])
    )
    return Dialogue(str(sample["sample_id"]), item, tuple(entry["dia_id"] for entry in entries), questions)


def _chat(sample: _Sample) -> dict[str, object]:
    roles = {str(sample["speaker_a"]): "user", str(sample["speaker_b"]): "assistant"}
    messages: list[dict[str, str]] = []
    for session in cast("list[dict[str, object]]", sample["sessions"]):
        begun = datetime.strptime(str(session["date_time"]), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for second, turn in enumerate(cast("list[_Turn]", session["turns"])):
            messages.append(_message(turn, roles, begun + timedelta(seconds=second)))
    return {"id": sample["sample_id"], "messages": messages}


def _message(turn: _Turn, roles: dict[str, str], moment: datetime) -> dict[str, str]:
    photo = f" [photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return {
        "role": roles[turn["speaker"]],
        "content": turn["text"] + photo,
        "name": turn["speaker"],
        "created_at": moment.isoformat(),
        "dia_id": turn["dia_id"],
    }
