"""The extent of the measurements: quick, default and full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .cases import CIFAR, CIFAR_1000, CIFAR_SEPARATE, FASHION, FASHION_1000, FASHION_1000_SEPARATE, FASHION_SEPARATE, Case
from .choose import Setting, grid
from .headline import Effort as HeadlineEffort
from .speed import Effort as SpeedEffort

# The likely best settings come first: in the headline a run ends when it exceeds the time of the fastest earlier run.
STEPS = {"Adam": (0.03, 0.01, 0.1), "momentum": (0.1, 0.03), "SGD": (1.0, 0.3)}
DUAL_STEPS = (0.3, 0.1, 1.0)

QUICK_STEPS = {"Adam": (0.03, 0.01), "momentum": (0.1,), "SGD": (1.0,)}
QUICK_DUAL_STEPS = (0.3,)

FULL_STEPS = {"Adam": (0.03, 0.02, 0.01, 0.05, 0.1, 0.003, 0.3), "momentum": (0.1, 0.03, 0.3, 0.01), "SGD": (1.0, 0.3, 3.0, 0.1)}
FULL_DUAL_STEPS = (0.3, 0.1, 1.0, 0.03, 3.0)


@dataclass(frozen=True)
class Plan:
    """The measurements of each part."""

    name: str
    check: list[Case]
    speed: list[Case]
    speed_effort: SpeedEffort
    convergence: list[Case]
    marks: Sequence[int]  # iterations
    settings: list[Setting]
    headline_effort: HeadlineEffort


def plan(quick: bool, full: bool) -> Plan:
    """Return the plan that the command line chooses."""
    if quick:
        return Plan(
            name="quick",
            check=[FASHION_1000],
            speed=[FASHION],
            speed_effort=SpeedEffort(rounds=3, seconds=0.3, ppal_iterations=10),
            convergence=[FASHION_1000],
            marks=(100, 300),
            settings=grid(QUICK_STEPS, QUICK_DUAL_STEPS),
            headline_effort=HeadlineEffort(repeats=1, record_every=5, after=20),
        )
    default = Plan(
        name="default",
        check=[FASHION, FASHION_1000_SEPARATE],
        speed=[FASHION, FASHION_SEPARATE, CIFAR],
        speed_effort=SpeedEffort(),
        convergence=[FASHION_1000, CIFAR_1000],
        marks=(100, 300, 1000),
        settings=grid(STEPS, DUAL_STEPS),
        headline_effort=HeadlineEffort(),
    )
    if not full:
        return default
    return replace(
        default,
        name="full",
        speed=[*default.speed, CIFAR_SEPARATE],
        convergence=[*default.convergence, FASHION],
        settings=grid(FULL_STEPS, FULL_DUAL_STEPS),
        headline_effort=HeadlineEffort(starts=3),
    )
