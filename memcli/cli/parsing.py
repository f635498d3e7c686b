"""How a command is loaded when it is run, and how typed words become its parameters. It refuses to know any command.

Two departures from plain Typer, both for start-up. A command's module is imported when the command runs, not when it is
listed. And words become values here rather than in the Pydantic adapter that Typer builds for every parameter, whose
import alone takes longer than a whole inspection command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

CONTEXT: dict[str, object] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""How every command reads its line: `-h` is help, and help uses a wide terminal."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the table of commands."""

    name: str
    home: str
    """`module:function` in `memcli.cli`; the function's signature is the command line, its docstring the help."""
    help: str
    """What the list of commands says: the first line of the function's docstring."""


def lazy_command(entry: Entry) -> TyperCommand:
    """Make a command that can be listed at no cost and loads itself when it is run or asked for its help."""
    return _Lazy(entry)


class Group(TyperGroup):
    """A command group whose own parameters are parsed plainly."""

    def get_params(self, ctx: typer.Context) -> list[object]:  # type: ignore[override]
        """List the parameters, the help option included."""
        return _parsed_plainly(super().get_params(ctx))


class Command(TyperCommand):
    """A command whose parameters are parsed plainly."""

    def get_params(self, ctx: typer.Context) -> list[object]:  # type: ignore[override]
        """List the parameters, the help option included."""
        return _parsed_plainly(super().get_params(ctx))


class _Lazy(TyperCommand):
    def __init__(self, entry: Entry) -> None:
        super().__init__(entry.name, help=entry.help, short_help=entry.help)
        self._entry = entry

    def make_context(self, *args: object, **options: object) -> typer.Context:
        """Load the real command and let it take over: from here on nobody sees this one."""
        return cast(typer.Context, self._load().make_context(*args, **options))  # type: ignore[arg-type]

    def _load(self) -> TyperCommand:
        module, function = self._entry.home.split(":")
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(self._entry.name, cls=Command, context_settings=CONTEXT)(
            cast("Callable[..., None]", getattr(import_module(f"memcli.cli.{module}"), function))
        )
        return cast(TyperCommand, get_command(app))


def _parsed_plainly(params: Iterable[object]) -> list[object]:
    """Give every parameter its plain parser. One that Typer alone can parse keeps Typer's."""
    plain = list(params)
    for param in plain:
        parser = _parser(param)
        if parser is not None:
            param._runtime_param = _Plain(parser, _container(param))  # type: ignore[attr-defined]
    return plain


_Container = type[list[object]] | type[tuple[object, ...]]


class _Plain:
    """What Typer asks of a parameter's parser: None for nothing given, each item of a list or tuple, else the value."""

    def __init__(self, parse: Callable[[str], object], container: _Container) -> None:
        self.parse = parse
        self.container = container

    def coerce(self, value: object, param: object, ctx: typer.Context) -> object:
        if value is None:
            return None
        if isinstance(value, (list, tuple)):
            return self.container(self._one(item, param, ctx) for item in value)
        return self._one(value, param, ctx)

    def _one(self, value: object, param: object, ctx: typer.Context) -> object:
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except ValueError as err:
            raise typer.BadParameter(str(err), ctx=ctx, param=param) from None  # type: ignore[arg-type]


def _parser(param: object) -> Callable[[str], object] | None:
    descriptor = param.type_descriptor  # type: ignore[attr-defined]
    if descriptor.parameter_info.parser is not None:
        return cast("Callable[[str], object]", descriptor.parameter_info.parser)
    if descriptor.choices is not None:
        return _choice_of(tuple(str(choice) for choice in descriptor.choices))
    return _PARSERS.get(descriptor.annotation)


def _container(param: object) -> _Container:
    annotation: object = param.type_descriptor.annotation  # type: ignore[attr-defined]
    return tuple if getattr(annotation, "__origin__", None) is tuple else list


def _choice_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{text!r} is not one of {', '.join(choices)}")
        return text

    return parse


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None


def _truth(text: str) -> bool:
    return text.lower() in ("1", "true", "yes", "on")


_PARSERS: dict[object, Callable[[str], object]] = {
    str: str, list[str]: str, tuple[str, str]: str, int: _whole, list[int]: _whole, float: _number, bool: _truth,
}  # fmt: skip
