"""An augmented Lagrangian with L-BFGS: a quasi-Newton method with inner steps at fixed multipliers.

    A(x; lambda, c) = f(x) + sum_j (max(0, lambda_j + c g_j(x))^2 - lambda_j^2)/(2c)
    lambda <- max(0, lambda + c g(x)) after ``inner`` steps of L-BFGS on A

(Nocedal and Wright, Numerical Optimization, 17.4 and 7.2.) The curvature pairs have both gradients at
the same multipliers, so that a change of lambda never enters them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import optimize

from ..settings import LagrangianSetting
from .evaluations import Evaluations, Exhausted
from .sets import Face, length

ARMIJO = 1e-4
TRIALS = 12  # of a line search
FIRST = 1e-3  # length of the first step, relative to 1 + ||x||
CURVED = 1e-8  # least cosine of the angle in a curvature pair
TINY = 1e-200  # least product s.y, whose inverse must be finite
PENALTY_LIMIT = 1e5
LARGE = 1e10  # stands for a value that is not finite, which scipy's line search does not accept


@dataclass
class Pairs:
    """The curvature pairs (s, y) of L-BFGS."""

    memory: int
    _pairs: list[tuple[np.ndarray, np.ndarray, float]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self._pairs)

    def clear(self) -> None:
        """Forget all pairs."""
        self._pairs.clear()

    def add(self, s: np.ndarray, y: np.ndarray) -> None:
        """Keep the pair if its curvature is positive."""
        inner = float(s @ y)
        if np.isfinite(inner) and inner > max(CURVED * length(s) * length(y), TINY):
            self._pairs = [*self._pairs, (s, y, 1.0 / inner)][-self.memory :]

    def times(self, v: np.ndarray) -> np.ndarray:
        """H v with the inverse Hessian's approximation H: the two-loop recursion."""
        q, alphas = 1.0 * v, []
        for s, y, r in reversed(self._pairs):
            alphas.append(r * (s @ q))
            q -= alphas[-1] * y
        s, y, r = self._pairs[-1]
        q /= r * (y @ y)
        for (s, y, r), alpha in zip(self._pairs, reversed(alphas)):
            q += s * (alpha - r * (y @ q))
        return q


class MatrixPairs:
    """Pairs in one matrix of a device, for PyTorch's vectors: the rows s and y of each pair, and their inner products on the host.

    An operation on a device takes a launch, however short the vectors are. The two-loop recursion therefore runs on the
    coefficients of the rows: ``times`` is two products with the matrix and two short copies between host and device.
    """

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._rows: Any = None  # [2 (memory + 1), n]: s and y of each place, one of which is free
        self._gram = np.zeros((2 * memory + 2, 2 * memory + 2))
        self._order: list[int] = []  # the places of the pairs, oldest first

    def __bool__(self) -> bool:
        return bool(self._order)

    def clear(self) -> None:
        """Forget all pairs."""
        self._order.clear()

    def add(self, s: Any, y: Any) -> None:
        """Keep the pair if its curvature is positive."""
        if self._rows is None:
            self._rows = s.new_zeros((len(self._gram), len(s)))
        place = next(k for k in range(self.memory + 1) if k not in self._order)
        rows = slice(2 * place, 2 * place + 2)
        self._rows[rows.start], self._rows[rows.start + 1] = s, y
        products = (self._rows[rows] @ self._rows.T).cpu().numpy()
        (ss, inner), (_, yy) = products[:, rows]
        if np.isfinite(inner) and inner > max(CURVED * float(np.sqrt(ss * yy)), TINY):
            self._order = [*self._order, place][-self.memory :]
        else:  # no number of a refused pair stays, because it may not be finite
            self._rows[rows] = 0.0
            products = np.zeros_like(products)
        self._gram[rows], self._gram[:, rows] = products, products.T

    def times(self, v: Any) -> Any:
        """H v, as Pairs.times."""
        gram, along = self._gram, (self._rows @ v).cpu().numpy()  # the rows' inner products with v
        of_v, of_rows, alphas = 1.0, np.zeros(len(gram)), []  # q = of_v v + sum of_rows[k] row k
        for k in reversed(self._order):
            alphas.append((of_v * along[2 * k] + of_rows @ gram[2 * k]) / gram[2 * k, 2 * k + 1])
            of_rows[2 * k + 1] -= alphas[-1]
        last = 2 * self._order[-1]
        gamma = gram[last, last + 1] / gram[last + 1, last + 1]
        of_v, of_rows = of_v * gamma, of_rows * gamma
        for k, alpha in zip(self._order, reversed(alphas)):
            beta = (of_v * along[2 * k + 1] + of_rows @ gram[2 * k + 1]) / gram[2 * k, 2 * k + 1]
            of_rows[2 * k] += alpha - beta
        return v * of_v + v.new_tensor(of_rows) @ self._rows


