"""The public names of memcli, each loaded from its module when it is first asked for.

`from memcli import Store` costs the store and nothing else: `import memcli` alone loads no floor of the house. It
refuses to hold any code of its own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memcli.errors import MemcliError
    from memcli.store import Store

__version__ = "0.1.0"

_HOMES = {
    "MemcliError": "memcli.errors",
    "Store": "memcli.store",
}
"""Where each public name lives. A new one is added here, above and in `__all__`; a test holds the three together."""

__all__ = ["MemcliError", "Store", "__version__"]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'memcli' has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
