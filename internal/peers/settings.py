"""The settings of the optimisers that ppal is compared with, as data. No package is needed to read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class CooperSetting:
    """Cooper: the primal optimizer and its step, and the optimizer of the multipliers and its step."""

    optimizer: str  # SGD, momentum (0.9) or Adam
    step: float
    dual_step: float
    dual: str = "SGD"  # or nuPI, with Ki = 1
    kp: float = 0.0  # nuPI's proportional gain
    beta2: float = 0.999  # Adam's
    decay: str = "constant"  # or cosine: the primal step falls to 0 over the run
    project: bool = True  # onto the ball after each step; False: the ball is a constraint

    def __str__(self) -> str:
        beta2 = f" beta2 {self.beta2:g}" if self.optimizer == "Adam" and self.beta2 != 0.999 else ""
        gain = f" Kp {self.kp:g}" if self.dual == "nuPI" else ""
        rest = (", cosine" if self.decay == "cosine" else "") + ("" if self.project else ", ball as a constraint")
        return f"{self.optimizer} {self.step:g}{beta2}, {self.dual} {self.dual_step:g}{gain}{rest}"


@dataclass(frozen=True)
class LagrangianSetting:
    """The augmented Lagrangian with L-BFGS.

    ``solver`` is "own" or "scipy" (L-BFGS-B, whose curvature pairs start anew after each update).
    ``growth`` multiplies the penalty if the infeasibility falls by less than half between updates.
    """

    penalty: float = 1.0  # c at the start
    cap: float | None = 0.02  # the longest step, relative to 1 + ||x||; None means no limit; "own" only
    inner: int = 20  # steps between two updates of the multipliers
    memory: int = 20  # curvature pairs
    growth: float = 3.0
    solver: str = "own"

    def __str__(self) -> str:
        limit = "" if self.solver == "scipy" else f", cap {self.cap:g}" if self.cap is not None else ", no cap"
        rest = (f", growth {self.growth:g}" if self.growth != 3 else "") + (f", memory {self.memory}" if self.memory != 20 else "")
        return f"{self.solver}, penalty {self.penalty:g}{limit}, inner {self.inner}{rest}"


@dataclass(frozen=True)
class IpoptSetting:
    """IPOPT's options limited_memory_max_history, mu_strategy and mu_init."""

    history: int = 20
    strategy: str = "adaptive"  # or monotone
    barrier: float = 0.1

    def __str__(self) -> str:
        return f"{self.strategy}, barrier {self.barrier:g}, history {self.history}"


Setting = Union[CooperSetting, LagrangianSetting, IpoptSetting]

KINDS: dict[str, type[CooperSetting] | type[LagrangianSetting] | type[IpoptSetting]] = {
    "cooper": CooperSetting,
    "augmented-lagrangian": LagrangianSetting,
    "ipopt": IpoptSetting,
}

# How the tables name the contenders.
TITLES = {
    "cooper": "Cooper",
    "augmented-lagrangian": "augmented Lagrangian, L-BFGS",
    "ipopt": "IPOPT, limited memory",
}
