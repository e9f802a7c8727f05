"""Choose the best setting of a grid, and find when a run meets a target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import TypeVar

from .cases import FEASIBLE

T = TypeVar("T")


@dataclass(frozen=True)
class Point:
    """An iterate: its time, its objective f and its largest constraint max_j g_j."""

    iteration: int
    seconds: float
    objective: float
    worst: float

    @property
    def feasible(self) -> bool:
        """Whether every bound is met, up to FEASIBLE. False if a number is not finite."""
        return isfinite(self.objective) and self.worst <= FEASIBLE

    def meets(self, target: float) -> bool:
        """Whether the point is feasible with an objective of at most target."""
        return self.feasible and self.objective <= target


def rank(point: Point) -> tuple[int, float, float]:
    """Sorts points by feasibility first, then objective; infeasible ones by their worst constraint."""
    if point.feasible:
        return (0, point.objective, point.worst)
    return (1, point.worst if isfinite(point.worst) else inf, point.objective if isfinite(point.objective) else inf)


def best_until(points: Iterable[Point], iteration: int) -> Point | None:
    """The feasible point with the smallest objective up to iteration; None when no point is feasible."""
    feasible = [p for p in points if p.iteration <= iteration and p.feasible]
    return min(feasible, key=rank, default=None)


def best_of(runs: Iterable[T], point: Callable[[T], Point | None]) -> T | None:
    """The run with the best point; runs without a point come last; None if there is no run."""
    last = (2, inf, inf)

    def key(run: T) -> tuple[int, float, float]:
        p = point(run)
        return last if p is None else rank(p)

    return min(runs, key=key, default=None)


def first_hit(points: Sequence[Point], target: float) -> Point | None:
    """The first point that meets the target."""
    return next((p for p in points if p.meets(target)), None)


def worst_after(points: Iterable[Point], hit: Point) -> float | None:
    """The largest constraint after a hit, which shows by how much bounds are exceeded again. None if nothing follows."""
    return max((p.worst for p in points if p.iteration > hit.iteration), default=None)
