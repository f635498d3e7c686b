"""The table of slash commands, in the order /help lists them."""

from __future__ import annotations

from memcli.cli.repl import changing, pinning, showing
from memcli.cli.repl.commands import Command, Registry
from memcli.cli.repl.desk import Desk


def show_help(desk: Desk, _argument: str) -> None:
    """Show the commands and the keys."""
    showing.help_table(desk, COMMANDS)


COMMANDS = (
    Command("help", "this list", show_help, aliases=("?",)),
    Command("context", "what the agent would see next, and what is forgotten", showing.context, "[full]"),
    Command("history", "the newest messages", showing.history, "[N|all]"),
    Command("summaries", "every summary of this conversation", showing.summaries),
    Command("recall", "search this conversation, also what is out of the context", showing.recall, "TEXT"),
    Command("tokens", "what the next call takes", showing.tokens),
    Command("memory", "how the past is kept, or keep it another way", changing.memory, "[window|turns]"),
    Command("plan", 'the plan, or set it; "" ends it', changing.plan, "[TEXT]"),
    Command("pin", "keep a message word for word, or list what is pinned", pinning.pin, "[ID]"),
    Command("unpin", "let a pinned message be folded again", pinning.unpin, "ID"),
    Command("compact", "fold old messages into the summary now", changing.compact, "[INSTRUCTIONS]", ("summarize",)),
    Command("retry", "ask the last message again", changing.retry),
    Command("undo", "take the last turn back", changing.undo),
    Command("model", "the model, or go on with another", changing.model, "[NAME]"),
    Command("system", 'the system prompt, or set it; "" takes it away', changing.system, "[TEXT]"),
    Command("fork", "copy the conversation and go on in the copy", changing.fork, "[NAME]", ("branch",)),
    Command("rename", "give the conversation a name", changing.rename, "NAME"),
    Command("new", "begin a new conversation", changing.new),
    Command("resume", "go to another conversation, or list them", changing.resume, "[CONVERSATION]"),
    Command("export", "write the conversation to a file", changing.export, "[FILE]"),
    Command("exit", "leave", changing.leave, aliases=("quit", "bye", "q")),
)


def registry() -> Registry:
    """Make the registry."""
    return Registry(COMMANDS)
