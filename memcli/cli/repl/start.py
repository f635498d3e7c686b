"""Put the REPL together and run it. The prompt is drawn first; the model stack is loaded once it is there."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from memcli import __version__
from memcli.cli.busy import noting_ctrl_c
from memcli.cli.repl.changing import greet
from memcli.cli.repl.completion import SlashCompleter
from memcli.cli.repl.desk import Desk
from memcli.cli.repl.history import open_history
from memcli.cli.repl.loading import Loading
from memcli.cli.repl.loop import Repl
from memcli.cli.repl.prompt import Prompt
from memcli.cli.repl.registry import registry
from memcli.cli.repl.toolbar import Toolbar
from memcli.cli.talk import Talk
from memcli.config import prompt_history_path


def start(talk: Talk) -> int:
    """Run the REPL on this process's terminal and return its exit code.

    Raises what choosing the model raises: without a model there is nothing to talk to.
    """
    terminal = talk.session.terminal
    _ = talk.store  # opened here, so that a store that cannot be used is said before the prompt
    commands = registry()
    toolbar = Toolbar(talk)
    loading = Loading(lambda: _load(talk, toolbar))
    desk = Desk(talk, terminal.out, loading)
    completer = SlashCompleter(commands.helps, {"resume": lambda: _names(talk)})
    prompt = Prompt(
        toolbar,
        open_history(prompt_history_path()),
        completer,
        loading.start,
        desk.early.press,
        has_color=not terminal.no_color,
    )
    loading.on_end = lambda: _after_load(loading, prompt)
    if not terminal.is_quiet:
        terminal.write(f"memcli {__version__} · /help lists the commands, Ctrl-D leaves\n")
        greet(desk)
    with noting_ctrl_c(desk.early):
        Repl(desk, prompt.ask, commands, toolbar).run()
    return 0


def _load(talk: Talk, toolbar: Toolbar) -> None:
    """Choose the model and bring it into memory, and load what will show its answers."""
    talk.connect().load()
    toolbar.read()
    import_module("memcli.cli.live")


def _after_load(loading: Loading, prompt: Prompt) -> None:
    if loading.error is not None:
        prompt.fail(loading.error)
    else:
        prompt.redraw()


def _names(talk: Talk) -> Iterable[str]:
    return [item.name or item.id[:8] for item in talk.store.conversations.list(limit=50)]
