"""Settings as a table: what is set stands out, what is default does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.table import Table
from rich.text import Text

from memcli.cli.cleaning import clean_line


def settings_table(rows: Iterable[Mapping[str, object]]) -> Table:
    """Lay out settings, one a row, in the order given."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("setting", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold")
    table.add_column("meaning", overflow="fold", style="dim")
    for row in rows:
        is_set = row["source"] != "default"
        where = f" {row['where']}" if row["where"] else ""
        table.add_row(
            Text(str(row["name"]), "bold" if is_set else ""),
            Text(_value(row["value"]), "bold cyan" if is_set else ""),
            Text(clean_line(f"{row['source']}{where}"), "" if is_set else "dim"),
            Text(str(row["help"])),
        )
    return table


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return clean_line(str(value)) if value != "" else "–"
