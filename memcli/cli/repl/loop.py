"""Read, run, again: the REPL. It refuses to know the keys, the commands and the model."""

from __future__ import annotations

from collections.abc import Callable

from memcli.cli.busy import busy
from memcli.cli.repl.commands import Registry
from memcli.cli.repl.desk import Desk
from memcli.cli.repl.toolbar import Toolbar
from memcli.cli.repl.turns import show_turn
from memcli.cli.repl.typed import Slash, read
from memcli.errors import MemcliError

Ask = Callable[[str], str]
"""Ask for a text, given the draft it begins with. Raises EOFError when the user leaves."""


class Repl:
    """Talk until the user leaves."""

    def __init__(self, desk: Desk, ask: Ask, registry: Registry, toolbar: Toolbar) -> None:
        self._desk = desk
        self._ask = ask
        self._registry = registry
        self._toolbar = toolbar

    def run(self) -> None:
        """Run until the user leaves. Raises what the background load raised: without a model there is no REPL."""
        draft = ""
        while True:
            self._desk.loading.check()
            self._toolbar.read()
            self._desk.early.forget()
            typed = ""
            try:
                typed = self._ask(draft)
                draft = self.take(typed)
            except EOFError:
                return
            except KeyboardInterrupt:
                draft = typed

    def take(self, typed: str) -> str:
        """Do what was typed and give the draft the next prompt begins with, "" for none. Raises EOFError to leave."""
        said = read(typed)
        if said is None:
            return ""
        try:
            if isinstance(said, Slash):
                with busy():
                    self._registry.run(self._desk, said.name, said.argument)
            else:
                text = said.text
                show_turn(self._desk, lambda partner, emit: partner.run_turn(text, emit))
        except MemcliError as err:
            if err is self._desk.loading.error:
                raise
            self._show_error(err)
            return "" if isinstance(said, Slash) else typed
        except KeyboardInterrupt:
            self._desk.say("interrupted", "yellow")
            return "" if isinstance(said, Slash) else typed
        return ""

    def _show_error(self, err: MemcliError) -> None:
        from memcli.cli.render.turn import error_lines

        self._desk.show(error_lines(err))
