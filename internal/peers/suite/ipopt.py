"""IPOPT with limited-memory Hessians, through ipyopt, whose wheels include IPOPT.

IPOPT asks for every constraint's gradient, so that an iteration costs 1 + m backward passes. The ball
is one more constraint, (||x||^2/R^2 - 1)/2 <= 0; the box is IPOPT's own.
"""

from __future__ import annotations

import numpy as np

from ..settings import IpoptSetting
from .evaluations import Evaluations, Exhausted

UNBOUNDED = 2e19  # IPOPT's infinity
ITERATIONS = 100_000  # the budget ends a run earlier


class _Callbacks:
    """The problem in IPOPT's form. Each point is evaluated once, at its first use."""

    def __init__(self, problem: Evaluations) -> None:
        self.problem = problem
        self.radius = problem.source.weights.radius
        self.at: np.ndarray | None = None  # the last evaluated point
        self.f, self.g = 0.0, np.zeros(0)
        self.objective: np.ndarray | None = None  # grad f at that point
        self.accepted = problem.project(problem.start)
        self.over = False

    def evaluate(self, x: np.ndarray) -> None:
        """f and g at x."""
        if self.at is None or not np.array_equal(x, self.at):
            self.at, self.objective = x.copy(), None
            try:
                self.f, self.g = self.problem.forward(x)
            except Exhausted:
                self.over = True

    def value(self, x: np.ndarray) -> float:
        self.evaluate(x)
        return self.f

    def gradient(self, x: np.ndarray, out: np.ndarray) -> None:
        self.evaluate(x)
        out[:] = self._combination(0)
        self.accepted = x.copy()

    def constraints(self, x: np.ndarray, out: np.ndarray) -> None:
        self.evaluate(x)
        m = self.problem.source.constraints
        out[:m] = self.g
        if self.radius is not None:
            out[m] = (float(x @ x) / self.radius**2 - 1.0) / 2.0

    def jacobian(self, x: np.ndarray, out: np.ndarray) -> None:
        self.evaluate(x)
        rows = out.reshape(-1, len(x))
        for j in range(self.problem.source.constraints):
            rows[j] = self._combination(1 + j)
        if self.radius is not None:
            rows[-1] = x / self.radius**2

    def proceed(self, *_: float) -> bool:
        """Called once in each iteration: whether IPOPT goes on."""
        return not self.over

    def _combination(self, of: int) -> np.ndarray:
        unit = np.zeros(1 + self.problem.source.constraints)
        unit[of] = 1.0
        try:
            return self.problem.backward(unit)
        except Exhausted:
            self.over = True
            return np.zeros_like(self.accepted)


def run(problem: Evaluations, setting: IpoptSetting) -> np.ndarray:
    """Run until IPOPT ends or the budget is spent, and return the last point with gradients."""
    import ipyopt  # the other contenders need no IPOPT

    source = problem.source
    n, m = len(source.start), source.constraints + (source.weights.radius is not None)
    calls = _Callbacks(problem)
    solver = ipyopt.Problem(
        n, _filled(n, source.weights.lower, -UNBOUNDED), _filled(n, source.weights.upper, UNBOUNDED),
        m, np.full(m, -UNBOUNDED), np.zeros(m), (np.repeat(np.arange(m), n), np.tile(np.arange(n), m)), ((), ()),
        calls.value, calls.gradient, calls.constraints, calls.jacobian, intermediate_callback=calls.proceed,
        ipopt_options={
            "hessian_approximation": "limited-memory", "limited_memory_max_history": setting.history,
            "mu_strategy": setting.strategy, "mu_init": setting.barrier, "max_iter": ITERATIONS, "tol": 1e-9,
            "acceptable_iter": 0, "print_level": 0, "sb": "yes",
        },
    )  # fmt: skip
    solver.solve(problem.project(problem.start))
    return problem.project(calls.accepted)


def _filled(n: int, bound: float | None, absent: float) -> np.ndarray:
    return np.full(n, absent if bound is None else bound)
