"""What a stand-in Ollama server has, and how it describes it.

Written from Ollama's public API documentation (docs/api.md, docs/openapi.yaml). It refuses to know HTTP and anything of
memcli.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tests.ollama_replies import Json

Processes = Literal["honest", "boasts", "old", "missing", "garbage", "hangs"]
"""What /api/ps says: what each model got; what it was asked for; no context lengths, as before 0.10; 404; no object; or
nothing until the server closes."""


@dataclass(frozen=True, slots=True)
class Served:
    """One model the server has."""

    name: str = "tiny:latest"
    context_length: int = 32_768
    capabilities: tuple[str, ...] = ("completion", "tools")
    size: int = 1_321_098_329
    modified_at: str = "2026-05-04T17:37:44.706015396-07:00"


def tag(model: Served) -> Json:
    """Describe it as /api/tags does."""
    details = {"format": "gguf", "family": "llama", "parameter_size": "1.2B", "quantization_level": "Q4_K_M"}
    named = {"name": model.name, "model": model.name, "modified_at": model.modified_at}
    return {**named, "size": model.size, "digest": "a" * 64, "details": details}


def process(model: Served, context_length: int | None) -> Json:
    """Describe it as /api/ps does; None is what a server says that names no context lengths."""
    return tag(model) if context_length is None else {**tag(model), "context_length": context_length}


def card(model: Served) -> Json:
    """Describe it as /api/show does."""
    info = {"general.architecture": "llama", "llama.context_length": model.context_length}
    about: dict[str, object] = {"parameters": 'stop "<|im_end|>"', "template": "{{ .Prompt }}", "model_info": info}
    return about | {"capabilities": list(model.capabilities), "modified_at": model.modified_at}


def unsupported(body: Json, model: Served) -> str | None:
    """Complain about a request that it cannot do; None when it can."""
    if "completion" not in model.capabilities:
        return f'"{model.name}" does not support chat'
    if body.get("tools") and "tools" not in model.capabilities:
        return f"registry.ollama.ai/library/{model.name} does not support tools"
    if body.get("think") and "thinking" not in model.capabilities:
        return f'"{model.name}" does not support thinking'
    return None
