"""`memcli history`: the list, one conversation, search, names, and the untrusted text in all of them."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memcli.cli.cleaning import clean
from memcli.cli.history_rows import title_of
from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.stories import BEGAN, EVIL, EVIL_SHOWN, a_talk, message
from tests.cli.terminals import Outcome, in_pipe, in_terminal

TALK = """\
#1 human  turn 1  6 tokens  2026-01-31 14:05
what is the weather in Kyoto

#2 ai  turn 1  0 tokens  2026-01-31 14:06
→ weather(city="京都", days=2)

#3 tool  turn 1  1 tokens  2026-01-31 14:07
rain

#4 ai  turn 1  2 tokens  2026-01-31 14:08
It rains.

#5 human  turn 2  2 tokens  2026-01-31 15:05
[failed: outside every context]
and tomorrow?

"""


def test_a_fresh_machine_has_no_conversations_and_is_told_how_to_begin(run: Run, home: Path) -> None:
    assert run("history") == Outcome(0, "", "no conversations yet: start one with `memcli chat`\n")
    assert run("history", "--json").document == {"version": 1, "conversations": []}
    assert not (home / "data").exists()


def test_the_list_has_one_row_a_conversation_the_newest_first(run: Run, store: Store) -> None:
    older, newer = a_talk(store), a_talk(store, name=None)
    lines = [line.split() for line in run("history").out.splitlines()]
    assert [line[:7] for line in lines] == [
        ["id", "name", "model", "memory", "turns", "messages", "tokens"],
        [newer.id[:8], "what", "is", "the", "weather", "in", "Kyoto"],
        [older.id[:8], "work", "qwen3:4b", "window", "2", "5", "11"],
    ]


def test_the_list_as_json_is_what_is_promised(run: Run, store: Store) -> None:
    talk = a_talk(store)
    row = {
        "id": talk.id, "name": "work", "model": "qwen3:4b", "memory": "window", "turns": 2, "messages": 5, "tokens": 11,
        "parent_id": None, "forked_at": None, "source": None, "created_at": BEGAN.isoformat(),
        "updated_at": talk.updated_at.isoformat(), "title": "work",
    }  # fmt: skip
    assert run("history", "--json").document == {"version": 1, "conversations": [row]}
    assert run("history", "--jsonl").rows == [row]


def test_a_limit_takes_the_newest_conversations_and_says_that_there_are_more(run: Run, store: Store) -> None:
    a_talk(store, "old")
    newer = a_talk(store, "new")
    listed = run("history", "-n", "1")
    assert [line.split()[0] for line in listed.out.splitlines()] == ["id", newer.id[:8]]
    assert listed.err == "the newest 1; -n 0 lists them all\n"


@pytest.mark.parametrize(
    ("since", "count"), [("1h", 1), ("2020-01-01", 1), ("2999-01-01", 0), ("2999-01-01T00:00Z", 0)]
)
def test_since_takes_an_age_or_a_date(run: Run, store: Store, since: str, count: int) -> None:
    a_talk(store)
    assert len(run("history", "--since", since, "--jsonl").rows) == count


def test_a_conversation_is_shown_message_by_message(run: Run, store: Store) -> None:
    a_talk(store)
    assert run("history", "work") == Outcome(0, TALK, "")


def test_a_conversation_as_json_is_what_is_promised(run: Run, store: Store) -> None:
    talk = a_talk(store)
    document = run("history", "work", "--json").document
    assert list(document) == ["version", "conversation", "messages"]
    messages = document["messages"]
    assert isinstance(messages, list)
    assert messages[1] == {
        "id": 2, "turn": 1, "kind": "ai", "role": "ai", "text": "", "tool_call_id": None, "tokens": 0, "state": "whole",
        "tool_calls": [{"id": "c1", "name": "weather", "args": {"city": "京都", "days": 2}}],
        "created_at": (BEGAN + timedelta(minutes=1)).isoformat(), "pinned": False,
    }  # fmt: skip
    assert [(item["id"], item["tool_call_id"], item["state"]) for item in messages] == [
        (1, None, "whole"), (2, None, "whole"), (3, "c1", "whole"), (4, None, "whole"), (5, None, "failed"),
    ]  # fmt: skip
    assert run("history", talk.id[:6], "--jsonl").rows == messages


def test_a_conversation_without_messages_says_so(run: Run, store: Store) -> None:
    store.conversations.create(name="empty")
    assert run("history", "empty") == Outcome(0, "", "no messages\n")
    assert run("history", "empty", "--json").document["messages"] == []


@pytest.mark.parametrize(
    ("args", "ids"),
    [
        (["-n", "2"], [4, 5]),
        (["--role", "ai"], [2, 4]),
        (["--role", "ai", "-n", "1"], [4]),
        (["--since", "2026-01-31T14:08Z"], [4, 5]),
        (["--since", "2026-01-31T14:07+00:00", "--role", "human", "-n", "9"], [5]),
        (["-n", "0"], [1, 2, 3, 4, 5]),
    ],
)
def test_messages_are_filtered_before_they_are_counted(run: Run, store: Store, args: list[str], ids: list[int]) -> None:
    a_talk(store)
    assert [row["id"] for row in run("history", "work", "--jsonl", *args).rows] == ids


def test_the_newest_messages_are_read_without_the_others(run: Run, store: Store) -> None:
    talk = a_talk(store)
    store.messages.append(talk.id, [message("human", f"question {n}") for n in range(5000)])
    assert [row["id"] for row in run("history", "work", "-n", "2", "--jsonl").rows] == [5004, 5005]


def test_a_search_shows_where_it_was_said(run: Run, store: Store) -> None:
    talk = a_talk(store)
    shown = f"{talk.id[:8]} work #4 ai  2026-01-31 14:08\nIt rains.\n\n"
    assert run("history", "--search", "rains") == Outcome(0, shown, "")
    assert run("history", "work", "--search", "rains") == Outcome(0, shown.partition("work ")[2], "")


def test_a_search_as_json_has_the_whole_messages_and_the_place(run: Run, store: Store) -> None:
    talk = a_talk(store)
    rows = run("history", "--search", "RAIN", "--jsonl").rows
    assert {(row["conversation_id"], row["id"], row["snippet"]) for row in rows} == {
        (talk.id, 3, "rain"), (talk.id, 4, "It rains."),
    }  # fmt: skip
    document = run("history", "work", "--search", "rain", "--role", "tool", "--json").document
    assert document["messages"] == [row for row in rows if row["id"] == 3]


@pytest.mark.parametrize("text", ["what's (", '"', "*", "NEAR(", "京都京都", "\U0001f600", "a OR b", "\x1b[31m"])
def test_a_search_for_nothing_there_says_so_whatever_is_typed(run: Run, store: Store, text: str) -> None:
    a_talk(store)
    found = run("history", "--search", text)
    assert (found.code, found.out, found.err.startswith("no message contains ")) == (0, "", True)


def test_a_search_marks_what_it_found(store: Store) -> None:
    a_talk(store)
    assert "It \x1b[1;7mrain\x1b[0ms." in in_terminal("history", "--search", "rain").out


def test_a_rename_is_seen_by_the_next_command(run: Run, store: Store) -> None:
    talk = a_talk(store, name=None)
    assert run("history", talk.id[:8], "--rename", "trip") == Outcome(0, "", f"{talk.id[:8]} is now called 'trip'\n")
    assert run("history", "trip", "--rename", "").err == f"{talk.id[:8]} has no name now\n"
    renamed = run("history", "last", "--rename", "trip", "--json").document["conversation"]
    assert isinstance(renamed, dict)
    assert (renamed["id"], renamed["name"]) == (talk.id, "trip")


@pytest.mark.parametrize("name", ["last", " x", "x\n", "\x1b[31m"])
def test_a_name_that_would_mislead_is_refused(run: Run, store: Store, name: str) -> None:
    a_talk(store)
    refused = run("history", "work", "--rename", name)
    assert (refused.code, refused.out) == (2, "")
    assert "cannot be a name" in refused.err


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (["--rename", "x"], "--rename needs a conversation", "run `memcli history CONVERSATION --rename NAME`"),
        (["--role", "ai"], "--role needs a conversation or --search", "run `memcli history last --role human`"),
        (["--search", " "], "--search has nothing to look for", "pass a word, or a phrase in double quotes"),
    ],
)
def test_flags_that_do_not_belong_together_are_refused(
    run: Run, store: Store, args: list[str], message: str, hint: str
) -> None:
    a_talk(store)
    assert run("history", *args) == Outcome(2, "", f"error: {message}\nhint: {hint}\n")


def test_text_from_a_model_cannot_act_on_the_terminal(run: Run, store: Store) -> None:
    talk = store.conversations.create(name=EVIL, model=EVIL)
    call = {"id": "c1", "name": EVIL, "args": {EVIL: EVIL}}
    store.messages.append(talk.id, [message("human", EVIL), message("ai", "", tool_calls=[call])])
    assert EVIL_SHOWN in run("history").out
    shown = run("history", "last").out
    assert f"\n{EVIL_SHOWN}\n" in shown
    for out in (run("history").out, shown, run("history", "--search", "gnp").out):
        assert not set("\x1b\x07\u202e") & set(out)


def test_text_from_a_model_is_exact_in_json(run: Run, store: Store) -> None:
    talk = store.conversations.create()
    store.messages.append(talk.id, [message("human", EVIL)])
    [row] = run("history", "last", "--jsonl").rows
    assert row["text"] == EVIL
    assert run("history", "last", "--jsonl").out.isascii()


def test_a_megabyte_on_one_line_is_shown_whole_in_a_pipe(run: Run, store: Store) -> None:
    talk = store.conversations.create()
    store.messages.append(talk.id, [message("tool", "x" * 1_000_000)])
    assert run("history", "last").out.splitlines()[1] == "x" * 1_000_000


def test_a_damaged_row_is_shown_and_the_others_too(run: Run, store: Store) -> None:
    talk = store.conversations.create()
    damaged = message("human", "hello")
    store.messages.append(talk.id, [message("human", "before"), damaged, message("ai", "after")])
    connection = sqlite3.connect(store.path)
    connection.execute("update messages set payload = '{\"type\":' where id = 2")
    connection.commit()
    connection.close()
    states = [(row["id"], row["role"], row["state"], row["text"]) for row in run("history", "last", "--jsonl").rows]
    assert states == [
        (1, "human", "whole", "before"), (2, "other", "unreadable", "hello"), (3, "ai", "whole", "after"),
    ]  # fmt: skip
    assert "[unreadable: the row is damaged; kept, never sent]\nhello\n" in run("history", "last").out


@pytest.mark.parametrize("calls", [5, ["x"], [{"args": "x"}], [{"name": None, "args": [1]}]])
def test_tool_calls_of_a_shape_nobody_expected_do_not_hide_the_message(run: Run, store: Store, calls: object) -> None:
    talk = store.conversations.create()
    store.messages.append(talk.id, [message("ai", "still here", tool_calls=calls)])
    assert "\nstill here\n" in run("history", "last").out
    assert run("history", "last", "--jsonl").code == 0


def test_a_terminal_cuts_names_and_a_pipe_does_not(store: Store) -> None:
    name = "a name " * 20
    store.conversations.create(name=name.strip())
    lines = clean(in_terminal("history", columns=80).out).splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "a name a name" in lines[1]
    assert "…" in lines[1]
    assert name.strip() in in_pipe("history", environ={"COLUMNS": "40"}).out


@pytest.mark.parametrize(
    ("args", "environ", "is_coloured"),
    [
        ([], {}, True),
        (["--no-color"], {}, False),
        ([], {"NO_COLOR": "1"}, False),
        (["--no-color"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_a_terminal_is_coloured_unless_told_not_to(
    store: Store, args: list[str], environ: dict[str, str], is_coloured: bool
) -> None:
    a_talk(store)
    assert ("\x1b[1;36mhuman" in in_terminal("history", "work", *args, environ=environ).out) is is_coloured


@pytest.mark.parametrize(("environ", "is_coloured"), [({}, False), ({"FORCE_COLOR": "1"}, True)])
def test_a_pipe_is_coloured_only_when_told_to(store: Store, environ: dict[str, str], is_coloured: bool) -> None:
    a_talk(store)
    assert ("\x1b[" in in_pipe("history", "work", environ=environ).out) is is_coloured


def test_columns_wins_over_the_terminals_width(store: Store) -> None:
    talk = store.conversations.create()
    store.messages.append(talk.id, [message("human", "word " * 40)])
    lines = in_terminal("history", "last", columns=120, environ={"COLUMNS": "40"}).out.splitlines()
    assert max(len(line) for line in lines[1:]) <= 40


def test_a_pager_gets_what_a_terminal_would(store: Store, home: Path) -> None:
    a_talk(store)
    shown = in_terminal("history", "work", "--no-color", environ={"PAGER": f"tee {home}/paged"})
    assert shown.code == 0
    assert (home / "paged").read_text().replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "")[
        :8
    ] == "#1 human"


def test_a_pager_that_is_not_there_is_named(store: Store) -> None:
    a_talk(store)
    shown = in_terminal("history", "work", environ={"PAGER": "no-such-pager"})
    said = "error: the pager 'no-such-pager' cannot be run (No such file or directory)"
    assert (shown.code, shown.out) == (2, f"{said}\nhint: set PAGER to another, or to cat\n")


def test_a_terminal_lists_the_newest_twenty_and_a_pipe_all(store: Store) -> None:
    for number in range(21):
        store.conversations.create(name=f"talk {number}", created_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert in_terminal("history").out.count("talk ") == 20
    assert in_pipe("history").out.count("talk ") == 21
    assert len(json.loads(in_pipe("history", "--json").out)["conversations"]) == 21


def test_a_conversation_without_a_name_is_called_by_its_first_words(run: Run, store: Store) -> None:
    talk = store.conversations.create()
    said = [message("system", "Be brief."), message("human", f"  {EVIL}\nand " + "more " * 40)]
    store.messages.append(talk.id, said)
    (row,) = run("history", "--jsonl").rows
    title = str(row["title"])
    assert (row["name"], len(title), title[-1]) == (None, 80, "…")
    assert title.startswith(f"{EVIL_SHOWN} and more more")
    assert "[/b] red clip" in run("history").out


def test_a_title_costs_one_row_a_conversation_without_a_name(run: Run, store: Store) -> None:
    a_talk(store, name=None)
    store.conversations.create()
    before = store.rows_read
    titles = [title_of(store, item) for item in store.conversations.list()]
    assert (titles, store.rows_read - before) == ([None, "what is the weather in Kyoto"], 2 + 1)


def a_family(store: Store) -> list[str]:
    """Store a talk, a fork of it, a sub-agent's conversation under that, and another talk; their ids in this order."""
    talk = a_talk(store)
    fork = store.conversations.fork(talk.id, at=2, name="other way")
    worker = store.conversations.create(parent_id=fork.id, name="count the vans")
    return [talk.id, fork.id, worker.id, a_talk(store, "alone").id]


