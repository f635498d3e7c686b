"""A request as text: what goes beside the messages; of each message who speaks, its content, and its tool calls."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rich.text import Text

from memcli.cli.cleaning import clean, clean_line
from memcli.memory.wire import WireMessage

_ROLE_STYLES = {"system": "bold blue", "user": "bold cyan", "assistant": "bold green", "tool": "bold magenta"}


def around_text(body: Mapping[str, object]) -> Text:
    """Write what goes beside the messages, a line a field; tools by their names. Nothing when nothing is known."""
    shown = Text()
    for name, value in body.items():
        if name != "messages":
            said = _names(value) if name == "tools" else json.dumps(value, ensure_ascii=False)
            shown.append(f"{clean_line(name)}  ", "dim").append(f"{clean_line(said)}\n")
    return Text.assemble(("── request\n", "bold"), shown) if shown else shown


def _names(tools: object) -> str:
    functions = [tool.get("function") for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
    return ", ".join(str(function.get("name")) for function in functions if isinstance(function, Mapping)) or "none"


def raw_text(message: WireMessage) -> Text:
    """Write one message: a line that says whose it is, then its content as it is."""
    shown = Text.assemble((f"── {message.role}", _ROLE_STYLES[message.role]))
    facts = [f"#{message.message_id}"] if message.message_id is not None else []
    facts += [f"answers {message.tool_call_id}"] if message.tool_call_id else []
    facts += [f"name {message.name}"] if message.name else []
    facts += ["an error"] if message.is_error else []
    shown.append("".join(f"  {clean_line(fact)}" for fact in facts), "dim").append("\n")
    if message.content:
        shown.append(f"{clean(message.content)}\n")
    for call in message.tool_calls:
        args = json.dumps(dict(call.args), ensure_ascii=False, default=str)
        shown.append_text(Text.assemble(("→ ", "dim"), (clean_line(call.name), "magenta"), clean_line(f"({args})")))
        shown.append(f"  {clean_line(call.id)}\n", "dim")
    return shown
