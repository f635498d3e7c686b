"""How a duration is taken: warmed up, rivals taking turns, medians. It refuses to know what is timed."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping


def medians(rivals: Mapping[str, Callable[[], object]], *, samples: int, least_s: float = 0.0) -> dict[str, float]:
    """Time each rival and return the median seconds of one call, by name.

    The rivals take turns, beginning with another one each round, so that a busy moment of the machine falls on all of
    them alike. A sample repeats its call until about `least_s` has passed; the first call is a warm-up and not counted.
    """
    repeats = {name: _repeats(call, least_s) for name, call in rivals.items()}
    taken: dict[str, list[float]] = {name: [] for name in rivals}
    names = list(rivals)
    for turn in range(samples):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            taken[name].append(_sample(rivals[name], repeats[name]))
    return {name: statistics.median(values) for name, values in taken.items()}


def _repeats(call: Callable[[], object], least_s: float) -> int:
    call()
    once = _sample(call, 1) if least_s else 0.0
    return max(1, round(least_s / max(once, 1e-7)))


def _sample(call: Callable[[], object], repeats: int) -> float:
    gc.collect()
    gc.disable()
    try:
        started = time.perf_counter()
        for _ in range(repeats):
            call()
        return (time.perf_counter() - started) / repeats
    finally:
        gc.enable()
