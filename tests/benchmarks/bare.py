"""The floor of a start-up: Typer, Rich and sqlite3 showing a small table, and nothing else. Run as a script."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table


def show(path: Path) -> None:
    """Show the newest messages of a store."""
    connection = sqlite3.connect(path)
    table = Table("id", "role", "tokens")
    for row in connection.execute("select id, role, tokens from messages order by id desc limit 3"):
        table.add_row(*map(str, row))
    connection.close()
    Console().print(table)


if __name__ == "__main__":
    typer.run(show)
