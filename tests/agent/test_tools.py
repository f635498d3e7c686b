"""The built-in tools, the user's own, and what becomes of a call that goes wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from memcli.agent.tools import builtin_tools, error_result, import_object, load_tools, recall_tool, run_tool
from memcli.errors import UsageError
from memcli.store import Store
from tests.histories import exchange, opened, stored


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("store")) as store:
        yield store


@tool
def divide(a: int, b: int) -> float:
    """Divide a by b."""
    return a / b


@tool(response_format="content_and_artifact")
def fetch(name: str) -> tuple[str, bytes]:
    """Fetch a file."""
    return f"fetched {name}", b"\x00\x01"


TOOLS = {"divide": divide, "fetch": fetch}


def test_recall_quotes_what_it_finds_by_message_id(store: Store) -> None:
    conversation = stored(store, [HumanMessage("My seat is 12F, by the way."), AIMessage("Noted."), *exchange(1)])
    found = recall_tool(store, conversation.id).invoke({"query": "seat 12F"})
    day = store.messages.get(conversation.id, 1).created_at.strftime("%Y-%m-%d")
    assert found == f"#1 user, {day}: My seat is 12F, by the way."


def test_recall_searches_this_conversation_only_and_says_when_it_finds_nothing(store: Store) -> None:
    stored(store, [HumanMessage("The word is xylophone.")])
    other = stored(store, exchange(2))
    assert recall_tool(store, other.id).invoke({"query": "xylophone"}) == (
        "Nothing in this conversation matches 'xylophone'."
    )


def test_recall_looks_for_single_words_when_no_message_has_them_all(store: Store) -> None:
    conversation = stored(store, [HumanMessage("The zebra is here."), HumanMessage("The quagga is there.")])
    found = recall_tool(store, conversation.id).invoke({"query": "zebra and quagga together"})
    assert sorted(line.split(" ")[0] for line in found.splitlines()) == ["#1", "#2"]


def test_recall_quotes_around_the_hit_of_a_long_message(store: Store) -> None:
    conversation = stored(store, [HumanMessage("x " * 5000 + "the needle is here " + "y " * 5000)])
    found = recall_tool(store, conversation.id).invoke({"query": "needle"})
    assert "the needle is here" in found
    assert len(found) < 700


@pytest.mark.parametrize("query", ["what's (", '"', "*", "NEAR", "你好", "{x}", "\ud800", ""])
def test_fault_24_recall_takes_any_text(store: Store, query: str) -> None:
    conversation = stored(store, exchange(3))
    assert isinstance(recall_tool(store, conversation.id).invoke({"query": query}), str)


def test_now_tells_the_local_time(store: Store) -> None:
    tools = {item.name: item for item in builtin_tools(store, "c")}
    told = tools["now"].invoke({})
    assert "recall" in tools
    assert str(datetime.now().astimezone().year) in told


def test_a_call_gives_a_result_under_its_id() -> None:
    result = run_tool(TOOLS, "call1", "divide", {"a": 3, "b": 2})
    assert (result.content, result.tool_call_id, result.name, result.status) == ("1.5", "call1", "divide", "success")


def test_a_tools_artifact_is_kept() -> None:
    result = run_tool(TOOLS, "call1", "fetch", {"name": "a"})
    assert (result.content, result.artifact) == ("fetched a", b"\x00\x01")


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        ("divide", {"a": 1, "b": 0}, "ZeroDivisionError: division by zero"),
        ("look", {}, "There is no tool 'look'. Available: divide, fetch."),
    ],
)
def test_what_goes_wrong_is_a_result_the_model_sees(name: str, args: dict[str, object], text: str) -> None:
    assert run_tool(TOOLS, "call1", name, args) == error_result("call1", name, text)
    assert error_result("call1", name, text) == ToolMessage(text, tool_call_id="call1", name=name, status="error")


def test_arguments_that_do_not_fit_are_an_error_result() -> None:
    result = run_tool(TOOLS, "call1", "divide", {"a": "x"})
    assert result.status == "error"
    assert str(result.content).startswith("ValidationError: ")


def test_ctrl_c_in_a_tool_passes_through() -> None:
    @tool
    def slow() -> str:
        """Take long."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tool({"slow": slow}, "call1", "slow", {})


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "my_tools_here.py").write_text(
        "from langchain_core.tools import tool\n"
        "@tool\ndef one() -> str:\n    'One.'\n    return '1'\n"
        "def two(x: int) -> int:\n    'Two.'\n    return x\n"
        "def bare(x):\n    return x\n"
        "both = [one, two]\nnumber = 7\n"
    )
    (tmp_path / "my_broken_tools.py").write_text("raise RuntimeError('no database')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield "my_tools_here"
    for name in ("my_tools_here", "my_broken_tools"):
        sys.modules.pop(name, None)


def test_the_users_own_tools_are_imported_from_the_working_directory(module: str) -> None:
    assert [item.name for item in load_tools([f"{module}:one", f"{module}:two", f"{module}:both"])] == [
        "one",
        "two",
        "one",
        "two",
    ]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("nowhere", "'nowhere' names no object"),
        (":name", "':name' names no object"),
        ("not_a_module_at_all:x", "not_a_module_at_all cannot be imported (ModuleNotFoundError"),
        ("my_broken_tools:x", "my_broken_tools cannot be imported (RuntimeError: no database)"),
        ("my_tools_here:three", "my_tools_here has no 'three'"),
        ("my_tools_here:number", "my_tools_here:number is int, not a tool"),
        ("my_tools_here:bare", "my_tools_here:bare cannot be a tool"),
    ],
)
def test_a_reference_that_names_no_tool_is_a_usage_error(module: str, reference: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        load_tools([reference])
    assert refused.value.message.startswith(message)
    assert refused.value.hint


def test_any_object_can_be_imported_by_name(module: str) -> None:
    assert import_object(f"{module}:number") == 7
