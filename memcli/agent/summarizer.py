"""A chat model as the summarizer that `memory` asks for. No tools are bound; text is sent as it is, never formatted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from memcli.agent.failures import translated
from memcli.agent.limits import with_output_limit
from memcli.errors import ModelError, ModelTimeout, ModelUnreachable
from memcli.memory.prompts import Prompt
from memcli.memory.reasoning import without_reasoning
from memcli.memory.summarizer import Completion, request_tokens
from memcli.memory.tokens import estimate_tokens
from memcli.memory.turn_prompts import read_turn
from memcli.memory.wire import content_text, sendable

DEFAULT_WINDOW_TOKENS = 8192
OUTPUT_SLACK = 1.5
"""How much longer an answer may be than the summary's cap before it is cut: a tokenizer's tokens are not budget tokens,
and reasoning comes first."""
REPEAT_PENALTIES = (1.1, 1.2)
"""By attempt. Without one SmolLM2-135M repeats its last sentence until it is cut off. The first was long the default of
llama.cpp and of Ollama."""


class ModelSummarizer:
    """Write summaries with a chat model."""

    def __init__(
        self, chat: BaseChatModel, *, label: str | None = None, window_tokens: int = DEFAULT_WINDOW_TOKENS
    ) -> None:
        self._chat = chat
        self._label = label or getattr(chat, "model", None) or getattr(chat, "model_name", None) or type(chat).__name__
        self._window_tokens = window_tokens
        self._keeps_schemas = True
        """Until it turns out that it, or its server, cannot be asked for JSON by a schema."""

    @property
    def label(self) -> str:
        """Name the model."""
        return str(self._label)

    @property
    def window_tokens(self) -> int:
        """Tell the most a request and its answer may take together."""
        return self._window_tokens

    def complete(self, prompt: Prompt) -> Completion:
        """Ask the model, by the prompt's schema if it has one. Raises a ModelError when it does not answer.

        A model that cannot keep to a schema, or did not, is asked in plain words; both requests are counted.
        """
        if prompt.schema is None or not self._keeps_schemas:
            return self._plain(prompt)
        structured = self._structured(prompt, prompt.schema)
        if structured is None:
            return self._plain(prompt)
        if read_turn(without_reasoning(structured.text)) is not None or structured.finish_reason == "length":
            return structured
        plain = self._plain(prompt)
        return replace(
            plain,
            input_tokens=structured.input_tokens + plain.input_tokens,
            output_tokens=structured.output_tokens + plain.output_tokens,
        )

    def _plain(self, prompt: Prompt) -> Completion:
        with translated(self.label, self._window_tokens):
            answer = self._capped(prompt).invoke(_messages(prompt.system, prompt.user))
        return _completion(prompt, answer, asked_for_tools=_asked(answer))

    def _structured(self, prompt: Prompt, schema: Mapping[str, object]) -> Completion | None:
        """Ask for JSON by schema; None when this model, or its server, cannot be asked so."""
        try:
            model = self._capped(prompt).with_structured_output(dict(schema), include_raw=True)
            with translated(self.label, self._window_tokens):
                answer = model.invoke(_messages(prompt.schema_system or prompt.system, prompt.user))
        except (ModelUnreachable, ModelTimeout):
            raise
        except (NotImplementedError, ValueError, TypeError, ModelError):
            self._keeps_schemas = False
            return None
        raw, parsed = (answer.get("raw"), answer.get("parsed")) if isinstance(answer, dict) else (None, answer)
        completion = _completion(prompt, raw, asked_for_tools=parsed is None and _asked(raw))
        return replace(completion, text=json.dumps(parsed)) if isinstance(parsed, dict) else completion

    def _capped(self, prompt: Prompt) -> BaseChatModel:
        room = max(self._window_tokens - estimate_tokens(prompt.system + prompt.user), prompt.max_tokens)
        chat = with_output_limit(self._chat, min(int(prompt.max_tokens * OUTPUT_SLACK), room))
        return _held_to_sentences(_with_repeat_penalty(chat, prompt.attempt), prompt)


def _with_repeat_penalty(chat: BaseChatModel, attempt: int) -> BaseChatModel:
    """Copy a model that can be told so with the attempt's penalty on repeating itself; others come back as they are.

    A first attempt leaves it to a server that has a setting of its own for the model, which reads as None.
    """
    if "repeat_penalty" not in type(chat).model_fields:
        return chat
    own: float | None = getattr(chat, "repeat_penalty", None)
    if own is None and attempt == 1:
        return chat
    least = REPEAT_PENALTIES[min(attempt, len(REPEAT_PENALTIES)) - 1]
    return chat.model_copy(update={"repeat_penalty": max(own or least, least)})


def _held_to_sentences(chat: BaseChatModel, prompt: Prompt) -> BaseChatModel:
    """Copy a model that can be held to a number of sentences and did not keep to it when it was only asked to."""
    if prompt.attempt == 1 or "max_sentences" not in type(chat).model_fields:
        return chat
    return chat.model_copy(update={"max_sentences": prompt.max_sentences})


def _messages(system: str, user: str) -> list[BaseMessage]:
    return [SystemMessage(content=sendable(system)), HumanMessage(content=sendable(user))]


def _completion(prompt: Prompt, answer: object, *, asked_for_tools: bool) -> Completion:
    text = content_text(answer.content) if isinstance(answer, AIMessage) else str(answer or "")
    usage = getattr(answer, "usage_metadata", None) or {}
    metadata = getattr(answer, "response_metadata", None) or {}
    return Completion(
        text=text,
        input_tokens=int(usage.get("input_tokens") or request_tokens(prompt)),
        output_tokens=int(usage.get("output_tokens") or estimate_tokens(text)),
        finish_reason=str(
            metadata.get("done_reason") or metadata.get("finish_reason") or metadata.get("stop_reason") or "stop"
        ),
        asked_for_tools=asked_for_tools,
    )


def _asked(answer: object) -> bool:
    return bool(getattr(answer, "tool_calls", None) or getattr(answer, "invalid_tool_calls", None))
