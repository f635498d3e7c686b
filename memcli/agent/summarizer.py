"""A chat model as the summarizer that `memory` asks for. No tools are bound; text is sent as it is, never formatted."""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from memcli.agent.failures import translated
from memcli.agent.limits import with_output_limit
from memcli.memory.prompts import Prompt
from memcli.memory.summarizer import Completion, request_tokens
from memcli.memory.tokens import estimate_tokens
from memcli.memory.wire import content_text

DEFAULT_WINDOW_TOKENS = 8192
OUTPUT_SLACK = 1.5
"""How much longer an answer may be than the summary's cap before it is cut: a tokenizer's tokens are not budget tokens,
and reasoning comes first."""


class ModelSummarizer:
    """Write summaries with a chat model."""

    def __init__(
        self, chat: BaseChatModel, *, label: str | None = None, window_tokens: int = DEFAULT_WINDOW_TOKENS
    ) -> None:
        self._chat = chat
        self._label = label or getattr(chat, "model", None) or getattr(chat, "model_name", None) or type(chat).__name__
        self._window_tokens = window_tokens

    @property
    def label(self) -> str:
        """Name the model."""
        return str(self._label)

    @property
    def window_tokens(self) -> int:
        """Tell the most a request and its answer may take together."""
        return self._window_tokens

    def complete(self, prompt: Prompt) -> Completion:
        """Ask the model. Raises a ModelError when it does not answer."""
        messages = [SystemMessage(content=_sendable(prompt.system)), HumanMessage(content=_sendable(prompt.user))]
        room = max(self._window_tokens - estimate_tokens(prompt.system + prompt.user), prompt.max_tokens)
        model = with_output_limit(self._chat, min(int(prompt.max_tokens * OUTPUT_SLACK), room))
        with translated(self.label, self._window_tokens):
            answer = model.invoke(messages)
        text = content_text(answer.content) if isinstance(answer, AIMessage) else str(answer)
        usage = getattr(answer, "usage_metadata", None) or {}
        metadata = getattr(answer, "response_metadata", None) or {}
        return Completion(
            text=text,
            input_tokens=int(usage.get("input_tokens") or request_tokens(prompt)),
            output_tokens=int(usage.get("output_tokens") or estimate_tokens(text)),
            finish_reason=str(
                metadata.get("done_reason") or metadata.get("finish_reason") or metadata.get("stop_reason") or "stop"
            ),
            asked_for_tools=bool(getattr(answer, "tool_calls", None) or getattr(answer, "invalid_tool_calls", None)),
        )


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
