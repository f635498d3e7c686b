"""What one call may cost: the cap on an answer, and what tools' schemas take of the context."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool


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
