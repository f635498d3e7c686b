"""`memcli config`: each setting, its value and where it came from."""

from __future__ import annotations


def config() -> None:
    """Show each setting, its value and where it came from."""
