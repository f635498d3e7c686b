"""A chat model as the summarizer: what it is sent, what it answers with, what its failures become."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGenerationChunk

from memcli.agent.summarizer import ModelSummarizer
from memcli.errors import ModelError, ModelTimeout
from memcli.memory.prompts import Prompt
from memcli.memory.summarizer import Completion, ExtractiveSummarizer, request_tokens
from tests.agent.scripted import Script, ScriptedChat, asks, says, scripted


class Penalised(ScriptedChat):
    """A scripted model that can be told to repeat itself less and to be short, and notes how it was told."""

    repeat_penalty: float | None = None
    max_sentences: int | None = None
    seen: list[tuple[float | None, int | None]]

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> Iterator[ChatGenerationChunk]:
        self.seen.append((self.repeat_penalty, self.max_sentences))
        yield from super()._stream(messages, stop, run_manager, **kwargs)


PROMPT = Prompt("system {x}", "user {{y}} %s", None, (), 500)


def test_text_goes_out_as_it_is_and_counts_come_back_as_reported() -> None:
    chat = scripted(says("A summary.", input_tokens=120, output_tokens=7))
    assert ModelSummarizer(chat).complete(PROMPT) == Completion("A summary.", 120, 7, "stop")
    assert chat.script.requests == [[SystemMessage("system {x}"), HumanMessage("user {{y}} %s")]]
    assert chat.script.tools == [[]]


def test_without_reported_counts_the_estimate_stands_in() -> None:
    completion = ModelSummarizer(scripted("A summary.")).complete(PROMPT)
    assert completion.input_tokens == request_tokens(PROMPT)
    assert completion.output_tokens > 0


def test_the_finish_reason_and_a_tool_call_are_told() -> None:
    cut = ModelSummarizer(scripted(says("A sum", done_reason="length"))).complete(PROMPT)
    asked = ModelSummarizer(scripted(asks(("look", {})))).complete(PROMPT)
    assert (cut.finish_reason, cut.asked_for_tools, asked.asked_for_tools) == ("length", False, True)


def test_blocks_are_read_as_text_and_reasoning_blocks_are_not() -> None:
    blocks = AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "A summary."}])
    assert ModelSummarizer(scripted(blocks)).complete(PROMPT).text == "A summary."


def test_whatever_a_model_raises_is_a_model_error_naming_it() -> None:
    with pytest.raises(ModelError, match="scripted failed: RuntimeError: CUDA out of memory"):
        ModelSummarizer(scripted(RuntimeError("CUDA out of memory"))).complete(PROMPT)


def test_our_own_errors_and_ctrl_c_pass_as_they_are() -> None:
    with pytest.raises(ModelTimeout):
        ModelSummarizer(scripted(ModelTimeout("slow"))).complete(PROMPT)
    with pytest.raises(KeyboardInterrupt):
        ModelSummarizer(scripted(KeyboardInterrupt())).complete(PROMPT)


def test_fault_16_a_lone_surrogate_is_replaced_on_the_wire() -> None:
    chat = scripted("A summary.")
    ModelSummarizer(chat).complete(Prompt("s", "a\ud800b", None, (), 500))
    assert chat.script.requests[0][1] == HumanMessage("a?b")


@pytest.mark.parametrize(
    ("own", "attempt", "sent"), [(None, 1, None), (None, 2, 1.2), (1.0, 1, 1.1), (1.0, 2, 1.2), (1.5, 2, 1.5)]
)
def test_repeats_are_made_less_likely_unless_the_server_knows_better_and_more_so_in_a_second_attempt(
    own: float | None, attempt: int, sent: float | None
) -> None:
    chat = Penalised(script=Script(deque(["A summary."])), repeat_penalty=own, seen=[])
    ModelSummarizer(chat).complete(replace(PROMPT, attempt=attempt))
    assert chat.seen == [(sent, None)]


def test_a_second_attempt_is_held_to_the_sentences_a_first_is_only_asked_for() -> None:
    chat = Penalised(script=Script(deque(["A summary.", "A summary."])), seen=[])
    ModelSummarizer(chat).complete(replace(PROMPT, max_sentences=20))
    ModelSummarizer(chat).complete(replace(PROMPT, max_sentences=5, attempt=2))
    assert chat.seen == [(None, None), (1.2, 5)]


def test_labels_name_the_model() -> None:
    assert ModelSummarizer(scripted()).label == "scripted"
    assert ModelSummarizer(scripted(), label="ours").label == "ours"
    assert ExtractiveSummarizer().label == "extractive"
