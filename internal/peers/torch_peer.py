"""PyTorch: the bare products, and whole iterations eagerly and compiled."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from .peer import STEP_SIZE, Peer, Step
from .problem import Problem, Weights

COMPILERS = ("c++", "g++", "clang++")  # torch.compile needs one of these on a CPU
EAGER_MEDIUM = "eager, medium"  # PyTorch may round the factors of products to bfloat16, with relative errors of about 2e-3
MODES = {"compiled": "default", "compiled, max-autotune": "max-autotune-no-cudagraphs"}


@dataclass(frozen=True)
class Network:
    """The problem's rows as tensors, and the classes' losses of a two-layer network on them."""

    rows: torch.Tensor  # [n, d]
    labels: torch.Tensor  # [n, 1]
    counts: tuple[int, ...]
    separate: bool

    @staticmethod
    def of(problem: Problem, dtype: str, device: str = "cpu") -> Network:
        """Standardise the rows once, contiguous in dtype."""
        rows, labels = torch.from_numpy(problem.rows(dtype)), torch.from_numpy(problem.labels)[:, None]
        return Network(rows.to(device), labels.to(device), problem.counts, problem.heads == "separate")

    def class_losses(
        self, hidden: torch.Tensor, bias: torch.Tensor, output: torch.Tensor, output_bias: torch.Tensor
    ) -> torch.Tensor:
        """L [C]. Separate heads are one layer with all units and a block-diagonal layer, their fastest form."""
        if self.separate:
            output = torch.block_diag(*output)
        units = torch.sigmoid(functional.linear(self.rows, hidden, bias))
        scores = functional.linear(units, output, output_bias)
        own = scores.gather(1, self.labels)
        losses = torch.sigmoid(scores - own).sum(1) - 0.5  # the own class's term is 1/2
        return torch.stack([part.mean() for part in losses.split(self.counts)])

    def summed_losses(
        self, hidden: torch.Tensor, bias: torch.Tensor, output: torch.Tensor, output_bias: torch.Tensor
    ) -> torch.Tensor:
        """L [C] in float64: float32 scores and terms, float64 sums without the own class's term.

        class_losses subtracts the own class's term, 1/2, which hides losses below 1e-7.
        """
        if self.separate:
            output = torch.block_diag(*output)
        scores = functional.linear(torch.sigmoid(functional.linear(self.rows, hidden, bias)), output, output_bias)
        margins = (scores - scores.gather(1, self.labels)).scatter(1, self.labels, -torch.inf)
        losses = torch.sigmoid(margins).sum(1, dtype=torch.float64)
        return torch.stack([part.mean() for part in losses.split(self.counts)])


def parameters(weights: Weights, dtype: str, device: str = "cpu") -> list[torch.nn.Parameter]:
    """The weights as trainable tensors."""
    return [torch.nn.Parameter(torch.from_numpy(a.astype(dtype)).to(device)) for a in weights.arrays()]


def to_weights(tensors: Sequence[torch.Tensor | None]) -> Weights:
    """Copies of four tensors in the order of Weights."""
    return Weights(*(t.detach().cpu().numpy().copy() for t in tensors if t is not None))


def medium(step: Step) -> Step:
    """The step with products of precision "medium". The setting is global, so each call restores it for the other contenders."""

    def set_and_step() -> None:
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("medium")
        try:
            step()
        finally:
            torch.set_float32_matmul_precision(before)

    return set_and_step


def configure(threads: int, device: str = "cpu", matmul: str = "highest") -> None:
    """Compute on this number of threads, with subnormal numbers as zero: on many CPUs of Intel, an operation with one takes about 150
    cycles more. Threads that PyTorch starts later inherit this. matmul is the precision of float32 products: highest, high or medium.
    Raises an error if the device is not there.
    """
    torch.set_flush_denormal(True)
    torch.set_num_threads(threads)
    if device != "cpu":
        torch.zeros(1, device=device)  # fails here if there is no GPU
    torch.set_float32_matmul_precision(matmul)


class TorchPeer(Peer):
    """Contenders: "products by feature", "products by unit", "eager", EAGER_MEDIUM, and the MODES of torch.compile."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        configure(threads)

    def describe(self) -> dict[str, str]:
        build = torch.__config__.show()
        blas = next((line.strip(" -") for line in build.splitlines() if "Math Kernel Library" in line), "see torch.__config__")
        return {"PyTorch": torch.__version__, "BLAS of PyTorch": blas, "threads of PyTorch": str(torch.get_num_threads())}

    def _gradient(self, dtype: str, w: list[float]) -> tuple[list[float], Weights]:
        at = parameters(self.problem.start, dtype)
        losses = Network.of(self.problem, dtype).class_losses(*at)
        (losses @ losses.new_tensor([1.0, *w])).backward()
        return losses.tolist(), to_weights([p.grad for p in at])

    def _step(self, contender: str) -> Step:
        if contender.startswith("products"):
            return self._products(contender)
        if contender == "eager":
            return self._iteration(None)
        if contender == EAGER_MEDIUM:
            return medium(self._iteration(None))
        if not any(map(shutil.which, COMPILERS)):
            raise RuntimeError("torch.compile needs a C++ compiler, and none of " + ", ".join(COMPILERS) + " is there")
        return self._iteration(MODES[contender])

    def _products(self, contender: str) -> Step:
        x = torch.from_numpy(self.problem.rows("float32"))
        n, d = x.shape
        units = self.problem.start.hidden.shape[0]
        delta = torch.from_numpy(np.random.default_rng(1).standard_normal((n, units), dtype=np.float32))
        scores = torch.empty(n, units)
        shape = (d, units) if contender == "products by feature" else (units, d)
        weights, gradient = torch.randn(shape), torch.empty(shape)

        @torch.inference_mode()
        def by_feature() -> None:
            torch.mm(x, weights, out=scores)
            torch.mm(x.t(), delta, out=gradient)

        @torch.inference_mode()
        def by_unit() -> None:
            torch.mm(x, weights.t(), out=scores)
            torch.mm(delta.t(), x, out=gradient)

        return by_feature if contender == "products by feature" else by_unit

    def _iteration(self, mode: str | None) -> Step:
        """Forward, backward and a step on f + sum_k g_k, with multipliers 1."""
        network = Network.of(self.problem, "float32")
        trained = parameters(self.problem.start, "float32")
        optimizer = torch.optim.SGD(trained, lr=STEP_SIZE, fused=True)
        multipliers = torch.ones(len(self.problem.counts))

        def lagrangian(*at: torch.Tensor) -> torch.Tensor:
            return network.class_losses(*at) @ multipliers

        value = lagrangian if mode is None else torch.compile(lagrangian, mode=mode, dynamic=False)

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            value(*trained).backward()
            optimizer.step()

        return step
