"""The other LangChain providers: `provider:model` through whichever `langchain_*` package is installed beside us.

It refuses to know Ollama and the embedded model, and it needs no `langchain` package: each provider's own is enough.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel

from memcli.errors import UsageError


@dataclass(frozen=True, slots=True)
class Provider:
    """Where one provider's chat model lives."""

    package: str
    chat_class: str | None
    """None finds the package's only public class named Chat…"""
    key_variable: str | None = None
    """The environment variable its key is read from; None when it signs in another way, or we do not know."""

    @property
    def distribution(self) -> str:
        """Name what `pip install` takes."""
        return self.package.replace("_", "-")


PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider("langchain_anthropic", "ChatAnthropic", "ANTHROPIC_API_KEY"),
    "azure_openai": Provider("langchain_openai", "AzureChatOpenAI", "AZURE_OPENAI_API_KEY"),
    "bedrock": Provider("langchain_aws", "ChatBedrock"),
    "bedrock_converse": Provider("langchain_aws", "ChatBedrockConverse"),
    "cohere": Provider("langchain_cohere", "ChatCohere", "COHERE_API_KEY"),
    "deepseek": Provider("langchain_deepseek", "ChatDeepSeek", "DEEPSEEK_API_KEY"),
    "fireworks": Provider("langchain_fireworks", "ChatFireworks", "FIREWORKS_API_KEY"),
    "google_genai": Provider("langchain_google_genai", "ChatGoogleGenerativeAI"),
    "google_vertexai": Provider("langchain_google_vertexai", "ChatVertexAI"),
    "groq": Provider("langchain_groq", "ChatGroq", "GROQ_API_KEY"),
    "huggingface": Provider("langchain_huggingface", "ChatHuggingFace"),
    "ibm": Provider("langchain_ibm", "ChatWatsonx"),
    "litellm": Provider("langchain_litellm", "ChatLiteLLM"),
    "mistralai": Provider("langchain_mistralai", "ChatMistralAI", "MISTRAL_API_KEY"),
    "nvidia": Provider("langchain_nvidia_ai_endpoints", "ChatNVIDIA"),
    "openai": Provider("langchain_openai", "ChatOpenAI", "OPENAI_API_KEY"),
    "openrouter": Provider("langchain_openrouter", "ChatOpenRouter", "OPENROUTER_API_KEY"),
    "perplexity": Provider("langchain_perplexity", "ChatPerplexity"),
    "together": Provider("langchain_together", "ChatTogether", "TOGETHER_API_KEY"),
    "upstage": Provider("langchain_upstage", "ChatUpstage", "UPSTAGE_API_KEY"),
    "xai": Provider("langchain_xai", "ChatXAI", "XAI_API_KEY"),
}
"""The providers known by name. Source: the provider list of LangChain's `init_chat_model`."""
_NO_PROVIDERS = frozenset(
    {"chroma", "classic", "cli", "community", "core", "experimental", "ollama", "protocol", "tests"}
)
"""Packages named like a provider's that bring no chat model of their own; and Ollama, which has its own door."""


def find_provider(name: str) -> tuple[Provider, str] | None:
    """Split `provider:model`; None when it is no provider, since `qwen3:4b` is an Ollama model and its tag.

    A provider is one known by name, or any `langchain_<provider>` package that is installed.
    """
    prefix, colon, model = name.partition(":")
    if not colon or not model:
        return None
    if prefix in PROVIDERS:
        return PROVIDERS[prefix], model
    package = f"langchain_{prefix.replace('-', '_')}"
    if not package.isidentifier() or prefix in _NO_PROVIDERS or importlib.util.find_spec(package) is None:
        return None
    return Provider(package, None), model


def connect_provider(provider: Provider, model: str, environ: Mapping[str, str]) -> BaseChatModel:
    """Make the provider's chat model. Raises UsageError saying what to install, set or mend; nothing is sent."""
    chat_class = _chat_class(provider)
    key = provider.key_variable
    if key is not None and not environ.get(key):
        raise UsageError(f"{key} is not set, and {provider.distribution} needs it", f"export {key}=… and run it again")
    try:
        return chat_class(model=model)  # type: ignore[call-arg]
    except (ValueError, TypeError, ImportError, OSError, RuntimeError) as err:
        reason = " ".join(str(err).split())[:300]
        raise UsageError(f"{provider.distribution} cannot make a model {model!r}: {reason}") from err


def _chat_class(provider: Provider) -> type[BaseChatModel]:
    if importlib.util.find_spec(provider.package) is None:
        raise UsageError(f"{provider.distribution} is not installed", f"run `pip install {provider.distribution}`")
    try:
        package = importlib.import_module(provider.package)
    except ImportError as err:
        raise UsageError(f"{provider.distribution} does not import: {err}", "install it again") from err
    names = [provider.chat_class] if provider.chat_class else [name for name in dir(package) if name.startswith("Chat")]
    values = (getattr(package, name, None) for name in names)
    found = [value for value in values if isinstance(value, type) and issubclass(value, BaseChatModel)]
    if len(found) != 1:
        seen = ", ".join(chat_class.__name__ for chat_class in found) or "none"
        raise UsageError(f"{provider.distribution} should have one chat model class, and has {seen}")
    return found[0]
