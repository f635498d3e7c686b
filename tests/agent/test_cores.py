"""How many threads a model gets."""

from __future__ import annotations

import pytest

from memcli.agent.cores import default_threads, physical_cores


def processor(number: int, package: int, core: int) -> str:
    return f"processor\t: {number}\nphysical id\t: {package}\ncore id\t\t: {core}\n"


@pytest.mark.parametrize(
    ("cpuinfo", "cores"),
    [
        ("", 0),
        ("processor\t: 0\nBogoMIPS\t: 50\n\nprocessor\t: 1\n", 0),
        ("\n".join(processor(n, 0, n) for n in range(4)), 4),
        ("\n".join(processor(n, 0, n // 2) for n in range(8)), 4),
        ("\n".join(processor(n, n // 2, n % 2) for n in range(4)), 4),
    ],
)
def test_hyperthreads_of_one_core_count_once(cpuinfo: str, cores: int) -> None:
    assert physical_cores(cpuinfo) == cores


def test_a_model_gets_at_least_one_thread() -> None:
    assert default_threads() >= 1
