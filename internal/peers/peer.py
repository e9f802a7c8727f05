"""The common base of the contenders' processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from .problem import Problem, Weights
from .timing import clock

Step = Callable[[], None]

WARM_UP = 3  # calls of a step before it is timed
STEP_SIZE = 1e-4  # of the timed iterations: small enough to keep the weights where the work is typical


class Peer:
    """A library: loads a problem, computes its gradient, times its products and iterations.

    Public methods are called from the parent process, with and for values that JSON can carry.
    """

    def __init__(self, threads: int, device: str = "cpu") -> None:
        self.threads, self.device = threads, device
        self.problem: Problem
        self._steps: dict[str, Step] = {}

    def describe(self) -> dict[str, str]:
        """Versions and settings that a reader of the results needs."""
        raise NotImplementedError

    def load(self, folder: str) -> None:
        """Read the problem that the parent wrote, and drop prepared contenders."""
        self._steps.clear()
        self.problem = Problem.load(Path(folder))

    def gradient(self, dtype: str, w: list[float], out: str) -> list[float]:
        """The classes' losses at the start; grad f + sum_k w_k grad g_k goes to the file out."""
        losses, gradient = self._gradient(dtype, w)
        gradient.save(Path(out))
        return losses

    def prepare(self, contender: str) -> float:
        """Compile and warm up a contender. Return the time in seconds."""
        start = time.perf_counter()
        step = self._step(contender)
        clock(step, 0.0, at_least=WARM_UP)
        self._steps[contender] = step
        return time.perf_counter() - start

    def time(self, contender: str, seconds: float) -> list[float]:
        """Time a prepared contender's steps for about the given time, in milliseconds, after one untimed step."""
        step = self._steps[contender]
        step()
        return clock(step, seconds)

    def _gradient(self, dtype: str, w: list[float]) -> tuple[list[float], Weights]:
        raise NotImplementedError

    def _step(self, contender: str) -> Step:
        raise NotImplementedError
