from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memcli.cli.main import main
from memcli.cli.picture import take
from memcli.memory.context import Policy
from memcli.store import Store
from tests.cli.conversations import Json, add_chat, add_turn, command, read_document, said


@pytest.fixture
def db(home: Path) -> Path:
    return home / "test.db"


def _context(db: Path, capsys: pytest.CaptureFixture[str], *args: str) -> Json:
    assert main(command(db, "context", *args, "--json")) == 0
    return read_document(capsys.readouterr().out)


def test_context_json_is_the_whole_picture_of_a_short_conversation(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(db) as store:
        made = store.conversations.create(name="trip", system_prompt="Be brief.")
        add_turn(store, made, said("human", "Where to?"), said("ai", "Rome."))
    assert _context(db, capsys, "trip") == {
        "version": 1,
        "conversation": made.id,
        "name": "trip",
        "memory": "window",
        "kept_under": "window",
        "limit_tokens": 8192,
        "max_tokens": 3000,
        "parts": [
            {
                "source": "system", "first_message_id": None, "last_message_id": None, "tokens": 7, "state": None,
                "why": "the conversation's system prompt", "role": None, "summary": None, "text": "Be brief.",
            },
            {
                "source": "message", "first_message_id": 1, "last_message_id": 1, "tokens": 7, "state": "verbatim",
                "why": "within the newest messages of the window", "role": "human", "summary": None,
                "text": "Where to?",
            },
            {
                "source": "message", "first_message_id": 2, "last_message_id": 2, "tokens": 7, "state": "verbatim",
                "why": "within the newest messages of the window", "role": "ai", "summary": None, "text": "Rome.",
            },
            {
                "source": "reserve", "first_message_id": None, "last_message_id": None, "tokens": 1024, "state": None,
                "why": "kept free for the answer", "role": None, "summary": None, "text": "",
            },
        ],
        "tokens": 1045,
        "free_tokens": 7147,
        "messages": {"total": 2, "verbatim": 2, "clipped": 0, "summarised": 0, "forgotten": 0, "excluded": 0},
        "verbatim": [[1, 2]],
        "clipped": [],
        "summarised": [],
        "forgotten": [],
        "excluded": [],
        "out_of_context_tokens": {"summarised": 0, "forgotten": 0, "excluded": 0},
        "estimate": {"tokens": 23, "method": "by script"},
        "reported": None,
        "reuse": None,
        "next_fold": {"reason": None, "user_messages_left": 9, "first_message_id": 1, "last_message_id": 2},
        "lacks": None,
        "departures": [],
        "warnings": [],
    }  # fmt: skip


def test_summarised_forgotten_and_verbatim_messages_add_up_to_the_total(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(db) as store:
        made = add_chat(store, "parcels", 4)
    assert main(command(db, "compact", "parcels", "--summarizer", "extractive", "-q")) == 0
    with Store(db) as store:
        for number in range(8):
            add_turn(store, made, said("human", f"Later question {number}?"), said("ai", "x" * 300))
        tokens = {message.id: message.tokens for message in store.messages.oldest_first(made.id)}
    capsys.readouterr()
    seen = _context(db, capsys, "parcels", "--max-tokens", "200")
    assert seen["messages"] == {
        "total": 24, "verbatim": 4, "clipped": 0, "summarised": 8, "forgotten": 12, "excluded": 0,
    }  # fmt: skip
    assert (seen["summarised"], seen["forgotten"], seen["verbatim"]) == ([[1, 8]], [[9, 20]], [[21, 24]])
    assert seen["out_of_context_tokens"] == {
        "summarised": sum(tokens[id] for id in range(1, 9)),
        "forgotten": sum(tokens[id] for id in range(9, 21)),
        "excluded": 0,
    }
    parts = seen["parts"]
    assert isinstance(parts, list)
    assert seen["tokens"] == sum(part["tokens"] for part in parts)
    assert [part["source"] for part in parts] == ["summary", "values", *["message"] * 4, "reserve"]


def test_failed_turns_are_excluded_and_outside_the_total(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(db) as store:
        made = store.conversations.create(name="trip")
        add_turn(store, made, said("human", "One"), said("ai", "Two"))
        add_turn(store, made, said("human", "Broken question"), status="failed")
        add_turn(store, made, said("human", "Three"), said("ai", "Four"))
        broken = store.messages.get(made.id, 3).tokens
    seen = _context(db, capsys, "trip")
    assert seen["messages"] == {
        "total": 4, "verbatim": 4, "clipped": 0, "summarised": 0, "forgotten": 0, "excluded": 1,
    }  # fmt: skip
    assert (seen["verbatim"], seen["excluded"]) == ([[1, 2], [4, 5]], [[3, 3]])
    assert seen["out_of_context_tokens"] == {"summarised": 0, "forgotten": 0, "excluded": broken}


def test_a_newest_turn_beyond_the_budget_is_clipped_and_the_departure_is_told(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(db) as store:
        made = store.conversations.create(name="logs")
        calls = [{"name": "read", "args": {"path": "/var/log"}, "id": "c1", "type": "tool_call"}]
        add_turn(
            store, made, said("human", "What does the log say?"), said("ai", "", tool_calls=calls),
            said("tool", "line of the log " * 400, tool_call_id="c1"), said("ai", "Nothing of note."),
        )  # fmt: skip
    seen = _context(db, capsys, "logs", "--max-tokens", "300")
    assert seen["messages"] == {
        "total": 4, "verbatim": 3, "clipped": 1, "summarised": 0, "forgotten": 0, "excluded": 0,
    }  # fmt: skip
    assert seen["clipped"] == [[3, 3]]
    assert seen["departures"] == [
        "the newest turn alone exceeds the budget: it is kept and clipped (the source would send no history)"
    ]


def test_an_ongoing_turn_is_in_the_context_as_new(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(db) as store:
        made = store.conversations.create(name="trip")
        add_turn(store, made, said("human", "One"), said("ai", "Two"))
        add_turn(store, made, said("human", "And now?"), status="open")
    seen = _context(db, capsys, "trip")
    parts = seen["parts"]
    assert isinstance(parts, list)
    assert [(part["source"], part["first_message_id"]) for part in parts] == [
        ("message", 1), ("message", 2), ("new", 3), ("reserve", None),
    ]  # fmt: skip
    assert seen["next_fold"] == {
        "reason": None, "user_messages_left": 9, "first_message_id": 1, "last_message_id": 2,
    }  # fmt: skip


def test_the_last_reported_count_is_shown_and_a_cut_prompt_is_warned_of(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(db) as store:
        made = add_chat(store, "parcels", 1)
        call = store.calls.begin(
            made.id, turn_id=1, purpose="chat", model="llama3.2", limit_tokens=4096, parts=(), estimated_tokens=1000
        )
        store.calls.finish(made.id, call, status="done", input_tokens=400, output_tokens=20)
        started_at = store.calls.get(made.id, call).started_at.isoformat()
    seen = _context(db, capsys, "parcels")
    assert seen["reported"] == {
        "call": 1, "model": "llama3.2", "limit_tokens": 4096, "estimated_tokens": 1000, "input_tokens": 400,
        "output_tokens": 20, "started_at": started_at,
    }  # fmt: skip
    assert seen["warnings"] == [
        "on call 1 the server counted 400 prompt tokens and we sent about 1,000: it may have cut the prompt"
    ]


def test_the_budget_and_the_estimate_part_over_chinese_and_that_is_warned_of(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(db) as store:
        made = store.conversations.create(name="zh")
        add_turn(store, made, said("human", "明天上海的天气怎么样适合出门吗" * 40), said("ai", "好"))
    seen = _context(db, capsys, "zh")
    assert seen["estimate"] == {"tokens": 360, "method": "by script"}
    assert seen["warnings"] == ["a tokenizer would make about 360 tokens of this prompt; the budget counts 160"]


def test_explicit_settings_beat_the_conversations_own_and_those_beat_defaults(
    db: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(db) as store:
        add_chat(store, "own", 1, settings={"max_tokens": 500, "limit_tokens": 4096, "tools_tokens": 77})

    def shown(*args: str) -> tuple[object, object]:
        seen = _context(db, capsys, "own", *args)
        return seen["max_tokens"], seen["limit_tokens"]

    assert shown() == (500, 4096)
    monkeypatch.setenv("MEMCLI_MAX_TOKENS", "600")
    assert shown() == (600, 4096)
    assert shown("--max-tokens", "700", "--limit-tokens", "5000") == (700, 5000)
    parts = _context(db, capsys, "own")["parts"]
    assert isinstance(parts, list)
    assert (parts[0]["source"], parts[0]["tokens"]) == ("tools", 77)


@pytest.mark.parametrize(
    ("args", "code", "said_first"),
    [
        (["context", "nobody"], 3, "error: no conversation matches 'nobody'"),
        (["context", "trip", "--max-tokens", "-5"], 2, "error: max_tokens = -5 is too small"),
        (["context", "trip", "--max-tokens", "many"], 2, "error: max_tokens = 'many' is not a whole number"),
        (["context", "trip", "--max-tokens", "999999999999"], 2, "error: max_tokens = 999999999999 is too large"),
        (["context", "trip", "--output-reserve", "0"], 2, "error: output_reserve = 0 is too small"),
        (["context", "trip", "--limit-tokens", "600"], 2, "error: what is always sent needs 424 tokens and 0 are"),
        (["context", "trip", "--memory", "cube"], 2, "error: invalid value for '--memory': 'cube' is not one of"),
        (["context", "trip", "extra"], 2, "error: got unexpected extra argument(s) (extra)"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_says_why_with_its_exit_code(
    db: Path, capsys: pytest.CaptureFixture[str], args: list[str], code: int, said_first: str
) -> None:
    with Store(db) as store:
        add_chat(store, "trip", 1)
    assert main(command(db, *args)) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[0].startswith(said_first)


def test_an_overflow_is_an_error_document_with_needed_and_available(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(db) as store:
        store.conversations.create(name="big", system_prompt="word " * 8000)
    assert main(command(db, "context", "big", "--json")) == 2
    assert read_document(capsys.readouterr().out) == {
        "version": 1,
        "error": {
            "message": "what is always sent needs 2,837 tokens and 0 are available",
            "hint": "shorten it, raise --limit-tokens, or lower --output-reserve",
            "exit_code": 2,
        },
    }


def test_a_store_that_is_not_there_is_named(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(db, "context")) == 2
    assert capsys.readouterr().err.splitlines()[0] == f"error: there is no store at {db}"
    assert not db.exists()


@pytest.mark.parametrize("turns", [50, 500])
def test_a_picture_reads_the_window_and_one_row_more_however_long_the_conversation(db: Path, turns: int) -> None:
    """Beside messages it reads the last turn, twice, and a count of the user's messages."""
    with Store(db) as store:
        made = add_chat(store, "long", turns)
        before = store.rows_read
        picture = take(store, made, Policy(max_tokens=630))
        read = store.rows_read - before
    assert sum(part.source == "message" for part in picture.context.parts) == 28
    assert read == 28 + 1 + 3


def _run(db: Path, script: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "MEMCLI_DB": str(db), "NO_COLOR": ""}
    return subprocess.run(["bash", "-c", script], env=environ, capture_output=True, text=True, check=False)


def test_a_pipe_gets_everything_uncut_and_uncoloured(db: Path) -> None:
    long_line = "The shipping manifest of depot nine lists " + "crate, " * 60 + "and the last item is a kettle."
    with Store(db) as store:
        made = store.conversations.create(name="piped")
        add_turn(store, made, said("human", long_line), said("ai", "Noted."))
    done = _run(db, f"{sys.executable} -m memcli context piped | cat")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"#1 user {long_line}" in done.stdout.splitlines()
    assert "\x1b" not in done.stdout
    assert " forgotten: nothing · every message is in the context in some form" in done.stdout.splitlines()


def test_a_reader_that_leaves_early_is_no_error(db: Path) -> None:
    with Store(db) as store:
        add_chat(store, "piped", 30)
    done = _run(db, f"set -o pipefail; {sys.executable} -m memcli context piped | head -1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "piped  what the agent sees next · memory window · 60 messages stored\n"


def test_context_imports_no_langchain_no_prompt_toolkit_and_no_http(db: Path) -> None:
    with Store(db) as store:
        add_chat(store, "piped", 30)
    code = (
        "import sys; from memcli.cli.main import main; main(['context', 'piped']);"
        " names = ('langchain_core', 'prompt_toolkit', 'httpx', 'sqlite_utils');"
        " print([name for name in names if name in sys.modules], file=sys.stderr)"
    )
    assert _run(db, f'{sys.executable} -c "{code}"').stderr == "[]\n"
