"""Looking at a conversation under either memory model: nothing is written, and what is not there yet is told."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memcli.memory.context import Policy, Request
from memcli.memory.model import memory_of
from memcli.memory.summarizer import ExtractiveSummarizer
from memcli.records import Conversation
from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.conversations import add_chat, add_turn, said
from tests.cli.terminals import Outcome, in_shell, in_terminal

CALL = {"id": "c1", "name": "look", "args": {"at": "depot 9"}}


def settle(store: Store, conversation: Conversation, *, all: bool = False) -> None:
    """Make the summaries the conversation lacks, as a later process would."""
    now = store.conversations.get(conversation.id)
    memory_of("turns").settle(store, now, Policy(), ExtractiveSummarizer(), Request(), if_needed=not all)


def kept_under_turns(store: Store, name: str, turns: int) -> Conversation:
    """Store a conversation kept under Model B, every turn summarised."""
    made = add_chat(store, name, turns)
    store.conversations.set_memory(made.id, "turns")
    settle(store, made)
    return store.conversations.get(made.id)


def files(home: Path) -> dict[str, bytes]:
    """Read every file of the store, its log included."""
    return {path.name: path.read_bytes() for path in sorted((home / "data").iterdir())}


def sources(outcome: Outcome) -> list[tuple[object, object, object]]:
    return [(part["source"], part["first_message_id"], part["last_message_id"]) for part in outcome.listed("parts")]


@pytest.mark.parametrize(
    "args",
    [
        ["context", "parcels", "--memory", "turns"],
        ["context", "parcels", "--memory", "turns", "--json"],
        ["context", "parcels", "--memory", "turns", "--raw"],
        ["compact", "parcels", "--memory", "turns", "--dry-run"],
        ["summaries", "parcels"],
        ["history", "--children"],
    ],
    ids=" ".join,
)
def test_inspecting_changes_no_byte_of_the_store(run: Run, home: Path, args: list[str]) -> None:
    with Store(home / "data" / "memcli.db") as store:
        add_chat(store, "parcels", 12)
    before = files(home)
    assert run(*args).code == 0
    assert files(home) == before


def test_a_window_conversation_under_turns_says_which_summaries_it_lacks(run: Run, store: Store) -> None:
    add_chat(store, "parcels", 12)

    document = run("context", "parcels", "--memory", "turns", "--max-tokens", "200", "--json").document

    assert (document["memory"], document["kept_under"]) == ("turns", "window")
    lacks = document["lacks"]
    assert isinstance(lacks, dict)
    assert (lacks["turns"], lacks["messages"], lacks["requests"]) == (12, 24, 13)
    assert lacks["tokens"] > 12 * 60
    assert run("context", "parcels").out.startswith("parcels  what the agent sees next · memory window · ")


def test_what_making_them_costs_is_told_in_words(run: Run, store: Store) -> None:
    add_chat(store, "parcels", 2)
    out = run("context", "parcels", "--memory", "turns").out
    lacks = run("context", "parcels", "--memory", "turns", "--json").document["lacks"]
    assert isinstance(lacks, dict)
    assert out.startswith("parcels  what it would see under memory turns · kept under window · 4 messages stored\n")
    cost = f"a model makes them in 2 requests, at most {lacks['tokens']:,} tokens in, the extractive summarizer in none"
    assert f" lacking:   2 turn summaries, over 4 messages; {cost}\n" in out
    assert " next fold: due at once under memory turns: 2 completed turns have no summary of their own\n" in out


def test_the_picture_of_a_settled_conversation_holds_a_summary_a_turn(run: Run, store: Store) -> None:
    kept_under_turns(store, "parcels", 3)
    shown = run("context", "parcels", "--json")
    assert sources(shown) == [
        ("turn_summary", 1, 2), ("turn_summary", 3, 4), ("turn_summary", 5, 6), ("reserve", None, None),
    ]  # fmt: skip
    assert shown.document["messages"] == {
        "total": 6, "verbatim": 0, "clipped": 0, "summarised": 6, "forgotten": 0, "excluded": 0,
    }  # fmt: skip
    assert shown.document["lacks"] == {"turns": 0, "messages": 0, "requests": 0, "tokens": 0}
    assert run("context", "parcels", "--memory", "window", "--json").document["lacks"] is None


def test_every_kind_of_part_stands_in_the_designs_order(run: Run, store: Store) -> None:
    made = kept_under_turns(store, "parcels", 3)
    settle(store, made, all=True)
    add_turn(store, made, said("human", "Where is van 4?"), said("ai", "Van 4 stands at the depot in Leeds."))
    settle(store, made)
    add_turn(store, made, said("human", "And van 5?"), said("ai", "Van 5 is on the road to York."))
    store.plans.save(made.id, "Count every van.")
    add_turn(store, made, said("human", "Is there a van 6?"), said("ai", "", tool_calls=[CALL]), status="open")

    shown = run("context", "parcels", "--json")

    assert [source for source, _, _ in sources(shown)] == [
        "compaction", "values", "turn_summary", "message", "message", "plan", "new", "message", "reserve",
    ]  # fmt: skip
    assert sources(shown)[2:4] == [("turn_summary", 7, 8), ("message", 9, 9)]
    picture = run("context", "parcels").out
    for row in ("compaction", "values", "turn summaries", "pending", "plan", "ongoing turn"):
        assert f"\n {row} " in picture, row
    assert "── summaries #1–#8 · " in picture
    assert "── pending, ongoing #9–#12 · " in picture
    assert "\ns5 #7–#8 Request: " in picture
    assert "#11 user Is there a van 6?\n" in picture


@pytest.mark.parametrize("columns", [60, 80, 100, 120])
def test_no_line_of_it_is_wider_than_the_terminal(store: Store, columns: int) -> None:
    made = kept_under_turns(store, "parcels", 14)
    add_turn(store, made, said("human", "Is there a van 6?"), status="open")
    for args in (["context", "parcels"], ["summaries", "parcels"], ["history", "--children"]):
        lines = in_terminal(*args, "--no-color", columns=columns, environ={"PAGER": ""}).out.splitlines()
        assert max(len(re.sub("\x1b\\[[0-9;]*m", "", line)) for line in lines) <= columns


def test_raw_is_what_a_provider_gets(run: Run, store: Store) -> None:
    made = store.conversations.create(name="trip", system_prompt="Be brief.")
    result = said("tool", "nine vans", tool_call_id="c1")
    add_turn(store, made, said("human", "How many?"), said("ai", "", tool_calls=[CALL]), result, said("ai", "Nine."))
    document = run("context", "trip", "--raw", "--json").document
    nothing: dict[str, object] = {"tool_calls": [], "tool_call_id": None, "name": None, "is_error": False}
    assert document == {
        "version": 1, "conversation": made.id, "memory": "window", "limit_tokens": 8192,
        "messages": [
            {"role": "system", "content": "Be brief.", **nothing, "message_id": None},
            {"role": "user", "content": "How many?", **nothing, "message_id": 1},
            {"role": "assistant", "content": "", **nothing, "tool_calls": [CALL], "message_id": 2},
            {"role": "tool", "content": "nine vans", **nothing, "tool_call_id": "c1", "message_id": 3},
            {"role": "assistant", "content": "Nine.", **nothing, "message_id": 4},
        ],
        "body": run("context", "trip", "--raw").out.rstrip("\n"),
        "note": "there is no call to go by: the messages alone, as Ollama's API has them",
    }  # fmt: skip
    call = {"function": {"name": CALL["name"], "arguments": CALL["args"]}}
    body = {"messages": [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "How many?"},
        {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "nine vans"},
        {"role": "assistant", "content": "Nine."},
    ]}  # fmt: skip
    assert run("context", "trip", "--raw").out == f"{json.dumps(body)}\n"


def test_raw_under_turns_tells_recalls_as_messages_of_the_harness(run: Run, store: Store) -> None:
    kept_under_turns(store, "parcels", 2)
    messages = run("context", "parcels", "--raw", "--json").listed("messages")
    assert [message["role"] for message in messages] == ["user", "user"]
    assert all(str(message["content"]).startswith("[[harness turn summary | ") for message in messages)


def test_raw_cannot_act_on_the_terminal(run: Run, store: Store) -> None:
    made = store.conversations.create(name="evil")
    add_turn(store, made, said("human", "\x1b[31mred"), said("ai", "", tool_calls=[{**CALL, "name": "\x1b[2J"}]))
    assert "\x1b" not in run("context", "evil", "--raw").out


def test_a_window_conversation_never_loads_the_other_model(home: Path) -> None:
    with Store(home / "data" / "memcli.db") as store:
        add_chat(store, "parcels", 12)
    names = ["turns", "rolling", "lacking", "extract", "facts"]
    code = (
        "import sys; from memcli.cli.main import main; main(['context', 'parcels']);"
        f" print([name for name in {names} if f'memcli.memory.{{name}}' in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_a_reader_that_leaves_early_is_no_error(store: Store) -> None:
    kept_under_turns(store, "parcels", 30)
    assert (in_shell("memcli context parcels | head -1").code, in_shell("memcli summaries | head -1").code) == (0, 0)
