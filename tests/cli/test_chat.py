"""`memcli chat MESSAGE`: one turn and out, over real HTTP against a stand-in Ollama server."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memcli.store import Store
from tests.cli.conftest import Run
from tests.cli.terminals import in_pipe, in_shell, in_terminal
from tests.ollama_replies import MODES, calls, text
from tests.ollama_server import FakeOllama, Served

SAID = "Hello from the stand-in."
NOT_THERE = "nothere cannot be imported (ModuleNotFoundError: No module named 'nothere')"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOllama]:
    with FakeOllama() as fake:
        monkeypatch.setenv("OLLAMA_HOST", fake.url)
        yield fake


@pytest.fixture(autouse=True)
def no_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))


@pytest.fixture
def tools_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    source = 'def double(n: int) -> str:\n    """Double a number."""\n    return str(2 * n)\n'
    (tmp_path / "their_tools.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "their_tools:double"


AGENT = """
from langchain_core.messages import HumanMessage
from memcli.agent.base import AgentConfigWithDefaults, BaseAgent

class Shouting(BaseAgent):
    def get_answer(self, input_text):
        if input_text == "break":
            raise RuntimeError("broken inside")
        history = self._injector.chat_history
        human = HumanMessage(input_text)
        answer = self._llm.invoke([*history.messages, human])
        history.add_messages([human, answer])
        return answer.text.upper()

def get_config():
    return AgentConfigWithDefaults(agent_class=Shouting, system_prompt="Shout.")