def test_children_stand_under_the_conversation_they_come_from(run: Run, store: Store) -> None:
    talk, fork, worker, alone = a_family(store)
    lines = [" ".join(line.split()) for line in run("history", "--children").out.splitlines()]
    assert [line[: line.index(" messages") if place == 0 else -12].strip() for place, line in enumerate(lines)] == [
        "id name from turns", f"{alone[:8]} alone 2 5", f"{talk[:8]} work 2 5",
        f"{fork[:8]} └ other way fork of {talk[:8]} #2 1 2",
        f"{worker[:8]} └ count the vans sub-agent of {fork[:8]} 0 0",
    ]  # fmt: skip


def test_children_of_one_conversation_are_its_family(run: Run, store: Store) -> None:
    talk, fork, worker, _ = a_family(store)
    rows = run("history", "work", "--children", "--json").listed("conversations")
    assert [(row["id"], row["parent_id"], row["forked_at"]) for row in rows] == [
        (talk, None, None), (fork, talk, 2), (worker, fork, None),
    ]  # fmt: skip
    assert [row["id"] for row in run("history", "other way", "--children", "--jsonl").rows] == [fork, worker]


def test_a_child_whose_parent_is_not_listed_says_where_it_comes_from(run: Run, store: Store) -> None:
    talk = a_talk(store)
    fork = store.conversations.fork(talk.id, name="newer")
    shown = run("history", "--children", "-n", "1").out.splitlines()[1]
    assert " ".join(shown.split()).startswith(f"{fork.id[:8]} newer fork of {talk.id[:8]} #5 2 5 ")


def test_children_are_conversations_and_no_messages(run: Run, store: Store) -> None:
    a_talk(store)
    assert run("history", "--children", "--search", "rain").code == 2
    assert run("history", "--children", "--role", "ai").code == 2


def test_on_a_fresh_machine_there_are_no_families(run: Run) -> None:
    assert run("history", "--children") == Outcome(0, "", "no conversations yet: start one with `memcli chat`\n")
    assert run("history", "--children", "--json").document == {"version": 1, "conversations": []}
