"""The model an agent talks to, and what one call may cost: the answer's cap, tools' schemas, a prompt cut short."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool


class Allots(Protocol):
    """Who knows what a model's server really allots to it."""

    def now(self) -> int | None:
        """Tell what the model that just ran was allotted, in its tokens; None when nobody says. Never raises."""
        ...


@dataclass(frozen=True, slots=True)
class Model:
    """The model an agent talks to, and what it can carry."""

    chat: BaseChatModel
    label: str
    limit_tokens: int
    can_call_tools: bool
    must_say_done: bool = False
    """Its streams end with a last word of their own; one that does not was cut."""
    most_output_tokens: int | None = None
    """A cap on an answer beside the context's limit; a toy would ramble on until it is full."""
    allotment: Allots | None = None
    """What its server really allots; None for one that cannot be asked."""


def with_output_limit(chat: BaseChatModel, output_tokens: int) -> BaseChatModel:
    """Copy a model with a cap on its answer, where we know how its kind is told; others are returned as they are."""
    fields = type(chat).model_fields
    name = next((name for name in ("num_predict", "max_tokens") if name in fields), None)
    return chat if name is None else chat.model_copy(update={name: max(1, output_tokens)})


def tools_tokens(tools: Sequence[BaseTool]) -> int:
    """Count the schemas that go along with every call: their JSON's characters / 4; 0 without tools."""
    if not tools:
        return 0
    return math.ceil(sum(len(json.dumps(convert_to_openai_tool(tool))) for tool in tools) / 4)
