"""Cooper's Lagrangian on an oracle: an autograd.Function asks for values and gradients."""

from __future__ import annotations

from typing import Any

import cooper
import numpy as np
import torch

from ..lagrangian import ball_constraint, ball_state, dual_optimizers, primal_optimizer, schedule
from ..settings import CooperSetting
from .evaluations import Evaluations, Exhausted


class _Values(torch.autograd.Function):
    """f and g_1..g_m of a problem in one tensor [1 + m]. Backward asks for one combined gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, problem: Evaluations) -> torch.Tensor:
        f, g = problem.forward(x.detach().numpy().astype(np.float64))
        ctx.problem = problem
        return torch.from_numpy(np.concatenate([[f], g])).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        (w,) = gradients
        return torch.from_numpy(ctx.problem.backward(w.numpy().astype(np.float64))).to(w.dtype), None


class _Problem(cooper.ConstrainedMinimizationProblem):
    """The problem in Cooper's form. Without projection the ball is one more constraint."""

    def __init__(self, problem: Evaluations, x: torch.nn.Parameter, project: bool) -> None:
        super().__init__()
        self.problem, self.x = problem, x
        multiplier = cooper.multipliers.DenseMultiplier(num_constraints=problem.source.constraints, dtype=x.dtype)
        self.bounds = cooper.Constraint(cooper.ConstraintType.INEQUALITY, multiplier=multiplier)
        # Assign ball only once: Cooper keeps constraints apart from other attributes, and an earlier None would hide the constraint.
        self.ball = None if project or problem.source.weights.radius is None else ball_constraint(x.dtype)

    def compute_cmp_state(self) -> cooper.CMPState:
        values = _Values.apply(self.x, self.problem)
        observed = {self.bounds: cooper.ConstraintState(violation=values[1:])}
        if self.ball is not None:
            observed[self.ball] = ball_state([self.x], self.problem.source.weights.radius)
        return cooper.CMPState(loss=values[0], observed_constraints=observed)


def run(problem: Evaluations, setting: CooperSetting) -> np.ndarray:
    """Spend the budget, and return the last point."""
    torch.set_num_threads(1)  # the oracle has the other cores
    x = torch.nn.Parameter(torch.from_numpy(problem.project(problem.start)).to(getattr(torch, problem.source.dtype)))
    cmp = _Problem(problem, x, setting.project)
    primal = primal_optimizer(setting, [x])
    optimizer = cooper.optim.AlternatingDualPrimalOptimizer(
        cmp=cmp, primal_optimizers=primal, dual_optimizers=dual_optimizers(setting, cmp.bounds, cmp.ball)
    )  # fmt: skip
    decay = schedule(setting, primal, problem.budget)
    try:
        while True:
            optimizer.roll()
            if decay is not None:
                decay.step()
            if setting.project or problem.source.weights.radius is None:  # a box is always projected onto
                with torch.no_grad():
                    x.copy_(torch.from_numpy(problem.project(x.numpy().astype(np.float64))))
    except Exhausted:
        pass
    return problem.project(x.detach().numpy().astype(np.float64))
