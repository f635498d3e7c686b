"""How many threads a model should get on this machine. It refuses to know any model."""

from __future__ import annotations

import os
from pathlib import Path


def default_threads() -> int:
    """Choose the number of threads: the physical cores this process may use, less one, and at least one.

    Two threads on two busy cores wait for each other: 50 tokens a second fall below 3.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cpuinfo = Path("/proc/cpuinfo")
    cores = physical_cores(cpuinfo.read_text(encoding="utf-8", errors="replace")) if cpuinfo.is_file() else 0
    return max(1, min(cores or usable, usable) - 1)


def physical_cores(cpuinfo: str) -> int:
    """Count the physical cores that the text of /proc/cpuinfo lists; 0 when it does not say."""
    cores = set()
    for processor in cpuinfo.split("\n\n"):
        facts = {
            key.strip(): value.strip() for key, _, value in (line.partition(":") for line in processor.splitlines())
        }
        if "core id" in facts:
            cores.add((facts.get("physical id", "0"), facts["core id"]))
    return len(cores)
