"""Cooper (cooper-optim) with proxy constraints: the sigmoid's rates move the weights, the decisions' rates the multipliers.

Cooper calls the decisions' rates the strict violation. The objective is the logistic loss, for np the logistic loss of the
positive rows, or the same sigmoid as in the constraints; full batches, Adam and gradient ascent on the multipliers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version

import cooper
import numpy as np
import torch
from torch.nn import functional

from .peer import Candidate, DecisionsPeer
from .rows import Problem, Rows


class Proxies(cooper.ConstrainedMinimizationProblem):
    """A linear model under constraints on its decisions. Keeps the iterate with the best training decisions."""

    def __init__(self, problem: Problem, train: Rows, objective: str) -> None:
        super().__init__()
        self.problem = problem
        self.x = torch.from_numpy(np.hstack([train.features, np.ones((len(train.labels), 1))]).astype(np.float32))
        self.matrix = torch.from_numpy(problem.constraints(train).astype(np.float32))
        self.shares = torch.from_numpy(problem.objective(train).astype(np.float32))
        self.sign = torch.from_numpy(np.where(train.labels == 1, 1.0, -1.0).astype(np.float32))
        self.slack = problem.slack(train)
        self.surrogate = functional.softplus if objective == "logistic" else torch.sigmoid
        self.weights = torch.nn.Parameter(torch.zeros(self.x.shape[1]))
        self.multiplier = cooper.multipliers.DenseMultiplier(num_constraints=len(self.matrix), dtype=torch.float32)
        self.bounds = cooper.Constraint(cooper.ConstraintType.INEQUALITY, multiplier=self.multiplier)
        self.key, self.best = (np.inf, np.inf), self.weights.detach().clone()

    def compute_cmp_state(self) -> cooper.CMPState:
        """One forward pass over all rows."""
        scores = self.x @ self.weights
        loss = self.shares @ self.surrogate(-self.sign * scores)
        proxy = self.matrix @ torch.sigmoid(scores) - self.problem.bound
        with torch.no_grad():
            decisions = (scores > 0).float()
            strict = self.matrix @ decisions - self.problem.bound
            error = float(self.shares @ ((self.sign > 0) != (scores > 0)).float())
            self.keep(float(strict.max()), error)
        state = cooper.ConstraintState(violation=proxy, strict_violation=strict)
        return cooper.CMPState(loss=loss, observed_constraints={self.bounds: state})

    def keep(self, violation: float, error: float) -> None:
        """Keep the iterate with the least violation beyond one row, and among them the least error."""
        key = (max(0.0, violation - self.slack), error)
        if key < self.key:
            self.key, self.best = key, self.weights.detach().clone()


class CooperProxyPeer(DecisionsPeer):
    """Contender: cooper. Its points are the last and the best iterate."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        torch.set_num_threads(threads)

    def describe(self) -> dict[str, str]:
        return {"Cooper": version("cooper-optim"), "PyTorch": torch.__version__}

    def _prepare(
        self, contender: str, problem: Problem, setting: dict
    ) -> Callable[[], Callable[[Rows], Iterable[Candidate]]]:
        train = self._train

        def fit() -> Callable[[Rows], Iterable[Candidate]]:
            cmp = Proxies(problem, train, setting["objective"])
            primal = torch.optim.Adam([cmp.weights], lr=setting["rate"])
            dual = torch.optim.SGD(cmp.dual_parameters(), lr=setting["dual_rate"], maximize=True)
            optimizer = cooper.optim.AlternatingDualPrimalOptimizer(cmp=cmp, primal_optimizers=primal, dual_optimizers=dual)
            for _ in range(setting["iterations"]):
                optimizer.roll()
            last = cmp.weights.detach().clone()

            def measure(rows: Rows) -> Iterable[Candidate]:
                for name, weights in (("last", last), ("best", cmp.best)):
                    w = weights.double().numpy()
                    yield name, 1, (rows.features @ w[:-1] + w[-1] > 0).astype(float)

            return measure

        return fit
