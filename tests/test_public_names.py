"""The names `from memcli import …` promises, each found and each typed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import memcli


@pytest.mark.parametrize("name", memcli.__all__)
def test_a_public_name_is_there(name: str) -> None:
    assert getattr(memcli, name) is not None


def test_every_public_name_has_a_home_and_a_type() -> None:
    tree = ast.parse(Path(memcli.__file__).read_text(encoding="utf-8"))
    typed = {
        alias.name: node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    homes = memcli._HOMES
    assert sorted(homes) == sorted(set(memcli.__all__) - {"__version__"})
    assert {name: typed.get(name) for name in homes} == homes


def test_a_name_that_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'memcli' has no attribute 'nope'"):
        getattr(memcli, "nope")  # noqa: B009


def test_the_names_are_listed() -> None:
    assert dir(memcli) == sorted(memcli.__all__)
