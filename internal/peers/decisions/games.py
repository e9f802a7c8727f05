"""The proxy-Lagrangian game of TensorFlow Constrained Optimization (TFCO), in NumPy.

The formulation is written here after TFCO's source, without TensorFlow: Cotter, Jiang, Sridharan,
"Two-Player Games for Efficient Non-Convex Constrained Optimization", ALT 2019, Definition 2 and Algorithm 2. One player
moves the model's weights against a weighted sum of the objective's and the constraints' surrogates. The other player keeps
a left-stochastic matrix of m + 1 columns by multiplicative updates (swap regret) with the constraints' values on decisions;
its maximal eigenvector holds the weights of the sum. Both use Adam and mini-batches of 100 rows, as in the authors' example
on Adult. An epoch leaves a candidate; the authors' two rules choose among the candidates: the best single one, and the best
distribution over at most m + 1 of them (a linear program).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from scipy.optimize import linprog
from scipy.special import expit
from scipy.stats import rankdata

from .peer import Candidate, DecisionsPeer
from .rows import Problem, Rows

BATCH = 100
RADIUS = 1e-3  # the least weight of a constraint, times m + 1: TFCO's default


def hinge(margin: np.ndarray) -> np.ndarray:
    """The derivative of max(0, 1 + z), TFCO's default surrogate of 1[z > 0]."""
    return (margin > -1).astype(margin.dtype)


def sigmoid(margin: np.ndarray) -> np.ndarray:
    """The derivative of 1/(1 + exp(-z)), TFCO's SoftmaxLoss of a binary decision."""
    p = expit(margin)
    return p * (1 - p)


SURROGATES = {"hinge": hinge, "sigmoid": sigmoid}


class Adam:
    """Adam with TensorFlow's defaults."""

    def __init__(self, shape: tuple[int, ...], rate: float) -> None:
        self.rate, self.count = rate, 0
        self.mean, self.square = np.zeros(shape), np.zeros(shape)

    def step(self, gradient: np.ndarray) -> np.ndarray:
        """The step to add for a descent."""
        self.count += 1
        self.mean += 0.1 * (gradient - self.mean)
        self.square += 0.001 * (gradient * gradient - self.square)
        scale = self.rate * np.sqrt(1 - 0.999**self.count) / (1 - 0.9**self.count)
        return -scale * self.mean / (np.sqrt(self.square) + 1e-8)


def stationary(matrix: np.ndarray) -> np.ndarray:
    """The distribution that a left-stochastic matrix keeps, by the power method."""
    vector = np.full(len(matrix), 1 / len(matrix))
    for _ in range(100):
        following = matrix @ vector
        following /= following.sum()
        if np.abs(following - vector).max() <= 1e-6:
            return following
        vector = following
    return vector


