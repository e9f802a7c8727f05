"""Cooper (cooper-optim): Lagrangian descent-ascent with PyTorch's optimizers, dual step first.

AlternatingDualPrimalOptimizer updates the multipliers with the constraints of the same forward pass as the primal step, so
that an iteration costs one forward and one backward pass; the other alternating order costs a second forward pass.
"""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import Any

import cooper
import torch

from .cases import FEASIBLE
from .lagrangian import ball_constraint, ball_state, dual_optimizers, primal_optimizer, schedule
from .peer import Peer
from .problem import Problem, Weights, class_losses
from .settings import CooperSetting
from .torch_peer import Network, configure, parameters, to_weights


class NeymanPearson(cooper.ConstrainedMinimizationProblem):
    """The problem in Cooper's form. It records the time, f and g of the last forward pass.

    Without projection the ball is one more constraint.
    """

    def __init__(self, network: Network, problem: Problem, trained: list[torch.nn.Parameter], project: bool = True) -> None:
        super().__init__()
        self.network = network
        self.trained = trained
        self.kappa, self.theta = problem.kappa, problem.theta
        self.multiplier = cooper.multipliers.DenseMultiplier(
            num_constraints=len(network.counts) - 1, device=network.rows.device, dtype=torch.float64
        )  # fmt: skip
        self.bounds = cooper.Constraint(cooper.ConstraintType.INEQUALITY, multiplier=self.multiplier)
        self.ball = None if project else ball_constraint(network.rows.dtype, network.rows.device)
        self.seen_at, self.objective, self.worst = 0.0, 0.0, 0.0

    def compute_cmp_state(self) -> cooper.CMPState:
        """One forward pass over all rows."""
        losses = self.network.summed_losses(*self.trained)
        violation = losses[1:] - self.kappa
        # One transfer from a GPU.
        self.objective, *worst = torch.stack([losses[0], violation.max(), self._outside().to(torch.float64)]).tolist()
        self.worst = max(worst)
        self.seen_at = time.perf_counter()
        observed = {self.bounds: cooper.ConstraintState(violation=violation)}
        if self.ball is not None:
            observed[self.ball] = ball_state(self.trained, self.theta)
        return cooper.CMPState(loss=losses[0], observed_constraints=observed)

    @torch.no_grad()
    def _outside(self) -> torch.Tensor:
        """||x||/theta - 1: the violation of a point outside the ball."""
        return torch.nn.utils.get_total_norm(self.trained).to(torch.float64) / self.theta - 1.0


class CooperPeer(Peer):
    """Trains with a setting (settings.CooperSetting)."""

    def __init__(self, threads: int, device: str = "cpu", matmul: str = "highest") -> None:
        super().__init__(threads, device)
        configure(threads, device, matmul)
        self._network: Network

    def describe(self) -> dict[str, str]:
        return {"Cooper": version("cooper-optim")}

    def load(self, folder: str) -> None:
        """Read the problem."""
        super().load(folder)
        self._network = Network.of(self.problem, "float32", self.device)

    def warm_up(self, setting: dict[str, Any]) -> None:
        """A few iterations, which are discarded."""
        self.run(setting, until=3)

    def run(
        self, setting: dict[str, Any], until: int, target: float | None = None, after: int = 0, seconds: float | None = None
    ) -> dict:
        """Train from the start. Return the points x_0..x_until and the classes' losses of the last one in float64.

        A point is (iteration, seconds, objective, worst constraint); its time is the end of the forward pass. With a target, a
        run ends once seconds of training have passed, or after iterations beyond the first point that is feasible with an
        objective of at most target.
        """
        chosen = CooperSetting(**setting)
        trained = parameters(self.problem.start, "float32", self.device)
        cmp = NeymanPearson(self._network, self.problem, trained, chosen.project)
        primal = primal_optimizer(chosen, trained)
        if chosen.project:
            primal.register_step_post_hook(lambda *_: project(trained, self.problem.theta))
        dual = dual_optimizers(chosen, cmp.bounds, cmp.ball)
        optimizer = cooper.optim.AlternatingDualPrimalOptimizer(cmp=cmp, primal_optimizers=primal, dual_optimizers=dual)
        decay = schedule(chosen, primal, until)
        points: list[list[float]] = []
        begun = time.perf_counter()
        while len(points) <= until:
            weights = to_weights(trained) if len(points) == until else None
            optimizer.roll()
            if decay is not None:
                decay.step()
            points.append([len(points), cmp.seen_at - begun, cmp.objective, cmp.worst])
            if target is not None and cmp.objective <= target and cmp.worst <= FEASIBLE:
                until, target = min(until, len(points) - 1 + after), None
            elif target is not None and seconds is not None and points[-1][1] > seconds:
                break
        losses = class_losses(self.problem, weights or to_weights(trained))
        return {"points": points, "losses": losses.tolist()}

    def _gradient(self, dtype: str, w: list[float]) -> tuple[list[float], Weights]:
        """Through Cooper's own Lagrangian, with the multipliers w."""
        trained = parameters(self.problem.start, dtype)
        cmp = NeymanPearson(Network.of(self.problem, dtype), self.problem, trained)
        with torch.no_grad():
            cmp.multiplier.weight.copy_(torch.tensor(w, dtype=torch.float64))
        state = cmp.compute_cmp_state()
        state.compute_primal_lagrangian().backward()
        violation = state.observed_constraints[cmp.bounds].violation
        return [cmp.objective, *(violation + cmp.kappa).tolist()], to_weights([p.grad for p in trained])


@torch.no_grad()
def project(trained: list[torch.nn.Parameter], theta: float) -> None:
    """Project onto the ball: x <- x min(1, theta/||x||)."""
    factor = (theta / torch.nn.utils.get_total_norm(trained)).clamp(max=1.0)  # without a branch, which would wait for a GPU
    for weights in trained:
        weights.mul_(factor)