"""


@pytest.fixture
def agent_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "their_agent.py").write_text(AGENT)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "their_agent:get_config"


def test_the_answer_goes_to_standard_output_and_the_choice_of_model_to_standard_error(
    run: Run, server: FakeOllama
) -> None:
    outcome = run("chat", "Say hello")

    assert (outcome.code, outcome.out) == (0, f"{SAID}\n")
    assert outcome.err == f"tiny:latest · ollama · the most recently modified of 1 at {server.url} that can chat\n"


def test_quiet_leaves_nothing_but_the_answer(run: Run, server: FakeOllama) -> None:
    outcome = run("chat", "Say hello", "-q")

    assert (outcome.code, outcome.out, outcome.err) == (0, f"{SAID}\n", "")


def test_json_is_one_document_that_says_how_the_turn_went(run: Run, server: FakeOllama, store: Store) -> None:
    outcome = run("chat", "Say hello", "--json")

    conversation = store.conversations.find("last")
    assert outcome.document == {
        "version": 1,
        "conversation": conversation.id,
        "turn": 1,
        "answer": SAID,
        "status": "done",
        "model": "tiny:latest",
        "backend": "ollama",
        "why": f"the most recently modified of 1 at {server.url} that can chat",
        "input_tokens": outcome.document["input_tokens"],
        "output_tokens": 4,
        "finish_reason": "stop",
        "call": 1,
    }
    assert isinstance(outcome.document["input_tokens"], int)


def test_a_message_begins_a_new_conversation_and_continue_goes_on_with_the_last(
    run: Run, server: FakeOllama, store: Store
) -> None:
    run("chat", "one", "--name", "work")
    run("chat", "two", "-C")
    run("chat", "three", "-c", "work")
    run("chat", "four")

    found = {item.name: item.turns for item in store.conversations.list()}
    assert found == {"work": 3, None: 1}
    assert [str(message["content"]) for message in server.chats[2]["messages"]] == [  # type: ignore[attr-defined]
        "one", SAID, "two", SAID, "three"
    ]  # fmt: skip


def test_a_continued_conversation_keeps_its_model_and_says_so(run: Run, server: FakeOllama) -> None:
    run("chat", "one")

    outcome = run("chat", "two", "-C")

    assert outcome.err == f"tiny:latest · ollama · the one this conversation is held with, at {server.url}\n"


def test_the_message_is_the_instruction_and_piped_text_its_context(run: Run, server: FakeOllama) -> None:
    outcome = in_pipe("chat", "Summarise", "-q", stdin=b"a long\ntext \xff\n")

    assert (outcome.code, outcome.out) == (0, f"{SAID}\n")
    assert server.chats[0]["messages"] == [{"role": "user", "content": "Summarise\n\na long\ntext \ufffd"}]


def test_piped_text_alone_is_the_message(run: Run, server: FakeOllama) -> None:
    outcome = in_pipe("chat", "-q", stdin=b"hello\n")

    assert (outcome.code, outcome.out) == (0, f"{SAID}\n")
    assert server.chats[0]["messages"] == [{"role": "user", "content": "hello"}]


def test_the_system_prompt_and_the_limit_reach_the_model(run: Run, server: FakeOllama) -> None:
    run("chat", "hello", "--system", "Be {brief}.", "--limit-tokens", "2048")

    assert server.chats[0]["messages"] == [
        {"role": "system", "content": "Be {brief}."},
        {"role": "user", "content": "hello"},
    ]
    assert server.chats[0]["options"]["num_ctx"] == 2048  # type: ignore[index]


def test_flags_of_the_memory_stay_with_the_conversation(run: Run, server: FakeOllama, store: Store) -> None:
    run("chat", "hello", "--max-tokens", "500", "--summarizer", "extractive")

    settings = store.conversations.find("last").settings
    assert {name: settings.get(name) for name in ("max_tokens", "summarizer", "model")} == {
        "max_tokens": 500,
        "summarizer": "extractive",
        "model": "tiny:latest",
    }


def test_what_tools_do_is_said_on_standard_error(run: Run, server: FakeOllama, tools_module: str) -> None:
    server.script.extend([calls(("double", {"n": 21})), text("It is 42.")])

    outcome = run("chat", "double 21", "--tools", tools_module)

    assert (outcome.code, outcome.out) == (0, "It is 42.\n")
    assert outcome.err.splitlines()[1] == "→ double(n=21)  42"
    assert {"recall", "now", "double"} <= set(_offered(server))


def test_no_tools_offers_none(run: Run, server: FakeOllama) -> None:
    run("chat", "hello", "--no-tools")

    assert _offered(server) == []


def test_an_agent_of_the_seed_design_answers(run: Run, server: FakeOllama, agent_module: str, store: Store) -> None:
    outcome = run("chat", "hello", "--agent", agent_module, "--json")

    assert (outcome.code, outcome.document["answer"], outcome.document["turn"]) == (0, SAID.upper(), 1)
    conversation = store.conversations.find("last")
    assert conversation.system_prompt == "Shout."
    assert [message.text for message in store.messages.oldest_first(conversation.id)] == ["hello", SAID]


def test_what_an_agent_of_the_seed_design_raises_is_a_failed_turn(
    run: Run, server: FakeOllama, agent_module: str
) -> None:
    outcome = run("chat", "break", "--agent", agent_module)

    assert outcome.code == 4
    assert outcome.err.splitlines()[1] == "error: Shouting failed: RuntimeError: broken inside"


def test_a_configuration_that_is_none_is_refused(run: Run, server: FakeOllama, tools_module: str) -> None:
    outcome = run("chat", "hello", "--agent", "json:loads")

    assert outcome.code in (2, 4)
    assert outcome.err.startswith("error: ")


def test_escape_sequences_in_an_answer_do_not_reach_the_terminal(run: Run, server: FakeOllama) -> None:
    server.script.append(text("a\x1b", "[31mred\x1b]52;c;", "aGk=\x07[/b]\u202e\r", "\nend"))

    assert run("chat", "hello", "-q").out == "ared[/b]\nend\n"


def test_json_carries_the_answer_exactly(run: Run, server: FakeOllama) -> None:
    server.script.append(text("a\x1b[31mred"))

    assert run("chat", "hello", "--json").document["answer"] == "a\x1b[31mred"


def test_an_answer_at_its_limit_is_said_to_be_cut(run: Run, server: FakeOllama) -> None:
    server.script.append(MODES["length"])

    outcome = run("chat", "hello")

    assert (outcome.code, outcome.out) == (0, "An answer that is cut\n")
    assert outcome.err.splitlines()[1].startswith("the answer was cut: it reached the limit")


def test_an_empty_answer_is_said_to_be_one(run: Run, server: FakeOllama) -> None:
    server.script.append(MODES["empty"])

    outcome = run("chat", "hello")

    assert (outcome.code, outcome.out, outcome.err.splitlines()[1]) == (0, "", "the model answered nothing")


@pytest.mark.parametrize("mode", ["dies", "fades"])
def test_a_server_that_dies_leaves_the_partial_answer_and_exit_code_4(
    run: Run, server: FakeOllama, store: Store, mode: str
) -> None:
    server.script.append(MODES[mode])

    outcome = run("chat", "hello")

    assert (outcome.code, outcome.out) == (4, "Half an answer\n")
    assert outcome.err.splitlines()[1].startswith("error: ")
    last = store.messages.get(store.conversations.find("last").id, 2)
    assert (last.text, last.state) == ("Half an answer", "partial")


def test_a_server_that_dies_leaves_a_json_document_with_the_partial_answer_and_the_error(
    run: Run, server: FakeOllama
) -> None:
    server.script.append(MODES["dies"])

    outcome = run("chat", "hello", "--json")

    assert outcome.code == 4
    assert (outcome.document["answer"], outcome.document["status"]) == ("Half an answer", "interrupted")
    assert outcome.document["error"]["exit_code"] == 4  # type: ignore[index]


def test_a_message_larger_than_the_limit_is_refused_with_what_it_needs(
    run: Run, server: FakeOllama, store: Store
) -> None:
    outcome = run("chat", "word " * 20_000, "--limit-tokens", "4096")

    assert outcome.code == 2
    assert "tokens" in outcome.err.splitlines()[1]
    assert "available" in outcome.err.splitlines()[1]
    assert server.chats == []
    assert store.messages.get(store.conversations.find("last").id, 1).text == ("word " * 20_000).strip()


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("",), 2, "there is nothing to say: the message is empty"),
        (("hi", "-c", "x", "-C"), 2, "-c and -C exclude one another"),
        (("hi", "--no-tools", "--tools", "a:b"), 2, "--tools and --no-tools exclude one another"),
        (("hi", "--tools", "nothere:x"), 2, NOT_THERE),
        (("hi", "--tools", "nothere"), 2, "'nothere' names no object"),
        (("hi", "--agent", "nothere:x"), 2, NOT_THERE),
        (("hi", "--agent", "os:sep"), 2, "os:sep gives str, not an AgentConfig"),
        (("hi", "--name", "last"), 2, "'last' cannot be a name"),
        (("hi", "--max-tokens", "-1"), 2, "max_tokens = -1 is too small"),
        (("hi", "-c", "nothere"), 3, "no conversation matches 'nothere'"),
        (("hi", "-C"), 3, "there are no conversations yet"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_before_anything_is_stored(
    run: Run, server: FakeOllama, store: Store, args: tuple[str, ...], code: int, message: str
) -> None:
    outcome = run("chat", *args)

    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.splitlines()[-2] == f"error: {message}"
    assert store.conversations.list() == []


def test_every_refusal_is_a_json_document_when_json_is_asked_for(run: Run, server: FakeOllama) -> None:
    outcome = run("chat", "hi", "-c", "nothere", "--json")

    assert outcome.code == 3
    assert outcome.document["error"] == {
        "message": "no conversation matches 'nothere'",
        "hint": "run `memcli history` to list conversations",
        "exit_code": 3,
    }


def test_a_name_that_is_taken_is_refused(run: Run, server: FakeOllama) -> None:
    run("chat", "hi", "--name", "work")

    outcome = run("chat", "hi", "--name", "work")

    assert outcome.code == 2
    assert outcome.err == (
        "error: a conversation is called 'work' already\nhint: continue it with -c 'work', or choose another\n"
    )


def test_a_wrong_model_name_lists_the_models_that_are_there(run: Run, server: FakeOllama, store: Store) -> None:
    outcome = run("chat", "hi", "-m", "tinny")

    assert outcome.code == 3
    assert "tiny:latest" in outcome.err
    assert store.conversations.list() == []


def test_a_named_model_without_a_server_ends_with_exit_code_4(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")

    outcome = run("chat", "hi", "-m", "llama3.2")

    assert outcome.code == 4
    assert outcome.err.startswith("error: 'llama3.2' is an Ollama model, and no Ollama server answers")


def test_a_model_that_cannot_call_tools_still_chats(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOllama(models=(Served(capabilities=("completion",)),)) as fake:
        monkeypatch.setenv("OLLAMA_HOST", fake.url)
        outcome = run("chat", "hello", "-q")

    assert (outcome.code, outcome.out) == (0, f"{SAID}\n")


def test_a_reader_who_leaves_is_no_error_and_the_answer_is_stored(server: FakeOllama, store: Store) -> None:
    server.script.append(text(*[f"line {number}\n" for number in range(2000)]))

    outcome = in_shell("memcli chat hello -q < /dev/null | head -1")

    assert (outcome.code, outcome.out, outcome.err) == (0, "line 0\n", "")
    assert store.messages.get(store.conversations.find("last").id, 2).state == "whole"


def test_in_a_terminal_the_answer_is_drawn_as_markdown(server: FakeOllama) -> None:
    server.script.append(text("**bold** and\n\n- a list\n"))

    outcome = in_terminal("chat", "hello", "--no-color", columns=60)

    assert outcome.code == 0
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", outcome.out)
    assert "bold and" in shown
    assert "**" not in shown
    assert " • a list" in shown


def test_the_repl_needs_a_terminal_on_both_sides() -> None:
    outcome = in_pipe("chat", "--json")

    assert outcome.code == 2
    assert json.loads(outcome.out)["error"]["message"] == "there is nothing to say: the message is empty"


def test_the_embedded_model_answers_and_is_called_a_toy(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xllamacpp")
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("MEMCLI_OUTPUT_RESERVE", "16")

    outcome = run("chat", "Say hello")

    assert outcome.code == 0
    assert outcome.out.strip() != ""
    first, second = outcome.err.splitlines()[:2]
    assert first.startswith("embedded:SmolLM2-135M-Instruct")
    assert (
        second == "a toy to try things with: small, often wrong, cannot call tools; `--model NAME` asks for a real one"
    )


def _offered(server: FakeOllama) -> list[str]:
    tools = server.chats[0].get("tools") or []
    return [tool["function"]["name"] for tool in tools]  # type: ignore[attr-defined]
