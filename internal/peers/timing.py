"""Turns and medians: contenders are timed alternately, so that a slow period of the machine affects all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from statistics import quantiles

PAUSE = 0.2  # seconds between turns, so that the idle threads of the last contender stop spinning


@dataclass(frozen=True)
class Sample:
    """Times of one contender in milliseconds."""

    median: float
    low: float  # quartiles
    high: float
    best: float  # the shortest
    count: int

    @staticmethod
    def of(times: list[float]) -> Sample:
        """Summarise times; raise ValueError if there are none."""
        if not times:
            raise ValueError("no times")
        low, middle, high = quantiles(times, method="inclusive") if len(times) > 1 else 3 * times
        return Sample(middle, low, high, min(times), len(times))

    def record(self) -> dict:
        """The sample as JSON."""
        return asdict(self)


def alternate(contenders: Mapping[str, Callable[[], list[float]]], rounds: int, pause: float = PAUSE) -> dict[str, Sample]:
    """Give every contender a turn in each round, the order reversed in every other one, and summarise all its times.

    A turn returns the times of the iterations that it did, in milliseconds.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds):
        order = list(contenders)
        for name in order if turn % 2 == 0 else reversed(order):
            time.sleep(pause)
            times[name] += contenders[name]()
    return {name: Sample.of(t) for name, t in times.items()}


def clock(step: Callable[[], None], seconds: float, at_least: int = 2) -> list[float]:
    """Times of calls of step in milliseconds: at least at_least calls, continued until the given time has passed."""
    times: list[float] = []
    while len(times) < at_least or sum(times) < 1e3 * seconds:
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    return times
