"""A problem whose evaluations are counted."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Protocol

import numpy as np

from ..cases import FEASIBLE
from .sets import WeightSet


class Exhausted(Exception):
    """The budget of evaluations is spent."""


class Source(Protocol):
    """Minimise f(x) subject to g_j(x) <= 0, j = 1..m, and x in a set."""

    start: np.ndarray  # x_0 in the set, float64 [n]
    constraints: int  # m
    weights: WeightSet
    dtype: str  # in which the source computes: float32 or float64

    def forward(self, x: np.ndarray) -> np.ndarray:
        """f and g_1..g_m at x, [1 + m]."""

    def backward(self, w: np.ndarray) -> np.ndarray:
        """w_0 grad f + sum_j w_j grad g_j at the x of the last forward call, [n]."""


@dataclass(frozen=True)
class Seen:
    """A point that was evaluated: the evaluations so far, f, and max_j g_j (at least 0)."""

    evaluations: int
    objective: float
    violation: float

    @property
    def feasible(self) -> bool:
        """Whether every bound is met, up to FEASIBLE. False if a number is not finite."""
        return isfinite(self.objective) and self.violation <= FEASIBLE  # NaN is not


class Evaluations:
    """A source with a budget.

    The count is max(forward calls, backward calls), so that a method that asks for each gradient
    separately pays for every one. A point outside the set has at least the violation WeightSet.outside.
    """

    def __init__(self, source: Source, budget: int) -> None:
        self.source = source
        self.budget = budget
        self.forwards = self.backwards = 0
        self.seen: list[Seen] = []

    @property
    def count(self) -> int:
        """The evaluations so far."""
        return max(self.forwards, self.backwards)

    @property
    def start(self) -> np.ndarray:
        """A copy of x_0."""
        return 1.0 * self.source.start

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of the set, rounded to what the source can tell apart."""
        return self.rounded(self.source.weights.project(x))

    def rounded(self, x: np.ndarray) -> np.ndarray:
        """x in the source's precision."""
        return x.astype(self.source.dtype).astype(np.float64)

    def forward(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """f and g at x. Exhausted if the budget is spent."""
        if self.forwards >= self.budget or self.count > self.budget:
            raise Exhausted
        self.forwards += 1
        values = self.source.forward(x)
        worst = max(float(np.max(values[1:], initial=0.0)), self.source.weights.outside(x))
        self.seen.append(Seen(self.count, float(values[0]), worst))
        return float(values[0]), values[1:]

    def backward(self, w: np.ndarray) -> np.ndarray:
        """w_0 grad f + sum_j w_j grad g_j at the last point. Exhausted if the budget is spent."""
        if self.backwards >= self.budget:
            raise Exhausted
        self.backwards += 1
        return self.source.backward(np.asarray(w, np.float64))

    def best(self, evaluations: int) -> float | None:
        """The smallest f of a feasible point within that many evaluations; None without one."""
        return min((s.objective for s in self.seen if s.evaluations <= evaluations and s.feasible), default=None)
