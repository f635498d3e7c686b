"""Where a screen goes: to the terminal, into a JSON document, or into files. It refuses to know what is on it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memcli.cli.terminal import Terminal
from memcli.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memcli.cli.render.palette import Detail


class Outlet:
    """The way out for what one command shows."""

    def __init__(
        self, terminal: Terminal, *, as_json: bool, full: bool, svg: str | None = None, html: str | None = None,
        overwrite: bool = False,
    ) -> None:  # fmt: skip
        self.terminal = terminal
        self.as_json = as_json
        self._is_full = full
        self._svg = Path(svg) if svg is not None else None
        self._html = Path(html) if html is not None else None
        self._may_overwrite = overwrite

    @property
    def is_saved(self) -> bool:
        """Tell whether it goes into files."""
        return self._svg is not None or self._html is not None

    @property
    def detail(self) -> Detail:
        """Tell how much is shown: everything in a pipe and with --full, else what fits a screen."""
        if self._is_full:
            return "full" if self.is_saved or not self.terminal.is_piped else "plain"
        return "plain" if self.terminal.is_piped and not self.is_saved else "brief"

    def check(self, *, can_save: bool = True) -> None:
        """Raise UsageError when a file is there already, or cannot hold what is asked."""
        files = [("--svg", self._svg), ("--html", self._html)]
        for flag, path in files:
            if path is None:
                continue
            if not can_save or self.as_json:
                other = "--json" if self.as_json else "--raw"
                raise UsageError(f"{flag} saves a picture, and {other} prints none", f"leave {flag} or {other} out")
            if path.exists() and not self._may_overwrite:
                raise UsageError(f"{path} is there already", "name another file, or overwrite it with -y")

    def write(self, body: Mapping[str, object]) -> None:
        """Print a JSON document."""
        from memcli.cli.output import document

        self.terminal.write(document(body))

    def show(self, screen: RenderableType, *, title: str) -> None:
        """Show a screen, or save it and say where it went. Raises OSError when a file cannot be written."""
        if not self.is_saved:
            self.terminal.show(screen)
            return
        from memcli.cli.saving import save

        for path, kind in ((self._svg, "svg"), (self._html, "html")):
            if path is not None:
                save(screen, path, "svg" if kind == "svg" else "html", title, no_color=self.terminal.no_color)
                self.terminal.write(f"saved {path}\n")
