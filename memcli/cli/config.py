"""`memcli config`: each setting, its value and where it came from. It refuses to change one: files and flags do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Literal

import typer

from memcli.cli import output
from memcli.cli.cleaning import clean_line
from memcli.cli.options import Db, Json, Model, NoColor
from memcli.cli.session import Session, reading
from memcli.cli.setting_flags import with_settings
from memcli.config import Resolved, describe, project_config_path, prompt_history_path, user_config_path


@with_settings("config")
def config(
    what: Annotated[
        Literal["path"] | None, typer.Argument(metavar="path", help="Show where files are instead.")
    ] = None,
    as_json: Json = False,
    db: Db = None,
    model: Model = None,
    no_color: NoColor = False,
    **settings: object,
) -> None:
    """Show each setting, its value and where it came from.

    A flag wins over MEMCLI_* in the environment, that over the project's .memcli.toml, that over your config.toml.
    """
    with reading(db=db, no_color=no_color, model=model, more=settings) as session:
        if what == "path":
            _paths(session, as_json=as_json)
        elif as_json:
            session.terminal.write(output.document({"settings": setting_rows(session.resolved)}))
        else:
            from memcli.cli.render.config import settings_table

            session.terminal.show(settings_table(setting_rows(session.resolved)))


def setting_rows(resolved: Resolved) -> list[Mapping[str, object]]:
    """Describe every setting in the order config.py declares them."""
    return [
        {
            "name": name,
            "value": getattr(resolved.settings, name),
            "source": resolved.came_from(name),
            "where": _where(name, resolved),
            "default": default,
            "help": help,
        }
        for name, default, help in describe()
    ]


def _where(name: str, resolved: Resolved) -> str | None:
    """Name the file or variable a value came from; None for a default or a flag."""
    source = resolved.came_from(name)
    if source == "environment":
        return f"MEMCLI_{name.upper()}"
    return str(resolved.files[source]) if source in resolved.files else None


def _paths(session: Session, *, as_json: bool) -> None:
    project = project_config_path()
    paths = {
        "store": str(session.store_path),
        "user_config": str(user_config_path()),
        "project_config": str(project) if project else None,
        "prompt_history": str(prompt_history_path()),
    }
    if as_json:
        session.terminal.write(output.document({"paths": paths}))
        return
    for name, path in paths.items():
        note = "" if path and os.path.exists(path) else "  (not there)"
        session.terminal.write(f"{name:<16}{clean_line(path) if path else 'none'}{note if path else ''}\n")
