"""The slash commands' registry: one function a command, found by its name or an alias. It refuses to hold a command."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memcli.cli.repl.desk import Desk
from memcli.errors import UsageError


@dataclass(frozen=True, slots=True)
class Command:
    """One slash command."""

    name: str
    help: str
    run: Callable[[Desk, str], None]
    """Takes what stands behind the name, "" when nothing does. Raises a MemcliError with what went wrong,
    and EOFError to leave the REPL, as the prompt does."""
    argument: str = ""
    """How its argument is written in the help; "" when it takes none."""
    aliases: tuple[str, ...] = ()


class Registry:
    """The commands there are."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self.commands = tuple(commands)
        self._by_name = {name: command for command in commands for name in (command.name, *command.aliases)}

    @property
    def helps(self) -> Mapping[str, str]:
        """Say what each name does, the names first and the aliases after them."""
        names = {command.name: command.help for command in self.commands}
        return names | {alias: f"the same as /{item.name}" for item in self.commands for alias in item.aliases}

    def find(self, name: str) -> Command:
        """Find a command. Raises UsageError with the closest one."""
        command = self._by_name.get(name)
        if command is not None:
            return command
        close = difflib.get_close_matches(name, self._by_name, n=1)
        guess = f"did you mean /{close[0]}? " if close else ""
        raise UsageError(
            f"there is no command /{name}", f"{guess}/help lists them; begin with // to send a text that begins with /"
        )

    def run(self, desk: Desk, name: str, argument: str) -> None:
        """Run a command. Raises UsageError when it is not there or takes no argument and got one."""
        command = self.find(name)
        if argument and not command.argument:
            raise UsageError(
                f"/{command.name} takes nothing behind it, and got {argument!r}", f"type /{command.name} alone"
            )
        command.run(desk, argument)
