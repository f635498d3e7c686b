"""The house's import rule, read from the source: floors, one home a dependency, absolute imports only."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLOORS = {
    "errors": 0, "records": 0, "config": 0, "store": 1, "memory": 2, "agent": 3, "transcripts": 3, "cli": 4,
    "__main__": 5,
}  # fmt: skip
"""A module imports its own floor and those below it. The package itself (`memcli/__init__.py`) stands outside."""
HOMES = {
    "typer": "cli", "rich": "cli", "markdown_it": "cli", "prompt_toolkit": "cli",
    "sqlite3": "store", "sqlite_utils": "store",
    "langchain_core": "agent", "langchain_ollama": "agent", "ollama": "agent", "httpx": "agent", "pydantic": "agent",
    "xllamacpp": "agent", "platformdirs": "config",
}  # fmt: skip
"""The one floor that may import each dependency. What is in neither this nor the standard library is no dependency."""
STRANGERS = (
    ("memcli.agent", "memcli.transcripts"), ("memcli.transcripts", "memcli.agent"),
    ("memcli.memory.window", "memcli.memory.turns"), ("memcli.memory.turns", "memcli.memory.window"),
)  # fmt: skip
"""Who never imports whom."""

KNOWN = {*sys.stdlib_module_names, "memcli", "_typeshed"}
"""What is at home everywhere; the type checker's own module is never really imported."""

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "memcli").rglob("*.py"))
}


def imports(module: str) -> Iterator[str]:
    """Name everything a module imports, wherever in it; a relative import by its dots."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield "." * node.level + (node.module or "")
        elif isinstance(node, ast.ImportFrom) and node.module == "memcli":
            yield from (f"memcli.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def floor(module: str) -> str:
    """Name the part of the house a module is in; the package itself is `memcli`."""
    return f"{module}.memcli".split(".")[1]


def is_in(module: str, package: str) -> bool:
    """Tell whether a module is a package or inside it."""
    return module == package or module.startswith(f"{package}.")


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_absolutely_and_only_from_its_floor_down(module: str) -> None:
    wrong = [
        name
        for name in imports(module)
        if name.startswith(".")
        or (is_in(name, "memcli") and module != "memcli" and FLOORS.get(floor(name), 0) > FLOORS[floor(module)])
    ]
    assert wrong == []


@pytest.mark.parametrize("module", MODULES)
def test_a_dependency_has_one_home(module: str) -> None:
    outside = {name.split(".")[0] for name in imports(module)} - KNOWN
    outside |= {name for name in imports(module) if name.split(".")[0] == "sqlite3"}
    assert {name for name in outside if HOMES.get(name.split(".")[0]) != floor(module)} == set()


@pytest.mark.parametrize(("module", "stranger"), STRANGERS)
def test_strangers_never_import_one_another(module: str, stranger: str) -> None:
    insiders = [name for name in MODULES if is_in(name, module)]
    assert [(name, seen) for name in insiders for seen in imports(name) if is_in(seen, stranger)] == []


def test_no_modules_import_one_another_in_a_circle() -> None:
    graph = {module: {name for name in needs(module) if name != module} for module in MODULES}
    assert list(TopologicalSorter(graph).static_order())  # it raises CycleError, naming the circle


def needs(module: str) -> Iterator[str]:
    """Name the modules of ours that a module imports, lazily too, but not what only a type checker reads."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    typing_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in typing_only and is_in(node.module or "", "memcli"):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from names & MODULES.keys() or {node.module or ""}
