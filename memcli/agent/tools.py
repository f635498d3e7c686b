"""The tools an agent can call: `recall`, `now`, `update_plan`, and the user's own, named as `package.module:name`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool

from memcli.agent.base import ToolLike
from memcli.errors import UsageError
from memcli.memory.plans import MAX_PLAN_TOKENS
from memcli.memory.tokens import CHARACTERS_PER_TOKEN
from memcli.records import Hit
from memcli.store import Store

RECALL_HITS = 6
"""Messages one recall returns at most."""
RECALL_CHARACTERS = 600
"""How much of each is quoted: a recall must not crowd out the window it serves."""


def builtin_tools(store: Store, conversation_id: str) -> list[BaseTool]:
    """Make the tools every agent gets: a search of this conversation's own past, the time, and the plan."""
    return [recall_tool(store, conversation_id), now_tool(), plan_tool(store, conversation_id)]


def recall_tool(store: Store, conversation_id: str) -> BaseTool:
    """Make the tool that finds what is out of the context."""

    def recall(query: str) -> str:
        """Search this conversation's own past, also what is no longer in view. Give a few exact words to look for."""
        hits = store.search(query, conversation_id=conversation_id, limit=RECALL_HITS)
        if not hits:
            hits = _any_word(store, conversation_id, query)
        if not hits:
            return f"Nothing in this conversation matches {query!r}."
        return "\n".join(_quote(store, hit, query) for hit in hits)

    return StructuredTool.from_function(recall)


def now_tool() -> BaseTool:
    """Make the tool that tells the time."""

    def now() -> str:
        """Tell the current local date and time."""
        return datetime.now().astimezone().strftime("%A, %Y-%m-%d %H:%M:%S %Z")

    return StructuredTool.from_function(now)


def plan_tool(store: Store, conversation_id: str) -> BaseTool:
    """Make the tool that writes the plan; every version is kept."""

    def update_plan(plan: str) -> str:
        """Replace the plan you see in this conversation with a new one, as a short list of steps. Empty ends it."""
        tokens = len(plan) // CHARACTERS_PER_TOKEN
        if tokens > MAX_PLAN_TOKENS:
            raise ValueError(f"the plan takes {tokens:,} tokens and may take {MAX_PLAN_TOKENS:,}; shorten it")
        saved = store.plans.save(conversation_id, plan.strip())
        return f"This is version {saved.id} of the plan." if saved.text else "There is no plan any more."

    return StructuredTool.from_function(update_plan)


def load_tools(references: Iterable[str]) -> list[BaseTool]:
    """Import the user's tools: each reference names a tool, a function, or a list of them. Raises UsageError."""
    return [tool for reference in references for tool in as_tools(import_object(reference), reference)]


def as_tools(found: object, reference: str) -> list[BaseTool]:
    """Turn a tool, a documented function or a list of them into tools. Raises UsageError naming the reference."""
    if isinstance(found, BaseTool):
        return [found]
    if isinstance(found, list | tuple):
        return [tool for item in found for tool in as_tools(item, reference)]
    if callable(found):
        return [_from_function(found, reference)]
    raise UsageError(
        f"{reference} is {type(found).__name__}, not a tool", "name a LangChain tool, a function, or a list of them"
    )


def run_tool(tools: Mapping[str, BaseTool], call_id: str, name: str, args: Mapping[str, object]) -> ToolMessage:
    """Run one call. Whatever goes wrong is a result the model sees; Ctrl-C passes through."""
    tool = tools.get(name)
    if tool is None:
        known = ", ".join(sorted(tools)) or "none"
        return error_result(call_id, name, f"There is no tool {name!r}. Available: {known}.")
    try:
        result = tool.invoke({"type": "tool_call", "id": call_id, "name": name, "args": dict(args)})
    except Exception as err:  # noqa: BLE001 - a tool is anybody's code; the model sees what it raised
        return error_result(call_id, name, f"{type(err).__name__}: {err}")
    return result if isinstance(result, ToolMessage) else ToolMessage(str(result), tool_call_id=call_id, name=name)


def error_result(call_id: str, name: str, text: str) -> ToolMessage:
    """Make a result that says what went wrong."""
    return ToolMessage(text, tool_call_id=call_id, name=name, status="error")


def from_tool_likes(tools: Sequence[ToolLike]) -> list[BaseTool]:
    """Turn an agent configuration's tools into tools."""
    return [tool for item in tools for tool in as_tools(item, "the configuration's tools")]


def import_object(reference: str) -> object:
    """Import what `package.module:name` names, also from the working directory. Raises UsageError."""
    module_name, separator, name = reference.partition(":")
    if not separator or not module_name or not name:
        raise UsageError(f"{reference!r} names no object", "write it as package.module:name")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except Exception as err:  # the user's module may raise anything when it is imported
        raise UsageError(
            f"{module_name} cannot be imported ({type(err).__name__}: {err})",
            "check the module's name and what it imports",
        ) from err
    try:
        return getattr(module, name)
    except AttributeError as err:
        raise UsageError(f"{module_name} has no {name!r}", "check the name behind the colon") from err


def _from_function(function: Callable[..., object], reference: str) -> BaseTool:
    try:
        return StructuredTool.from_function(function)
    except (ValueError, TypeError) as err:
        raise UsageError(
            f"{reference} cannot be a tool ({err})", "give the function a docstring and typed parameters"
        ) from err


def _any_word(store: Store, conversation_id: str, query: str) -> list[Hit]:
    """Look for the words one by one, the longest first: a model asks in sentences."""
    found: dict[int, Hit] = {}
    for word in sorted(set(query.split()), key=len, reverse=True):
        for hit in store.search(word, conversation_id=conversation_id, limit=RECALL_HITS):
            found.setdefault(hit.message_id, hit)
        if len(found) >= RECALL_HITS:
            break
    return list(found.values())[:RECALL_HITS]


def _quote(store: Store, hit: Hit, query: str) -> str:
    text = " ".join(store.messages.get(hit.conversation_id, hit.message_id).text.split())
    if len(text) > RECALL_CHARACTERS:
        low = text.lower()
        places = [place for word in query.split() if (place := low.find(word.lower())) >= 0]
        start = max(0, min(places, default=0) - RECALL_CHARACTERS // 4)
        text = f"{'…' if start else ''}{text[start : start + RECALL_CHARACTERS]}…"
    label = {"human": "user", "ai": "assistant"}.get(hit.role, hit.role)
    return f"#{hit.message_id} {label}, {hit.created_at:%Y-%m-%d}: {text}"
