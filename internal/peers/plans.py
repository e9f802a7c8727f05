"""The extent of the measurements: quick, default and full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .cases import CIFAR, CIFAR_1000, CIFAR_SEPARATE, FASHION, FASHION_1000, FASHION_1000_SEPARATE, FASHION_SEPARATE, Case
from .convergence import Effort as ConvergenceEffort
from .headline import Effort as HeadlineEffort
from .settings import CooperSetting, IpoptSetting, LagrangianSetting, Setting
from .speed import Effort as SpeedEffort

NUPI = {"optimizer": "Adam", "dual_step": 0.1, "dual": "nuPI", "kp": 10.0, "beta2": 0.99}

# Where the search of each contender starts: the best settings of wider grids, and one setting of each other kind.
COARSE: Mapping[str, Sequence[Setting]] = {
    "cooper": [
        *(CooperSetting(step=step, **NUPI) for step in (0.1, 0.15, 0.2)),
        CooperSetting("Adam", 0.05, 0.03, "nuPI", 10.0, 0.9),
        CooperSetting("Adam", 0.02, 0.03, "nuPI", 10.0, 0.8, "cosine"),
        CooperSetting("Adam", 0.03, 0.3, "nuPI", 3.0, 0.8, "cosine"),
        CooperSetting("Adam", 0.05, 0.03, "nuPI", 3.0, 0.8, "cosine"),
        CooperSetting("Adam", 0.07, 0.3, "nuPI", 3.0, 0.8),
        CooperSetting(step=0.15, project=False, **NUPI),
        CooperSetting("Adam", 0.1, 0.3, "nuPI", 1.0, 0.99),
        CooperSetting("Adam", 0.03, 0.3),
        CooperSetting("Adam", 0.1, 0.3, beta2=0.99),
        CooperSetting("momentum", 0.1, 0.3),
        CooperSetting("momentum", 0.3, 0.3, "nuPI", 1.0),
        CooperSetting("SGD", 1.0, 0.3),
        CooperSetting("SGD", 3.0, 0.3, "nuPI", 1.0),
    ],
    "augmented-lagrangian": [
        *(LagrangianSetting(penalty=0.3, cap=0.03, inner=inner) for inner in (30, 50)),
        *(LagrangianSetting(cap=cap, inner=inner) for cap in (0.02, 0.03, 0.05) for inner in (20, 50)),
        LagrangianSetting(penalty=10.0),
        *(LagrangianSetting(penalty=penalty, solver="scipy") for penalty in (1.0, 10.0)),
    ],
    "ipopt": [IpoptSetting(), IpoptSetting(strategy="monotone")],
}

# The largest number of settings of each search. An evaluation of IPOPT takes several times as long as the others'.
LIMITS = {"cooper": 100, "augmented-lagrangian": 80, "ipopt": 4}

# In the headline a run ends when it exceeds the time of the fastest earlier run: the likely best come first.
HEADLINE_LAGRANGIAN: Sequence[Setting] = [
    *(LagrangianSetting(penalty=penalty, cap=0.5, inner=12) for penalty in (1.0, 0.5, 2.0)),
    *(LagrangianSetting(cap=cap, inner=12) for cap in (0.7, 1.0)),
    *(LagrangianSetting(cap=0.5, inner=inner) for inner in (11, 13, 14)),
    *(LagrangianSetting(cap=cap, inner=15) for cap in (0.1, 0.15, 0.2, 0.07, 0.05)),
    *(LagrangianSetting(cap=cap, inner=12) for cap in (0.1, 0.15, 0.2, 0.3)),
    *(LagrangianSetting(cap=cap, inner=inner) for cap in (0.1, 0.15, 0.2, 0.3, 0.5) for inner in (18, 20)),
    *(LagrangianSetting(cap=cap, inner=inner) for cap in (0.3, 0.5) for inner in (8, 10, 15)),
    *(LagrangianSetting(cap=0.2, inner=inner) for inner in (8, 10)),
    *(LagrangianSetting(penalty=penalty, cap=0.1, inner=15) for penalty in (0.3, 3.0)),
    *(LagrangianSetting(cap=cap, inner=20) for cap in (0.07, 0.05, 0.03)),
    *(LagrangianSetting(cap=cap, inner=10) for cap in (0.05, 0.07, 0.1)),
    *(LagrangianSetting(cap=cap, inner=inner) for cap in (0.03, 0.05) for inner in (30, 50)),
    *(LagrangianSetting(penalty=penalty, cap=cap, inner=20) for penalty in (0.3, 3.0) for cap in (0.05, 0.07)),
    LagrangianSetting(penalty=0.3, cap=0.03, inner=30),
    LagrangianSetting(penalty=10.0, cap=0.05),
]  # fmt: skip
HEADLINE_COOPER: Sequence[Setting] = [
    CooperSetting("Adam", 0.15, 1.0, "nuPI", 1.0, 0.99),
    *(CooperSetting("Adam", step, 1.0, "nuPI", 1.0, 0.99) for step in (0.2, 0.3)),
    *(CooperSetting("Adam", step, 3.0, "nuPI", 1.0, 0.99) for step in (0.1, 0.15, 0.2)),
    *(CooperSetting("Adam", step, 0.3, "nuPI", 3.0, 0.99) for step in (0.1, 0.15, 0.2)),
    *(CooperSetting("Adam", step, 1.0, "nuPI", 1.0, 0.999) for step in (0.1, 0.15)),
    CooperSetting("Adam", 0.15, 1.0, beta2=0.99),
    *(CooperSetting("Adam", step, dual_step, "nuPI", kp, 0.99)
      for step in (0.1, 0.05, 0.15, 0.03) for dual_step, kp in ((0.3, 1.0), (0.1, 10.0), (1.0, 1.0))
      if (step, dual_step) != (0.15, 1.0)),
    CooperSetting("Adam", 0.05, 0.03, "nuPI", 10.0, 0.9),
    CooperSetting("Adam", 0.03, 0.3),
]  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """The measurements of each part."""

    name: str
    check: list[Case]
    speed: list[Case]
    speed_effort: SpeedEffort
    convergence: list[Case]
    convergence_effort: ConvergenceEffort
    headline: Sequence[Setting]
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
            convergence_effort=ConvergenceEffort(_first(COARSE, 3), dict.fromkeys(COARSE, 3), seeds=1),
            headline=[HEADLINE_LAGRANGIAN[0], *HEADLINE_COOPER[:2]],
            headline_effort=HeadlineEffort(repeats=1, record_every=5, after=20),
        )
    default = Plan(
        name="default",
        check=[FASHION, FASHION_1000_SEPARATE],
        speed=[FASHION, FASHION_SEPARATE, CIFAR],
        speed_effort=SpeedEffort(),
        convergence=[FASHION_1000],
        convergence_effort=ConvergenceEffort(COARSE, LIMITS),
        headline=[*HEADLINE_COOPER, *HEADLINE_LAGRANGIAN],
        headline_effort=HeadlineEffort(),
    )
    if not full:
        return default
    return replace(
        default,
        name="full",
        speed=[*default.speed, CIFAR_SEPARATE],
        convergence=[*default.convergence, CIFAR_1000],
        convergence_effort=ConvergenceEffort(COARSE, dict.fromkeys(COARSE, 200)),
        headline_effort=HeadlineEffort(starts=3),
    )


def _first(coarse: Mapping[str, Sequence[Setting]], count: int) -> dict[str, Sequence[Setting]]:
    """The first settings of each contender."""
    return {contender: settings[:count] for contender, settings in coarse.items()}
