"""Every setting as a flag of the commands where it matters, under its own name and read as in a file.

The flags that people use every day are written out in a command's signature and its help. The others are added here:
they work and are left out of the help, which `memcli config` stands in for. It refuses to know what a setting does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Annotated, TypeVar

import typer

from memcli.config import Settings

Command = TypeVar("Command", bound=Callable[..., None])

POLICY = (
    "memory", "max_tokens", "compact_every", "compact_on_overflow", "summarizer", "summary_tokens", "values_tokens",
    "max_summaries", "on_full", "limit_tokens", "output_reserve", "window_step",
)  # fmt: skip
"""What decides what is in a context and what is folded."""
STORE = ("db", "busy_timeout_s")
MODEL = ("model", "timeout_s", "threads")
EVERY = tuple(setting.name for setting in fields(Settings))

MATTERS: Mapping[str, tuple[str, ...]] = {
    "chat": EVERY,
    "history": STORE,
    "summaries": STORE,
    "compact": (*STORE, *MODEL, *POLICY),
    "context": (*STORE, *POLICY),
    "import": (*STORE, "memory", "max_tokens"),
    "export": STORE,
    "doctor": (*STORE, "model"),
    "config": EVERY,
}
"""The settings that matter to each command."""


def with_settings(command: str) -> Callable[[Command], Command]:
    """Give a command the flags of its settings that its signature does not name; they arrive in its `**settings`."""

    def decorate(function: Command) -> Command:
        signature = inspect.signature(function, eval_str=True)
        named = [item for item in signature.parameters.values() if item.kind is not inspect.Parameter.VAR_KEYWORD]
        known = {item.name for item in named}
        added = [_parameter(name) for name in MATTERS[command] if name not in known]
        function.__signature__ = signature.replace(parameters=[*named, *added])  # type: ignore[attr-defined]
        function.__annotations__.update({item.name: item.annotation for item in added})
        return function

    return decorate


def flag_of(name: str) -> str:
    """Write a setting's name as a flag."""
    return f"--{name.replace('_', '-')}"


def _parameter(name: str) -> inspect.Parameter:
    flag = flag_of(name)
    if isinstance(getattr(_DEFAULTS, name), bool):
        annotation: object = Annotated[bool | None, typer.Option(f"{flag}/--no-{flag[2:]}", hidden=True)]
    else:
        annotation = Annotated[str | None, typer.Option(flag, hidden=True)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


_DEFAULTS = Settings()
