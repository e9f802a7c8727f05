"""Cooper's optimizers from a setting, shared by the peer of this comparison and the contender of the suite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import cooper
import torch

from .settings import CooperSetting

MOMENTUM = 0.9

PRIMAL: dict[str, Callable[[list[torch.nn.Parameter], CooperSetting], torch.optim.Optimizer]] = {
    "SGD": lambda x, s: torch.optim.SGD(x, lr=s.step, fused=True),
    "momentum": lambda x, s: torch.optim.SGD(x, lr=s.step, momentum=MOMENTUM, fused=True),
    "Adam": lambda x, s: torch.optim.Adam(x, lr=s.step, betas=(0.9, s.beta2), fused=True),
}


def primal_optimizer(setting: CooperSetting, x: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    """The optimizer of the weights."""
    return PRIMAL[setting.optimizer](x, setting)


def dual_optimizer(setting: CooperSetting, multipliers: Iterable[torch.Tensor]) -> torch.optim.Optimizer:
    """Gradient ascent on the multipliers, or Cooper's nuPI with Ki = 1."""
    if setting.dual == "SGD":
        return torch.optim.SGD(multipliers, lr=setting.dual_step, maximize=True)
    gains = {"Kp": torch.tensor(float(setting.kp)), "Ki": torch.tensor(1.0)}
    return cooper.optim.nuPI(multipliers, lr=setting.dual_step, maximize=True, **gains)


def schedule(
    setting: CooperSetting, primal: torch.optim.Optimizer, iterations: int
) -> torch.optim.lr_scheduler.CosineAnnealingLR | None:
    """The decay of the primal step over the run's iterations; None for a constant step."""
    return torch.optim.lr_scheduler.CosineAnnealingLR(primal, iterations) if setting.decay == "cosine" else None


def outside_ball(x: Sequence[torch.Tensor], radius: float) -> torch.Tensor:
    """The ball as a constraint, (||x||^2/radius^2 - 1)/2 <= 0 [1]."""
    return ((sum((part * part).sum() for part in x) / radius**2 - 1.0) / 2.0).reshape(1)