class Game:
    """The two players on one problem, with a linear model."""

    def __init__(self, problem: Problem, train: Rows, setting: dict) -> None:
        self.bound = problem.bound
        self.derivative = SURROGATES[setting["surrogate"]]
        self.x = np.hstack([train.features, np.ones((len(train.labels), 1))])
        self.sign = np.where(train.labels == 1, 1.0, -1.0)
        # the constraints and the error as means over the rows of each cell of group and label
        self.cell = train.groups * 2 + train.labels
        self.sizes = np.bincount(self.cell, minlength=4)
        n = len(train.labels)
        self.effects = np.array([[row[self.cell == c][0] for c in range(4)] for row in problem.constraints(train)]) * n
        self.costs = np.array([problem.objective(train)[self.cell == c][0] for c in range(4)]) * n
        m = len(self.effects)
        self.weights = np.zeros(self.x.shape[1])
        self.primal = Adam(self.weights.shape, setting["rate"])
        small = RADIUS / (m + 1)
        self.state = np.log(np.vstack([np.full((1, m + 1), 1 - m * small), np.full((m, m + 1), small)]))
        self.dual = Adam(self.state.shape, setting["rate"])
        self.least = np.log(small)
        self.at = 0  # the next row of the order

    def epoch(self, order: np.ndarray) -> None:
        """About one pass over the rows: as many mini-batches as fit, which go on where the last pass ended."""
        for _ in range(max(1, len(order) // BATCH)):
            self.step(order[(self.at + np.arange(BATCH)) % len(order)])
            self.at = (self.at + BATCH) % len(order)

    def step(self, batch: np.ndarray) -> None:
        """A step of both players on a mini-batch."""
        x, sign = self.x[batch], self.sign[batch]
        cell = self.cell[batch]
        scores = x @ self.weights
        effects = self.effects[:, cell]
        # the values on the batch's decisions; a mean over the batch of n times the row's share in the rate
        values = effects @ (scores > 0) / len(batch) - self.bound
        weights = stationary(np.exp(self.state))
        # surrogates bound from above: an accepted row that raises a rate counts by z, one that lowers it by -z
        slope = -weights[0] * self.costs[cell] * sign * self.derivative(-sign * scores)
        up = np.where(effects > 0, effects, 0) * self.derivative(scores)
        down = np.where(effects < 0, effects, 0) * self.derivative(-scores)
        slope += weights[1:] @ (up + down)
        self.weights += self.primal.step(x.T @ (slope / len(batch)))
        self.state += self.dual.step(-np.outer(np.append(0.0, values), weights))
        top = self.state - self.state.max(0)
        self.state = np.maximum(top - np.log(np.exp(top).sum(0)), self.least)


def best_index(errors: np.ndarray, violations: np.ndarray) -> int:
    """TFCO's find_best_candidate_index: the smallest larger rank of error and violation; ties by the error."""
    ranks = np.maximum(rankdata(errors, "min"), rankdata(np.maximum(0, violations.max(1)), "min"))
    return int(np.lexsort((errors, ranks))[0])


def best_distribution(errors: np.ndarray, violations: np.ndarray) -> np.ndarray:
    """TFCO's find_best_candidate_distribution: the least expected error with the least expected violation."""

    def solve(largest: float) -> np.ndarray | None:
        m = violations.shape[1]
        result = linprog(errors, A_ub=violations.T, b_ub=np.full(m, largest), A_eq=np.ones((1, len(errors))), b_eq=[1.0])
        return result.x if result.success else None

    best = solve(0.0)
    if best is not None:
        return best
    lower, upper = 0.0, float(violations.max(1).min())
    best = solve(upper * (1 + 1e-9))
    while upper - lower > 1e-6:
        middle = (lower + upper) / 2
        found = solve(middle)
        if found is None:
            lower = middle
        else:
            best, upper = found, middle
    assert best is not None
    return best


class ProxyLagrangianPeer(DecisionsPeer):
    """Contender: proxy-lagrangian. Its points are the last iterate, the best candidate and the best distribution."""

    def describe(self) -> dict[str, str]:
        return {"NumPy": np.__version__}

    def _prepare(
        self, contender: str, problem: Problem, setting: dict
    ) -> Callable[[], Callable[[Rows], Iterable[Candidate]]]:
        train = self._train

        def fit() -> Callable[[Rows], Iterable[Candidate]]:
            rng = np.random.default_rng(31337)
            game = Game(problem, train, setting)
            matrix = problem.constraints(train)
            candidates, errors, violations = [], [], []
            order = rng.permutation(len(train.labels))
            for _ in range(setting["epochs"]):
                game.epoch(order)
                decisions = game.x @ game.weights > 0
                candidates.append(game.weights.copy())
                errors.append(problem.error(train, decisions))
                violations.append(matrix @ decisions - problem.bound)
            best = best_index(np.array(errors), np.array(violations))
            shares = best_distribution(np.array(errors), np.array(violations))

            def measure(rows: Rows) -> Iterable[Candidate]:
                def accept(w: np.ndarray) -> np.ndarray:
                    return (rows.features @ w[:-1] + w[-1] > 0).astype(float)

                yield "last", 1, accept(candidates[-1])
                yield "best", 1, accept(candidates[best])
                used = np.flatnonzero(shares > 1e-9)
                yield "distribution", len(used), sum(shares[k] / shares[used].sum() * accept(candidates[k]) for k in used)

            return measure

        return fit