class _Merit:
    """A(x; lambda, c) and its gradient."""

    def __init__(self, problem: Evaluations, setting: LagrangianSetting) -> None:
        self.problem = problem
        self.penalty = setting.penalty
        self.growth = setting.growth
        self.multipliers = np.zeros(problem.source.constraints)
        self._unmet = np.inf  # norm of the infeasibility at the last update

    def weights(self, g: np.ndarray) -> np.ndarray:
        """max(0, lambda + c g)."""
        return np.maximum(0.0, self.multipliers + self.penalty * g)

    def value(self, f: float, g: np.ndarray) -> float:
        """A."""
        return f + float(np.sum(self.weights(g) ** 2 - self.multipliers**2)) / (2 * self.penalty)

    def gradient(self, g: np.ndarray) -> np.ndarray:
        """The gradient of A at the last evaluated point."""
        return self.problem.backward(np.concatenate([[1.0], self.weights(g)]))

    def update(self, g: np.ndarray) -> None:
        """Update the multipliers, and the penalty if the infeasibility did not fall by half."""
        unmet = float(np.linalg.norm(np.maximum(g, -self.multipliers / self.penalty)))
        self.multipliers = self.weights(g)
        if unmet > 0.5 * self._unmet and np.max(g, initial=0.0) > 1e-4:
            self.penalty = min(self.penalty * self.growth, PENALTY_LIMIT)
        self._unmet = unmet


def run(problem: Evaluations, setting: LagrangianSetting) -> np.ndarray:
    """Spend the budget, and return the last accepted point."""
    at = [problem.project(problem.start)]
    merit = _Merit(problem, setting)
    try:
        (_scipy if setting.solver == "scipy" else _own)(problem, setting, merit, at)
    except Exhausted:
        pass
    return at[0]


def _own(problem: Evaluations, setting: LagrangianSetting, merit: _Merit, at: list[np.ndarray]) -> None:
    """L-BFGS with a limit on the step, along the set's face where -gradient pushes outwards.

    Each update of the multipliers costs one more gradient at the same point.
    """
    x = at[0]
    pairs = (Pairs if isinstance(x, np.ndarray) else MatrixPairs)(setting.memory)
    f, g = problem.forward(x)
    gradient, steps = merit.gradient(g), 0
    while True:
        face = problem.source.weights.face(x, gradient)
        value, step = merit.value(f, g), _direction(x, gradient, face, pairs, setting.cap)
        slope, t, moved = float(gradient @ step), 1.0, False
        for _ in range(TRIALS):
            to = problem.project(x + t * step)
            f_to, g_to = problem.forward(to)
            value_to = merit.value(f_to, g_to)
            if np.isfinite(value_to) and value_to <= value + ARMIJO * t * slope + 1e-9 * abs(value):
                moved = True
                break
            parabola = -slope * t * t / (2 * (value_to - value - slope * t)) if np.isfinite(value_to) else 0.1 * t
            t = float(np.clip(parabola, 0.1 * t, 0.5 * t))
        if moved:
            s, gradient_to = to - x, merit.gradient(g_to)
            pairs.add(s, gradient_to - gradient + face.curvature * s)
            x, f, g, gradient = to, f_to, g_to, gradient_to
            at[0], steps = x, steps + 1
        elif pairs:
            pairs.clear()
        else:
            steps = setting.inner  # no step helps at these multipliers
        if steps >= setting.inner:
            merit.update(g)
            if not moved:
                f, g = problem.forward(x)  # the last trial was elsewhere
            gradient, steps = merit.gradient(g), 0


def _direction(x: np.ndarray, gradient: np.ndarray, face: Face, pairs: Pairs | MatrixPairs, cap: float | None) -> np.ndarray:
    """-H gradient along the face, no longer than the limit. Clears the pairs if the step does not descend."""
    reduced = face.tangent(gradient)
    step = -face.tangent(pairs.times(reduced)) if pairs else 0.0 * x
    size = 1.0 + length(x)
    if not reduced @ step < 0:
        pairs.clear()
        step = reduced * (-FIRST * size / max(length(reduced), 1e-300))
    norm = length(step)
    return step * (cap * size / norm) if cap is not None and norm > cap * size else step


def _scipy(problem: Evaluations, setting: LagrangianSetting, merit: _Merit, at: list[np.ndarray]) -> None:
    """scipy's L-BFGS-B with ``inner`` iterations between updates.

    The box is L-BFGS-B's own. The ball enters through the projection: A(P(x)), whose gradient is
    P'(x) grad A(P(x)).
    """
    weights = problem.source.weights
    _, g_at = last = at[0], np.zeros(problem.source.constraints)

    def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal last
        inside = problem.project(x)
        f, g = problem.forward(inside)
        gradient, value, last = merit.gradient(g), merit.value(f, g), (inside, g)
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            return LARGE, np.zeros_like(x)
        norm = float(np.linalg.norm(x))
        if weights.radius is not None and norm > weights.radius:
            normal = x / norm
            gradient = (gradient - (gradient @ normal) * normal) * (weights.radius / norm)
        return value, gradient

    def keep(x: np.ndarray) -> None:
        nonlocal g_at
        at[0] = problem.project(x)
        if np.array_equal(at[0], last[0]):
            g_at = last[1]

    bounds = None if weights.lower is None and weights.upper is None else [(weights.lower, weights.upper)] * len(at[0])
    options = {"maxiter": setting.inner, "maxcor": setting.memory, "maxls": TRIALS, "ftol": 0.0, "gtol": 1e-12}
    while True:
        optimize.minimize(value_and_gradient, at[0], jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=keep)
        merit.update(g_at)
