"""Solvers of smooth problems on PyTorch's gradients: an augmented Lagrangian with L-BFGS, and IPOPT."""

from __future__ import annotations

import gc
import time
from importlib.metadata import version
from types import ModuleType
from typing import Any

import numpy as np
import torch

from .cases import FEASIBLE
from .peer import Peer
from .problem import Problem, Weights, class_losses
from .settings import IpoptSetting, LagrangianSetting
from .suite import augmented_lagrangian, ipopt
from .suite.evaluations import Evaluations, Exhausted, Seen
from .suite.sets import WeightSet
from .torch_peer import Network, configure, parameters, to_weights

WARM_UPS = 3  # of each pass, before the capture


class TorchSource:
    """The Neyman-Pearson problem on PyTorch, for the solvers: float32, with f and g summed in float64. The solvers' vectors are
    NumPy's.
    """

    dtype = "float32"

    def __init__(self, problem: Problem, network: Network) -> None:
        self.start = self._vector(torch.from_numpy(problem.start.vector()))
        self.weights = WeightSet(radius=problem.theta)
        self.constraints = len(problem.counts) - 1
        self.trained = parameters(problem.start, self.dtype, str(network.rows.device))
        self._problem, self._network = problem, network
        self._losses: torch.Tensor

    def forward(self, x: np.ndarray) -> np.ndarray:
        """f and g at x."""
        self.set(x)
        self._compute_losses()
        values = self._losses.detach().cpu().numpy().copy()
        values[1:] -= self._problem.kappa
        return values

    def _compute_losses(self) -> None:
        self._losses = self._network.summed_losses(*self.trained)

    @torch.no_grad()
    def set(self, x: np.ndarray) -> None:
        """Make x the weights."""
        torch.nn.utils.vector_to_parameters(self._tensor(x).to(torch.float32), self.trained)

    def rounded(self, x: np.ndarray) -> np.ndarray:
        """x in float32."""
        return self._vector(self._tensor(x).to(torch.float32))

    def backward(self, w: np.ndarray) -> np.ndarray:
        """w_0 grad f + sum_j w_j grad g_j."""
        combination = self._losses @ torch.from_numpy(w).to(self._losses.device)
        return self._vector(torch.nn.utils.parameters_to_vector(torch.autograd.grad(combination, self.trained, retain_graph=True)))

    @staticmethod
    def _tensor(x: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(x)

    @staticmethod
    def _vector(x: torch.Tensor) -> np.ndarray:
        """x as a vector of the solvers, in float64."""
        return x.to(torch.float64).numpy()


class DeviceSource(TorchSource):
    """The problem with vectors that stay on the network's device. Only the augmented Lagrangian's own solver takes them."""

    def __init__(self, problem: Problem, network: Network) -> None:
        super().__init__(problem, network)
        self.start = self.start.to(network.rows.device)

    @staticmethod
    def _tensor(x: torch.Tensor) -> torch.Tensor:
        return x

    @staticmethod
    def _vector(x: torch.Tensor) -> torch.Tensor:
        return x.to(torch.float64)


class CapturedSource(DeviceSource):
    """A DeviceSource whose two passes are CUDA graphs: the host starts one graph for a pass, not a launch for each operation."""

    def __init__(self, problem: Problem, network: Network) -> None:
        super().__init__(problem, network)
        self._x = self.start.to(torch.float32)  # a graph reads and writes the same memory in every call
        self._w = self.start.new_ones(1 + self.constraints)
        torch.nn.utils.vector_to_parameters(self._x, self.trained)  # the weights become views of x: set changes what graphs read
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UPS):
                self._combined(self._network.summed_losses(*self.trained))
        torch.cuda.current_stream().wait_stream(side)
        gc.collect()  # a garbage collection during the capture may free device memory, and the capture then fails
        self._forward, self._backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._forward, capture_error_mode="relaxed"):
            self._losses = self._network.summed_losses(*self.trained)
        with torch.cuda.graph(self._backward, pool=self._forward.pool(), capture_error_mode="relaxed"):
            self._gradient = self._combined(self._losses)

    def _combined(self, losses: torch.Tensor) -> torch.Tensor:
        gradient = torch.autograd.grad(losses @ self._w, self.trained, retain_graph=True)
        return self._vector(torch.nn.utils.parameters_to_vector(gradient))

    def _compute_losses(self) -> None:
        self._forward.replay()

    @torch.no_grad()
    def set(self, x: torch.Tensor) -> None:
        """Make x the weights."""
        self._x.copy_(x)

    def backward(self, w: np.ndarray) -> torch.Tensor:
        """w_0 grad f + sum_j w_j grad g_j."""
        self._w.copy_(torch.from_numpy(w))
        self._backward.replay()
        return self._gradient.clone()


