"""Cooper (cooper-optim): Lagrangian descent-ascent with PyTorch's optimizers, dual step first.

AlternatingDualPrimalOptimizer updates the multipliers with the constraints of the same forward pass as the primal step, so
that an iteration costs one forward and one backward pass; the other alternating order costs a second forward pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import cooper
import torch

from .cases import FEASIBLE
from .peer import Peer
from .problem import Problem, Weights, class_losses
from .torch_peer import Network, parameters, to_weights

PRIMAL: dict[str, Callable[[list[torch.nn.Parameter], float], torch.optim.Optimizer]] = {
    "SGD": lambda trained, step: torch.optim.SGD(trained, lr=step, fused=True),
    "momentum": lambda trained, step: torch.optim.SGD(trained, lr=step, momentum=0.9, fused=True),
    "Adam": lambda trained, step: torch.optim.Adam(trained, lr=step, fused=True),
}


class NeymanPearson(cooper.ConstrainedMinimizationProblem):
    """The problem in Cooper's form. It records the time, f and g of the last forward pass."""

    def __init__(self, network: Network, kappa: float, trained: list[torch.nn.Parameter]) -> None:
        super().__init__()
        self.network = network
        self.trained = trained
        self.kappa = kappa
        self.multiplier = cooper.multipliers.DenseMultiplier(num_constraints=len(network.counts) - 1, dtype=network.rows.dtype)
        self.bounds = cooper.Constraint(cooper.ConstraintType.INEQUALITY, multiplier=self.multiplier)
        self.seen_at, self.objective, self.worst = 0.0, 0.0, 0.0

    def compute_cmp_state(self) -> cooper.CMPState:
        """One forward pass over all rows."""
        losses = self.network.class_losses(*self.trained)
        violation = losses[1:] - self.kappa
        self.objective, self.worst = losses[0].item(), violation.max().item()
        self.seen_at = time.perf_counter()
        return cooper.CMPState(loss=losses[0], observed_constraints={self.bounds: cooper.ConstraintState(violation=violation)})


class Session:
    """A run that can be continued: its iterates' points (iteration, seconds, objective, worst constraint) and some weights."""

    def __init__(self, problem: Problem, network: Network, optimizer: str, step: float, dual_step: float) -> None:
        self.trained = parameters(problem.start, "float32")
        self.cmp = NeymanPearson(network, problem.kappa, self.trained)
        self.theta = problem.theta
        primal = PRIMAL[optimizer](self.trained, step)
        primal.register_step_post_hook(lambda *_: self._project())
        dual = torch.optim.SGD(self.cmp.dual_parameters(), lr=dual_step, maximize=True)
        self.optimizer = cooper.optim.AlternatingDualPrimalOptimizer(cmp=self.cmp, primal_optimizers=primal, dual_optimizers=dual)
        self.iteration, self.seconds = 0, 0.0
        self.kept: dict[int, Weights] = {}

    def roll(self) -> list[float]:
        """The point x_k and the iteration from it to x_{k+1}. Its time is the end of the forward pass that computes f and g."""
        start = time.perf_counter()
        self.optimizer.roll()
        point = [self.iteration, self.seconds + self.cmp.seen_at - start, self.cmp.objective, self.cmp.worst]
        self.seconds += time.perf_counter() - start
        self.iteration += 1
        return point

    def keep(self) -> None:
        """Save the weights x_k. The time is not counted."""
        self.kept[self.iteration] = to_weights(self.trained)

    @torch.no_grad()
    def _project(self) -> None:
        """Project onto the ball: x <- x min(1, theta/||x||)."""
        norm = torch.nn.utils.get_total_norm(self.trained)
        if norm > self.theta:
            for weights in self.trained:
                weights.mul_(self.theta / norm)


class CooperPeer(Peer):
    """Trains with a setting {"optimizer": ..., "step": ..., "dual_step": ...}; runs are continued by name."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        torch.set_num_threads(threads)
        self._sessions: dict[str, Session] = {}
        self._network: Network

    def describe(self) -> dict[str, str]:
        return {"Cooper": version("cooper-optim")}

    def load(self, folder: str) -> None:
        """Read the problem and drop the runs of the previous problem."""
        super().load(folder)
        self._sessions.clear()
        self._network = Network.of(self.problem, "float32")

    def warm_up(self, setting: dict[str, Any]) -> None:
        """Run a few iterations and discard the run."""
        session = Session(self.problem, self._network, **setting)
        for _ in range(3):
            session.roll()

    def start(self, name: str, setting: dict[str, Any]) -> None:
        """Create a run at the problem's start."""
        self._sessions[name] = Session(self.problem, self._network, **setting)

    def drop(self, name: str) -> None:
        """Drop a run."""
        del self._sessions[name]

    def advance(
        self, name: str, until: int, keep: list[int] | None = None, target: float | None = None,
        after: int = 0, seconds: float | None = None,
    ) -> list[list[float]]:  # fmt: skip
        """Continue to the iterate x_until and return the new points.

        Stops earlier once seconds of training have passed, or after iterations beyond the first point that is feasible with an
        objective of at most target. The weights x_k of every k in keep are kept for losses.
        """
        session, points, marks = self._sessions[name], [], set(keep or ())
        while session.iteration <= until:
            if session.iteration in marks:
                session.keep()
            points.append(session.roll())
            _, at, objective, worst = points[-1]
            if target is not None and objective <= target and worst <= FEASIBLE:
                until, target = min(until, session.iteration - 1 + after), None
            elif seconds is not None and at > seconds:
                break
        return points

    def losses(self, name: str) -> dict[str, list[float]]:
        """The classes' losses L of the saved weights by iteration, in float64 by the reference."""
        return {str(k): class_losses(self.problem, weights).tolist() for k, weights in self._sessions[name].kept.items()}

    def multipliers(self, name: str) -> list[float]:
        """The multipliers of a run."""
        return self._sessions[name].cmp.multiplier.weight.tolist()

    def _gradient(self, dtype: str, w: list[float]) -> tuple[list[float], Weights]:
        """Through Cooper's own Lagrangian, with the multipliers w."""
        trained = parameters(self.problem.start, dtype)
        cmp = NeymanPearson(Network.of(self.problem, dtype), self.problem.kappa, trained)
        with torch.no_grad():
            cmp.multiplier.weight.copy_(torch.tensor(w, dtype=torch.float64))
        state = cmp.compute_cmp_state()
        state.compute_primal_lagrangian().backward()
        violation = state.observed_constraints[cmp.bounds].violation
        return [cmp.objective, *(violation + cmp.kappa).tolist()], to_weights([p.grad for p in trained])
