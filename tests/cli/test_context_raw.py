"""`memcli context --raw`: exactly what the provider gets, against the bytes a recording server received."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from memcli.memory.tokens import count_message_tokens
from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.stories import message
from tests.cli.terminals import in_terminal
from tests.ollama_replies import calls, text, thinks
from tests.ollama_server import FakeOllama, Served

TOOLS = '''
from typing import Literal

def look(query: str, depth: int = 2, where: Literal["here", "there"] | None = None, tags: list[str] = []) -> str:
    """Look something up."""
    return f"{query}: é 京都 " + "plain words " * 4000

def price(of: str) -> float:
    """Tell a price."""
    return 1.5
'''
"""Tools whose schemas have defaults, choices and lists, and one whose results never fit."""


def received(server: FakeOllama) -> list[str]:
    """Read the body of every chat request as it came in."""
    return [request.body.decode() for request in server.requests if request.path == "/api/chat"]


def raw(run: Run, *args: str) -> str:
    said = run("context", "talk", "--raw", *args)
    assert said.code == 0
    return said.out.removesuffix("\n")


def test_raw_of_every_call_is_to_the_byte_what_the_server_received(
    run: Run, server: FakeOllama, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "raw_tools.py").write_text(TOOLS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(home))
    tools = ("--tools", "raw_tools:look", "--tools", "raw_tools:price")
    server.script.extend([
        calls(("look", {"query": "é \U0001f600", "tags": ["a", "ü"], "depth": 3}), say="Let me look."),
        calls(("price", {"of": "x"}), ("now", {}), ("nothing", {"of": {"n": [1, 2.5, None, True, 1e300]}})),
        text("It is noon."), text("No, {x} [/b] é 京都."), text("They spoke of the time.")])  # fmt: skip
    run("chat", "What time is it?", "--name", "talk", "--system", "Be {brief}.", "--limit-tokens", "4096", *tools, "-q")
    run("chat", "Is it\r\nlate? \x1b[31m", "-c", "talk", "--max-tokens", "40", "-q")
    run("chat", "And \u2028now?", "-c", "talk", "-q")

    sent = received(server)
    assert len(sent) == 6  # the fifth is the fold
    for call, place in ((1, 0), (2, 1), (3, 2), (4, 3), (6, 5)):
        said = run("context", "talk", "--raw", "--call", str(call))
        assert (said.out, said.err) == (f"{sent[place]}\n", "")
    assert "left out" in sent[1]
    assert "left out" in sent[2]
    assert "They spoke of the time." in sent[5]


def test_raw_of_a_thinking_model_s_call_says_that_it_thinks(run: Run, server: FakeOllama) -> None:
    server.models = (Served(capabilities=("completion", "tools", "thinking")),)
    server.script.extend([thinks("The user greets me.", "Hello."), text("Fine.")])
    run("chat", "Hi", "--name", "talk", "--no-tools", "-q")
    run("chat", "How are you?", "-c", "talk", "-q")

    assert [raw(run, "--call", "1"), raw(run, "--call", "2")] == received(server)
    assert '"think": true' in raw(run, "--call", "1")


def test_raw_under_memory_turns_is_to_the_byte_what_the_server_received(run: Run, server: FakeOllama) -> None:
    server.script.extend([calls(("now", {})), text("Noon."), text("**Summary** of it."), text("Yes.")])
    run("chat", "What time is it?", "--name", "talk", "--memory", "turns", "-q")
    run("chat", "Are you sure?", "-c", "talk", "-q")

    with Store(Path("data/memcli.db")) as store:
        made = store.calls.newest_first(store.conversations.find("talk").id, purpose="chat")
    sent = set(received(server))
    assert len(made) == 3
    assert all(raw(run, "--call", str(call.id)) in sent for call in made)


@pytest.mark.parametrize("memory", ["window", "turns"])
def test_raw_of_the_next_call_is_to_the_byte_what_the_server_gets_then(
    run: Run, server: FakeOllama, memory: str
) -> None:
    for number in range(6):
        run("chat", f"Question {number}: what of order PX-{number}? " * 6, *_named(number), "--memory", memory, "-q")
    said = run("context", "talk", "--raw", "--message", " And \u4e94 now? ")

    run("chat", " And \u4e94 now? ", "-c", "talk", "-q")

    chats = [body for body in received(server) if '"stream": true' in body and "now?" in body]
    assert _untimed(said.out) == f"{_untimed(chats[0])}\n"
    timed = "; the time in the coming message's line is the one when it is said" if memory == "turns" else ""
    assert re.fullmatch(rf"note: the model, the tools and the options are those of call \d+{timed}\n", said.err)


def _named(number: int) -> tuple[str, ...]:
    return ("-c", "talk") if number else ("--name", "talk", "--system", "You track parcels.", "--max-tokens", "120")


def _untimed(body: str) -> str:
    """Leave out when the coming message is said, which memory `turns` tells the model."""
    return re.sub(r"(.*)\d\d\d\d-\d\d-\d\d[^\]]*(\].*\\u4e94)", r"\1\2", body)


def test_raw_of_the_next_call_without_its_message_has_all_but_that(run: Run, server: FakeOllama) -> None:
    run("chat", "Hi", "--name", "talk", "-q")

    said = run("context", "talk", "--raw")

    run("chat", "And now?", "-c", "talk", "-q")
    expected = json.loads(said.out)
    expected["messages"].append({"role": "user", "content": "And now?"})
    expected["options"]["num_predict"] -= count_message_tokens(role="user", content="And now?")
    assert json.loads(received(server)[-1]) == expected
    assert said.err.startswith("note: the model, the tools and the options are those of call 1; what you say next is")


def test_raw_without_a_recorded_call_is_the_messages_and_says_so(run: Run, store: Store) -> None:
    talk = store.conversations.create(name="work")
    said = [message("human", "Rain?", content="Rain?"), message("ai", "\u4eac", content="\u4eac")]
    store.messages.append(talk.id, said)

    shown = run("context", "work", "--raw")

    first, second = {"role": "user", "content": "Rain?"}, {"role": "assistant", "content": "\u4eac"}
    assert json.loads(shown.out) == {"messages": [first, second]}
    assert shown.err == "note: there is no call to go by: the messages alone, as Ollama's API has them\n"


def test_raw_as_json_has_the_messages_and_the_body(run: Run, server: FakeOllama) -> None:
    run("chat", "Hi", "--name", "talk", "-q")

    said = run("context", "talk", "--raw", "--call", "1", "--json")

    assert (said.document["body"], said.document["note"]) == (received(server)[0], None)
    assert [message["content"] for message in said.listed("messages")] == ["Hi"]


def test_raw_of_what_is_not_stored_whole_any_more_says_so(run: Run, server: FakeOllama, store: Store) -> None:
    run("chat", "Hi", "--name", "talk", "--no-tools", "-q")
    talk = store.conversations.find("talk")
    store.calls.note_request(talk.id, 1, '{"form": "ollama", "check": "1:0", "body": {"model": "m", "messages": null}}')

    said = run("context", "talk", "--raw", "--call", "1")

    assert said.out == '{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}\n'
    assert said.err == "note: what call 1 saw is not stored whole any more: it sent other bytes than these\n"


def test_raw_on_a_terminal_is_for_a_person_whole_and_cleaned(run: Run, server: FakeOllama) -> None:
    run("chat", "Hi \x1b[31mred", "--name", "talk", "-q")

    shown = in_terminal("context", "talk", "--raw", "--call", "1", "--no-color").out.replace("\r\n", "\n")

    assert '── request\nmodel  "tiny:latest"\nstream  true\n' in plain(shown)
    assert "\ntools  recall, now, update_plan\n" in plain(shown)
    assert "── user  #1\nHi red\n" in plain(shown)


def plain(shown: str) -> str:
    """Leave out what styles a terminal's text."""
    return re.sub(r"\x1b\[[0-9;]*m", "", shown)