class Timed(Evaluations):
    """Evaluations with the time of each point. A run may end at a target or after some seconds."""

    def __init__(self, source: TorchSource, budget: int, target: float | None, after: int, seconds: float | None) -> None:
        super().__init__(source, budget)
        self.target, self.after, self.limit = target, after, seconds
        self.begun = time.perf_counter()
        self.times: list[float] = []

    def rounded(self, x: np.ndarray) -> np.ndarray:
        """x in the source's precision."""
        return self.source.rounded(x)

    def forward(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """f and g at x, and the time."""
        if self.limit is not None and self.times and self.times[-1] > self.limit and self.target is not None:
            raise Exhausted
        values = super().forward(x)
        self.times.append(time.perf_counter() - self.begun)
        last = self.seen[-1]
        if self.target is not None and last.objective <= self.target and last.violation <= FEASIBLE:
            self.budget, self.target = min(self.budget, self.count + self.after), None
        return values


class SolverPeer(Peer):
    """Runs a solver with a setting."""

    solver: ModuleType
    kind: type[LagrangianSetting] | type[IpoptSetting]
    package: str

    def __init__(self, threads: int, device: str = "cpu", matmul: str = "highest") -> None:
        super().__init__(threads, device)
        configure(threads, device, matmul)
        self._source: TorchSource

    def describe(self) -> dict[str, str]:
        return {self.package: version(self.package), "PyTorch": torch.__version__}

    def load(self, folder: str) -> None:
        """Read the problem."""
        super().load(folder)
        network = Network.of(self.problem, "float32", self.device)
        self._source = (TorchSource if self.device == "cpu" else CapturedSource)(self.problem, network)

    def warm_up(self, setting: dict[str, Any]) -> None:
        """A few evaluations, which are discarded."""
        self.run(setting, until=3)

    def run(
        self, setting: dict[str, Any], until: int, target: float | None = None, after: int = 0, seconds: float | None = None
    ) -> dict:
        """As CooperPeer.run. An evaluation takes the place of an iteration, and counts as in suite.evaluations."""
        if self.device != "cpu" and getattr(self.kind(**setting), "solver", None) != "own":
            raise ValueError("with --device cuda only the augmented Lagrangian's own solver is supported")
        source = self._source  # whose only state between runs is x
        problem = Timed(source, until + 1, target, after, seconds)
        returned = self.solver.run(problem, self.kind(**setting))
        source.set(returned)
        weights = to_weights(source.trained)
        points = [_point(seen, at) for seen, at in zip(problem.seen, problem.times)]
        return {"points": points, "losses": class_losses(self.problem, weights).tolist()}

    def _gradient(self, dtype: str, w: list[float]) -> tuple[list[float], Weights]:
        raise NotImplementedError("the part check verifies PyTorch's gradient, which this peer uses")


class LagrangianPeer(SolverPeer):
    """The augmented Lagrangian."""

    solver, kind, package = augmented_lagrangian, LagrangianSetting, "scipy"


class IpoptPeer(SolverPeer):
    """IPOPT. Cannot start without ipyopt."""

    solver, kind, package = ipopt, IpoptSetting, "ipyopt"


def _point(seen: Seen, seconds: float) -> list[float]:
    """(iteration, seconds, objective, worst constraint): the start is iteration 0."""
    return [seen.evaluations - 1, seconds, seen.objective, seen.violation]
