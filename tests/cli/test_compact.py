from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from memcli.cli.main import main
from memcli.memory.prompts import summary_prompt
from memcli.memory.summarizer import request_tokens
from memcli.records import Conversation
from memcli.store import Store
from memcli.transcripts.importing import import_file
from tests.cli.conversations import Json, add_chat, add_turn, command, read_document, said
from tests.locomo import data_file
from tests.ollama_replies import Reply, fails, text
from tests.ollama_server import FakeOllama

AIRLINE = data_file("airline-agent.jsonl")
GOOD_SUMMARY = "The user asked how many parcels left each depot; the assistant gave the number and the order of each."


@pytest.fixture
def db(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    return home / "test.db"


@pytest.fixture
def ollama(db: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOllama]:
    with FakeOllama(otherwise=text(GOOD_SUMMARY)) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


def _compact(db: Path, capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> list[Json]:
    capsys.readouterr()
    assert main(command(db, "compact", *args, "--json")) == code
    return cast("list[Json]", read_document(capsys.readouterr().out)["results"])


def _result(conversation: str, name: str, **more: object) -> Json:
    nothing: Json = {
        "status": "nothing", "summary": None, "first_message_id": None, "last_message_id": None, "tokens_before": 0,
        "tokens_after": 0, "input_tokens": 0, "output_tokens": 0, "calls": 0, "turn_summaries": 0, "folds": 0,
        "summarizer": None, "fallback": False, "error": None,
    }  # fmt: skip
    return {"conversation": conversation, "name": name, **nothing, **more}


def test_a_fold_reports_what_the_store_then_holds(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(db) as store:
        made = add_chat(store, "parcels", 6)
    results = _compact(db, capsys, "parcels")
    with Store(db) as store:
        head = store.summaries.head(made.id, "running")
    assert head is not None
    assert results == [
        _result(
            made.id, "parcels", status="compacted", summary=1, first_message_id=1, last_message_id=12,
            tokens_before=made.tokens, tokens_after=head.tokens, summarizer="extractive",
        )
    ]  # fmt: skip
    assert (head.id, head.first_message_id, head.last_message_id) == (1, 1, 12)


def test_folding_twice_says_there_is_nothing_to_do_and_why(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(db) as store:
        made = add_chat(store, "parcels", 6)
    _compact(db, capsys, "parcels")
    assert _compact(db, capsys, "parcels") == [_result(made.id, "parcels", error="everything is covered already")]


@pytest.mark.parametrize(("turns", "status"), [(9, "nothing"), (10, "compacted")])
def test_if_needed_folds_at_the_tenth_user_message(
    db: Path, capsys: pytest.CaptureFixture[str], turns: int, status: str
) -> None:
    with Store(db) as store:
        add_chat(store, "parcels", turns)
    assert [result["status"] for result in _compact(db, capsys, "parcels", "--if-needed")] == [status]


def test_a_dry_run_changes_nothing_and_calls_no_model(
    db: Path, capsys: pytest.CaptureFixture[str], ollama: FakeOllama
) -> None:
    with Store(db) as store:
        made = add_chat(store, "parcels", 6)
        messages = list(store.messages.oldest_first(made.id))
    asked = request_tokens(summary_prompt(None, messages, max_tokens=500, instructions=None))
    results = _compact(db, capsys, "parcels", "--dry-run", "--model", "tiny")
    assert ollama.requests == []
    assert results == [
        _result(
            made.id, "parcels", status="proposed", first_message_id=1, last_message_id=12, tokens_before=made.tokens,
            tokens_after=500, input_tokens=asked, calls=1,
        )
    ]  # fmt: skip
    with Store(db) as store:
        assert store.summaries.list(made.id) == []
        assert store.calls.newest_first(made.id) == []


def test_a_dry_run_counts_the_requests_that_a_long_backlog_takes(
    db: Path, capsys: pytest.CaptureFixture[str], ollama: FakeOllama
) -> None:
    with Store(db) as store:
        made = add_chat(store, "parcels", 300)
    proposed = _compact(db, capsys, "parcels", "--dry-run", "--model", "tiny")[0]
    done = _compact(db, capsys, "parcels", "--model", "tiny")[0]
    asked = len(ollama.chats)
    assert done["status"] == "compacted"
    assert (proposed["calls"], proposed["tokens_before"]) == (asked, made.tokens)
    assert (done["calls"], done["tokens_before"], done["last_message_id"]) == (asked, made.tokens, 600)


def test_a_model_writes_the_summary_when_one_is_named(
    db: Path, capsys: pytest.CaptureFixture[str], ollama: FakeOllama
) -> None:
    with Store(db) as store:
        made = add_chat(store, "parcels", 6)
    results = _compact(db, capsys, "parcels", "--model", "tiny", "--instructions", "Mind the depots.")
    asked = str(ollama.chats[0]["messages"])
    assert "The user adds: Mind the depots." in asked
    with Store(db) as store:
        head = store.summaries.head(made.id, "running")
        call = store.calls.newest_first(made.id, purpose="compaction", limit=1)[0]
    assert head is not None
    assert (head.text, head.model, head.instructions) == (GOOD_SUMMARY, "tiny", "Mind the depots.")
    assert [(item["status"], item["input_tokens"], item["output_tokens"], item["calls"]) for item in results] == [
        ("compacted", call.input_tokens, call.output_tokens, 1)
    ]


@pytest.mark.parametrize(("reply", "status"), [(text("Error: no"), "rejected"), (fails(500, "it broke"), "failed")])
def test_a_fold_that_comes_to_nothing_exits_with_5_and_leaves_the_store(
    db: Path, capsys: pytest.CaptureFixture[str], ollama: FakeOllama, reply: Reply, status: str
) -> None:
    with Store(db) as store:
        made = add_chat(store, "parcels", 6)
    ollama.otherwise = reply
    results = _compact(db, capsys, "parcels", "--model", "tiny", code=5)
    assert [result["status"] for result in results] == [status]
    assert results[0]["error"]
    with Store(db) as store:
        assert store.summaries.list(made.id) == []


def test_a_model_that_cannot_be_reached_exits_with_4(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(db) as store:
        add_chat(store, "parcels", 6)
    results = _compact(db, capsys, "parcels", "--model", "tiny", code=4)
    assert [result["status"] for result in results] == ["failed"]
    assert "'tiny' is an Ollama model" in str(results[0]["error"])


def test_a_locked_store_exits_with_6_and_is_told(
    db: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCLI_BUSY_TIMEOUT_S", "0")
    with Store(db) as store:
        made = add_chat(store, "parcels", 6)
    other = sqlite3.connect(db, isolation_level=None)
    other.execute("begin immediate")
    results = _compact(db, capsys, "parcels", code=6)
    other.close()
    assert results == [
        _result(made.id, "parcels", status="locked", error=f"{db} is locked by another process (waited 0 s)")
    ]


def test_with_all_a_failure_does_not_stop_the_others_and_the_worst_code_is_the_exit_code(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(db) as store:
        add_chat(store, "first", 6)
        add_chat(store, "absurd", 12, settings={"max_tokens": -3})
        add_chat(store, "last", 12)
    results = _compact(db, capsys, "--all", "--if-needed", code=2)
    assert [(result["name"], result["status"]) for result in results] == [
        ("last", "compacted"), ("absurd", "failed"), ("first", "nothing"),
    ]  # fmt: skip
    assert results[1]["error"] == "max_tokens = -3 is too small; set in conversation absurd; the least is 1"


def test_undo_puts_the_summary_before_back_in_force_twice(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(db) as store:
        made = add_chat(store, "parcels", 3)
    _compact(db, capsys, "parcels")
    with Store(db) as store:
        _ask_after_vans(store, made)
    _compact(db, capsys, "parcels")
    with Store(db) as store:
        first, second = store.summaries.list(made.id)
    assert _compact(db, capsys, "parcels", "--undo") == [
        _result(
            made.id, "parcels", status="undone", summary=1, first_message_id=7, last_message_id=12,
            tokens_before=second.tokens, tokens_after=first.tokens, summarizer="extractive",
        )
    ]  # fmt: skip
    assert _compact(db, capsys, "parcels", "--undo") == [
        _result(made.id, "parcels", status="undone", first_message_id=1, last_message_id=6, tokens_before=first.tokens)
    ]
    assert main(command(db, "compact", "parcels", "--undo")) == 3
    with Store(db) as store:
        assert len(store.summaries.list(made.id)) == 2


def test_a_number_beside_undo_takes_back_that_many(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(db) as store:
        made = add_chat(store, "parcels", 3)
    _compact(db, capsys, "parcels")
    with Store(db) as store:
        _ask_after_vans(store, made)
    _compact(db, capsys, "parcels")
    results = _compact(db, capsys, "parcels", "--undo", "2")
    assert [(item["status"], item["summary"], item["first_message_id"]) for item in results] == [("undone", None, 1)]


@pytest.mark.parametrize(
    ("args", "code", "said_first"),
    [
        (["nobody"], 3, "error: no conversation matches 'nobody'"),
        (["parcels", "--all"], 2, "error: --all and named conversations exclude one another"),
        (["--all", "--undo"], 2, "error: --undo takes named conversations and nothing else"),
        (["parcels", "--undo", "0"], 2, "error: --undo 0 is no number of compactions"),
        (["parcels", "--undo"], 3, "error: there is no compaction to undo"),
        (["parcels", "--max-tokens", "0"], 2, "error: max_tokens = 0 is too small"),
        (["parcels", "--summarizer", "nobody"], 2, "error: invalid value for '--summarizer': 'nobody' is not one of"),
    ],
)
def test_what_cannot_be_folded_says_why_with_its_exit_code(
    db: Path, capsys: pytest.CaptureFixture[str], args: list[str], code: int, said_first: str
) -> None:
    with Store(db) as store:
        add_chat(store, "parcels", 1)
    assert main(command(db, "compact", *args)) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[0].startswith(said_first)


def test_a_fold_is_told_in_words_and_the_summarizer_named_on_stderr(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(db) as store:
        made = add_chat(store, "parcels", 6)
    assert main(command(db, "compact", "parcels")) == 0
    shown = capsys.readouterr()
    with Store(db) as store:
        head = store.summaries.head(made.id, "running")
    assert head is not None
    first = f"parcels: compacted #1–#12 (12 messages): {made.tokens:,} → {head.tokens:,} tokens"
    assert shown.out.splitlines()[0] == first
    assert head.text in shown.out
    assert shown.err == ("summaries by the extractive summarizer: no model is named and no Ollama server answers\n")


def test_all_on_an_empty_store_has_nothing_to_do(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(db):
        pass
    assert main(command(db, "compact", "--all")) == 0
    assert capsys.readouterr().out == "nothing to fold: there are no conversations yet\n"


def _ask_after_vans(store: Store, conversation: Conversation) -> None:
    for number in range(3):
        answer = f"Van {number} stands at the depot in Leeds."
        add_turn(store, conversation, said("human", f"Where is van {number}?"), said("ai", answer))


def _run(db: Path, script: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "MEMCLI_DB": str(db)}
    return subprocess.run(["bash", "-c", script], env=environ, capture_output=True, text=True, check=False)


def test_compact_all_in_a_pipe_survives_a_reader_that_leaves(db: Path) -> None:
    with Store(db) as store:
        add_chat(store, "one", 12)
        add_chat(store, "two", 3)
    done = _run(db, f"set -o pipefail; {sys.executable} -m memcli compact --all --if-needed | head -1")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "[1/2] two: nothing",
        "[2/2] one: compacted",
        "summaries by the extractive summarizer: no model is named and no Ollama server answers",
    ]


def test_the_extractive_summarizer_and_a_dry_run_load_no_langchain(db: Path) -> None:
    with Store(db) as store:
        add_chat(store, "one", 12)
    code = (
        "import sys; from memcli.cli.main import main; main(['compact', 'one', '--dry-run', '--model', 'tiny']);"
        " main(['compact', 'one', '-q']);"
        " print([name for name in ('langchain_core', 'prompt_toolkit', 'httpx') if name in sys.modules],"
        " file=sys.stderr)"
    )
    assert _run(db, f'{sys.executable} -c "{code}"').stderr == "[]\n"


@pytest.mark.skipif(AIRLINE is None, reason="shared/data beside the checkout has no airline-agent.jsonl")
def test_compacting_sixty_real_conversations_reports_what_the_store_holds(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert AIRLINE is not None
    with Store(db) as store:
        import_file(store, AIRLINE, memory="window")
    results = _compact(db, capsys, "--all", "--if-needed", "--summarizer", "extractive")
    assert len(results) == 60
    assert {result["status"] for result in results} == {"compacted", "nothing"}
    with Store(db) as store:
        for result in results:
            head = store.summaries.head(str(result["conversation"]), "running")
            held = (head.id, head.last_message_id, head.tokens) if head else (None, None, 0)
            assert (result["summary"], result["last_message_id"], result["tokens_after"]) == held
    assert {result["status"] for result in _compact(db, capsys, "--all", "--if-needed")} == {"nothing"}
