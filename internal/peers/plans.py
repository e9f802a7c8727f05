"""How much is measured: quick, default and full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .cases import CIFAR, CIFAR_1000, CIFAR_SEPARATE, FASHION, FASHION_1000, FASHION_SEPARATE, Case
from .choose import Setting, grid
from .headline import Effort as HeadlineEffort
from .speed import Effort as SpeedEffort

DUAL_STEPS = (0.1, 0.03)
STEPS = {"Adam": (0.03, 0.01, 0.003, 0.1), "momentum": (0.1, 0.03, 0.3), "SGD": (1.0, 0.3, 0.1)}  # the usual best first

QUICK_STEPS = {"Adam": (0.03, 0.01), "momentum": (0.1,), "SGD": (1.0,)}

FULL_DUAL_STEPS = (0.1, 0.03, 0.01, 0.3)
FULL_STEPS = {"Adam": (0.03, 0.01, 0.003, 0.1, 0.001, 0.3), "momentum": (0.1, 0.03, 0.3, 0.01, 1.0), "SGD": (1.0, 0.3, 0.1, 3.0)}


@dataclass(frozen=True)
class Plan:
    """What each part measures."""

    name: str
    check: list[Case]
    speed: list[Case]
    speed_effort: SpeedEffort
    convergence: list[Case]
    marks: Sequence[int]  # iterations
    settings: list[Setting]
    headline_effort: HeadlineEffort


def plan(quick: bool, full: bool) -> Plan:
    """The plan of the command line's choice."""
    if quick:
        return Plan(
            "quick", [FASHION], [FASHION], SpeedEffort(rounds=3, repeats=3, ppal_iterations=10), [FASHION_1000], (100, 300),
            grid(QUICK_STEPS, DUAL_STEPS[:1]), HeadlineEffort(repeats=1, after=20),
        )  # fmt: skip
    speed_cases, convergence_cases = [FASHION, FASHION_SEPARATE, CIFAR], [FASHION_1000, CIFAR_1000]
    settings, headline_effort = grid(STEPS, DUAL_STEPS), HeadlineEffort()
    if full:
        speed_cases.append(CIFAR_SEPARATE)
        convergence_cases.append(FASHION)
        headline_effort = HeadlineEffort(starts=3)
        settings = grid(FULL_STEPS, FULL_DUAL_STEPS)
    return Plan(
        "full" if full else "default", [FASHION, FASHION_SEPARATE], speed_cases, SpeedEffort(), convergence_cases,
        (100, 300, 1000), settings, headline_effort,
    )  # fmt: skip
