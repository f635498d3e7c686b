"""The Ollama door over real HTTP: what a server is asked, what a chat sends, and what every failure becomes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.tools import tool
from langchain_ollama import ChatOllama

from memcli.agent.limits import with_output_limit
from memcli.agent.ollama import LoadedModel, ModelCard, OllamaModel, OllamaServer, connect
from memcli.agent.ollama import translate as translated
from memcli.agent.ollama_host import is_loopback, server_url, without_password
from memcli.agent.stream import is_finished
from memcli.errors import (
    ContextOverflow,
    MemcliError,
    ModelError,
    ModelTimeout,
    ModelUnreachable,
    NotFound,
    UsageError,
)
from tests.ollama_replies import MODES, Reply, breaks, calls, fails, loads, text, thinks
from tests.ollama_server import FakeOllama, Served

THINKER = Served("thinker:4b", 40_960, ("completion", "tools", "thinking"), 2_600_000_000, "2026-06-01T10:00:00Z")
TINY = Served("tiny:latest", 2_048, ("completion",), 1_000_000_000, "2026-05-01T10:00:00.123456789+02:00")


@pytest.fixture
def server() -> Iterator[FakeOllama]:
    with FakeOllama(models=(TINY, THINKER)) as fake:
        yield fake


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address that nothing listens at: the port is held, and not listened on."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


def chat_with(
    server: FakeOllama, model: str = "thinker:4b", limit_tokens: int = 4_096, timeout_s: float = 30
) -> ChatOllama:
    return connect(model, host=server.url, limit_tokens=limit_tokens, timeout_s=timeout_s)


def failure_of(chat: ChatOllama, limit_tokens: int | None = None) -> tuple[str, MemcliError | None]:
    """Stream an answer until it fails: what came before, and what the failure is in our words."""
    partial = ""
    try:
        for chunk in chat.stream("hello"):
            partial += chunk.text
    except Exception as err:  # noqa: BLE001 - any exception is what is under test
        return partial, translated(err, limit_tokens)
    return partial, None


def assert_failure(server: FakeOllama, kind: type[MemcliError], message: str) -> None:
    _, ours = failure_of(chat_with(server))
    assert (type(ours), str(ours)) == (kind, message)


@tool
def recall(query: str) -> str:
    """Search the past."""
    return query


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("example.com", "http://example.com:11434"),
        ("example.com:56789", "http://example.com:56789"),
        (":56789", "http://127.0.0.1:56789"),
        ("http://example.com", "http://example.com:80"),
        ("https://example.com", "https://example.com:443"),
        ("https://example.com:8443/ollama/", "https://example.com:8443/ollama"),
        ("example.com/ollama", "http://example.com:11434/ollama"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("http://0.0.0.0:1234", "http://127.0.0.1:1234"),
        ("[::]:1234", "http://[::1]:1234"),
        ("::1", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        (" '10.0.0.7' ", "http://10.0.0.7:11434"),
        ("http://me:secret@example.com:1", "http://me:secret@example.com:1"),
    ],
)
def test_every_form_of_ollama_host_becomes_a_url(written: str, url: str) -> None:
    assert server_url(written) == url


@pytest.mark.parametrize(
    "written", ["ftp://example.com", "example.com:port", "example.com:99999", "host:0", "http://[::1"]
)
def test_an_ollama_host_that_is_no_address_is_a_usage_error(written: str) -> None:
    with pytest.raises(UsageError, match="OLLAMA_HOST = "):
        server_url(written)


def test_only_this_machine_is_loopback_and_passwords_are_not_shown() -> None:
    urls = ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "http://10.0.0.7:1", "http://example.com:1"]
    assert [is_loopback(url) for url in urls] == [True, True, True, False, False]
    assert without_password("http://me:secret@example.com:1/a") == "http://example.com:1/a"


def test_a_server_tells_its_version_and_models_latest_first(server: FakeOllama) -> None:
    asked = OllamaServer(server.url)

    assert asked.version() == "0.12.6"
    assert asked.models() == [
        OllamaModel("thinker:4b", 2_600_000_000, datetime(2026, 6, 1, 10, tzinfo=UTC)),
        OllamaModel("tiny:latest", 1_000_000_000, datetime(2026, 5, 1, 8, 0, 0, 123456, tzinfo=UTC)),
    ]


def test_show_reads_the_context_length_and_the_capabilities(server: FakeOllama) -> None:
    assert OllamaServer(server.url).show("tiny") == ModelCard(2_048, frozenset({"completion"}))
    assert OllamaServer(server.url).show("thinker:4b") == ModelCard(
        40_960, frozenset({"completion", "tools", "thinking"})
    )


def test_show_lists_the_models_that_are_there_for_a_wrong_name(server: FakeOllama) -> None:
    with pytest.raises(NotFound) as caught:
        OllamaServer(server.url).show("thinkre:4b")

    assert caught.value.message == f"no model is called 'thinkre:4b' at {server.url}"
    assert caught.value.hint == (
        "did you mean 'thinker:4b'? there are thinker:4b, tiny:latest; `ollama pull thinkre:4b` gets it"
    )


def test_show_says_when_the_server_has_no_models_at_all() -> None:
    with FakeOllama(models=()) as server, pytest.raises(NotFound) as caught:
        OllamaServer(server.url).show("llama3.2")

    assert (caught.value.message, caught.value.hint) == (
        f"{server.url} has no models",
        "get one with `ollama pull llama3.2`",
    )


def test_loaded_tells_the_context_length_a_chat_really_got(server: FakeOllama) -> None:
    assert OllamaServer(server.url).loaded() == []
    chat_with(server, "tiny", limit_tokens=1_024).invoke("hello")
    assert OllamaServer(server.url).loaded() == [LoadedModel("tiny:latest", 1_024)]


def test_a_server_that_is_not_there_is_unreachable(nobody: str) -> None:
    with pytest.raises(ModelUnreachable, match=f"no Ollama server answers at {nobody}"):
        OllamaServer(nobody).models()


def test_a_server_that_is_not_ollama_is_unreachable(server: FakeOllama) -> None:
    with pytest.raises(ModelUnreachable, match="/elsewhere/api/tags answers 404, not as Ollama does"):
        OllamaServer(f"{server.url}/elsewhere").models()


def test_a_chat_sends_its_limit_and_asks_not_to_be_cut(server: FakeOllama) -> None:
    chat = with_output_limit(chat_with(server, limit_tokens=4_096), 300)

    assert chat.invoke("hello").content == "Hello from the stand-in."
    (body,) = server.chats
    assert body["options"] == {"num_ctx": 4_096, "num_predict": 300}
    assert (body["truncate"], body["shift"], body["stream"]) == (False, False, True)
    assert body["messages"] == [{"role": "user", "content": "hello"}]


def test_an_answer_is_never_endless(server: FakeOllama) -> None:
    chat_with(server, limit_tokens=4_096).invoke("hello")
    assert server.chats[0]["options"] == {"num_ctx": 4_096, "num_predict": 4_096}


def test_a_finished_answer_carries_its_counts_and_reason(server: FakeOllama) -> None:
    answer = chat_with(server).invoke("hello")

    assert isinstance(answer, AIMessage)
    assert answer.usage_metadata == {"input_tokens": 6, "output_tokens": 4, "total_tokens": 10}
    assert answer.response_metadata["done_reason"] == "stop"
    assert is_finished(answer)


def test_thinking_is_kept_beside_the_answer_when_asked_for(server: FakeOllama) -> None:
    server.otherwise = thinks("A greeting. ", "Hello.")
    silent = chat_with(server).invoke("hello")
    speaking = connect("thinker:4b", host=server.url, limit_tokens=4_096, timeout_s=30, reasoning=True).invoke("hello")

    assert (silent.content, silent.additional_kwargs) == ("Hello.", {})
    assert (speaking.content, speaking.additional_kwargs) == ("Hello.", {"reasoning_content": "A greeting. "})
    assert [body.get("think") for body in server.chats] == [None, True]


def test_parallel_tool_calls_come_whole_and_their_results_go_back(server: FakeOllama) -> None:
    server.script.append(calls(("recall", {"query": "a"}), ("recall", {"query": "b"}), say="Let me look."))
    chat = chat_with(server).bind_tools([recall])

    chunks = [chunk for chunk in chat.stream("hello") if isinstance(chunk, AIMessageChunk)]
    asked = add_ai_message_chunks(*chunks)
    assert [(call["name"], call["args"]) for call in asked.tool_calls] == [
        ("recall", {"query": "a"}),
        ("recall", {"query": "b"}),
    ]
    assert len({call["id"] for call in asked.tool_calls}) == 2
    results = [ToolMessage("found", tool_call_id=call["id"]) for call in asked.tool_calls]
    chat.invoke([HumanMessage("hello"), asked, *results])
    sent = server.chats[1]["messages"]
    assert isinstance(sent, list)
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool"]


def test_a_model_without_tools_refuses_them_in_our_words(server: FakeOllama) -> None:
    bound = chat_with(server, "tiny").bind_tools([recall])
    with pytest.raises(Exception, match="does not support tools") as caught:
        bound.invoke("hello")

    ours = translated(caught.value)
    assert isinstance(ours, ModelError)
    assert ours.message == (
        "the model server refused the request: registry.ollama.ai/library/tiny:latest does not support tools"
    )


def test_a_stream_cut_by_a_dying_server_keeps_what_came(server: FakeOllama) -> None:
    server.otherwise = breaks("Half an", " answer")
    partial, ours = failure_of(chat_with(server))

    assert (partial, type(ours)) == ("Half an answer", ModelError)
    assert str(ours).startswith(f"the model server at {server.url} broke off: peer closed connection")


def test_a_stream_that_ends_without_its_last_line_is_not_finished(server: FakeOllama) -> None:
    server.otherwise = breaks("Half an", " answer", ending="fade")
    answer = chat_with(server).invoke("hello")

    assert answer.content == "Half an answer"
    assert not is_finished(answer)


def test_a_stream_with_nothing_in_it_is_a_model_error(server: FakeOllama) -> None:
    server.otherwise = breaks(ending="fade")
    assert_failure(server, ModelError, "the model server sent no answer at all")


def test_an_empty_answer_is_finished(server: FakeOllama) -> None:
    server.otherwise = Reply()
    answer = chat_with(server).invoke("hello")
    assert (answer.content, is_finished(answer)) == ("", True)


def test_an_answer_cut_by_its_length_is_finished_and_says_so(server: FakeOllama) -> None:
    server.otherwise = MODES["length"]
    answer = chat_with(server).invoke("hello")
    assert (answer.response_metadata["done_reason"], is_finished(answer)) == ("length", True)


def test_an_error_line_in_the_stream_is_a_model_error(server: FakeOllama) -> None:
    server.otherwise = MODES["stream-error"]
    assert_failure(server, ModelError, "the model server failed: an error was encountered while running the model")


def test_a_500_is_a_model_error(server: FakeOllama) -> None:
    server.otherwise = MODES["error500"]
    reason = "llama runner process has terminated: exit status 2"
    assert_failure(server, ModelError, f"the model server failed with 500: {reason}")


def test_truncated_tool_arguments_are_a_model_error_that_shows_them(server: FakeOllama) -> None:
    server.otherwise = MODES["broken-arguments"]
    _, ours = failure_of(chat_with(server))

    assert type(ours) is ModelError
    assert '{"query": "hel' in str(ours)


def test_a_server_that_never_answers_times_out(server: FakeOllama) -> None:
    server.otherwise = breaks(ending="hang")
    _, ours = failure_of(chat_with(server, timeout_s=0.05))

    assert type(ours) is ModelTimeout
    assert str(ours) == f"the model server at {server.url} sent nothing in time"


def test_a_server_that_falls_silent_times_out_and_keeps_what_came(server: FakeOllama) -> None:
    server.otherwise = breaks("Half an", ending="hang")
    partial, ours = failure_of(chat_with(server, timeout_s=0.5))
    assert (partial, type(ours)) == ("Half an", ModelTimeout)


def test_a_slow_load_within_the_timeout_is_waited_for(server: FakeOllama) -> None:
    loaded = threading.Event()
    server.otherwise = loads(loaded, "Ready.")
    stream = chat_with(server).stream("hello")
    threading.Thread(target=loaded.set).start()
    assert "".join(chunk.text for chunk in stream) == "Ready."


def test_a_server_that_is_gone_is_unreachable_to_a_chat(nobody: str) -> None:
    _, ours = failure_of(connect("tiny", host=nobody, limit_tokens=1_024, timeout_s=30))
    assert type(ours) is ModelUnreachable
    assert str(ours) == f"no Ollama server answers at {nobody}"


def test_a_model_that_was_removed_is_not_found(server: FakeOllama) -> None:
    _, ours = failure_of(chat_with(server, "gone"))
    assert (type(ours), str(ours)) == (NotFound, "the model server says: model 'gone' not found")


def test_an_overlong_prompt_is_refused_with_needed_and_available(server: FakeOllama) -> None:
    with pytest.raises(Exception, match="exceeded max context length") as caught:
        chat_with(server, limit_tokens=100).invoke("x" * 800)

    ours = translated(caught.value, 100)
    assert isinstance(ours, ContextOverflow)
    assert (ours.needed_tokens, ours.available_tokens) == (120, 100)
    assert type(translated(caught.value)) is ModelError


def test_a_server_that_always_refuses_names_both_sizes(server: FakeOllama) -> None:
    server.otherwise = fails(400, "request (20001 tokens) exceeds the available context size (8192 tokens), try it")
    _, ours = failure_of(chat_with(server))
    assert isinstance(ours, ContextOverflow)
    assert (ours.needed_tokens, ours.available_tokens) == (20_001, 8_192)


def test_an_old_server_cuts_silently_and_its_count_betrays_it(server: FakeOllama) -> None:
    server.overflow = "truncate"
    answer = chat_with(server, limit_tokens=100).invoke([HumanMessage("x" * 300), HumanMessage("y" * 200)])

    assert isinstance(answer, AIMessage)
    assert answer.usage_metadata == {"input_tokens": 82, "output_tokens": 4, "total_tokens": 86}


def test_invoking_without_a_stream_gives_the_same_answer(server: FakeOllama) -> None:
    server.otherwise = text("Hello", " there.")
    chat = chat_with(server)
    assert chat.invoke("hello", stream=False).content == chat.invoke("hello").content == "Hello there."


@pytest.mark.parametrize("err", [BrokenPipeError(), KeyError("x"), ValueError("something of ours")])
def test_an_exception_that_is_not_the_servers_is_not_translated(err: Exception) -> None:
    assert translated(err) is None


def test_a_refused_connection_from_the_ollama_package_is_unreachable() -> None:
    assert type(translated(ConnectionError("Failed to connect to Ollama"))) is ModelUnreachable


def test_an_error_without_a_request_still_translates() -> None:
    ours = translated(httpx.ReadError("reset"))
    assert (type(ours), str(ours)) == (ModelError, "the model server at an unknown address broke off: reset")


def test_the_server_keeps_what_it_was_sent(server: FakeOllama) -> None:
    chat_with(server).invoke("hello")
    (request,) = server.requests
    assert (request.method, request.path, request.json["model"]) == ("POST", "/api/chat", "thinker:4b")
