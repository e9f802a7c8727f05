"""Cooper's optimizers from a setting, shared by the peer of this comparison and the contender of the suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


def dual_optimizers(setting: CooperSetting, bounds: cooper.Constraint, ball: cooper.Constraint | None) -> list[torch.optim.Optimizer]:
    """Gradient ascent on the multipliers, or Cooper's nuPI with Ki = 1. The ball's multiplier always has gradient ascent: with
    a proportional gain, it would act against every growth of the weights far inside the ball.
    """

    def ascent(constraint: cooper.Constraint) -> torch.optim.Optimizer:
        return torch.optim.SGD(constraint.multiplier.parameters(), lr=setting.dual_step, maximize=True)

    if setting.dual == "SGD":
        optimizers = [ascent(bounds)]
    else:
        gains = {"Kp": torch.tensor(float(setting.kp)), "Ki": torch.tensor(1.0)}
        optimizers = [cooper.optim.nuPI(bounds.multiplier.parameters(), lr=setting.dual_step, maximize=True, **gains)]
    return optimizers if ball is None else [*optimizers, ascent(ball)]


def schedule(
    setting: CooperSetting, primal: torch.optim.Optimizer, iterations: int
) -> torch.optim.lr_scheduler.CosineAnnealingLR | None:
    """The decay of the primal step over the run's iterations; None for a constant step."""
    return torch.optim.lr_scheduler.CosineAnnealingLR(primal, iterations) if setting.decay == "cosine" else None


def ball_constraint(dtype: torch.dtype, device: torch.device | None = None) -> cooper.Constraint:
    """The ball as a constraint of Cooper."""
    multiplier = cooper.multipliers.DenseMultiplier(num_constraints=1, device=device, dtype=dtype)
    return cooper.Constraint(cooper.ConstraintType.INEQUALITY, multiplier=multiplier)


def ball_state(x: Sequence[torch.Tensor], radius: float) -> cooper.ConstraintState:
    """(||x||^2/radius^2 - 1)/2 <= 0."""
    return cooper.ConstraintState(violation=((sum((part * part).sum() for part in x) / radius**2 - 1.0) / 2.0).reshape(1))
