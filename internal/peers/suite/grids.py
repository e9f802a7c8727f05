"""The settings of each contender in the suite. They span the suite's problems and are the same for every problem."""

from __future__ import annotations

from ..settings import CooperSetting, IpoptSetting, LagrangianSetting, Setting

COOPER = [
    CooperSetting("Adam", 0.1, 0.1, "nuPI", 10, beta2=0.99),
    CooperSetting("Adam", 0.15, 0.1, "nuPI", 10, beta2=0.99),
    *(CooperSetting("Adam", step, 0.1, "nuPI", 10, beta2=0.99) for step in (0.2, 0.3)),
    CooperSetting("Adam", 0.1, 0.3, "nuPI", 1, beta2=0.99),
    CooperSetting("Adam", 0.15, 1, "nuPI", 1, beta2=0.99),
    CooperSetting("Adam", 0.05, 0.03, "nuPI", 10, beta2=0.9, decay="cosine"),
    CooperSetting("Adam", 0.05, 0.03, "nuPI", 10, beta2=0.9),
    # The ball as a constraint: the best setting, Adam 0.1 with dual steps of 0.3 and Kp 10, and the settings around the path to it.
    *(CooperSetting("Adam", step, dual, "nuPI", kp, beta2=0.99, project=False)
      for step, dual, kp in ((0.03, 0.1, 10), (0.03, 0.3, 10), (0.05, 0.03, 10), (0.05, 0.1, 3), (0.05, 0.1, 10), (0.05, 0.1, 30),
                             (0.05, 0.3, 3), (0.05, 0.3, 10), (0.05, 0.3, 30), (0.05, 1, 10), (0.1, 0.1, 10), (0.1, 0.3, 3),
                             (0.1, 0.3, 10), (0.1, 0.3, 30), (0.1, 1, 10), (0.15, 0.3, 10), (0.2, 0.3, 10))),
    CooperSetting("Adam", 0.03, 0.1, "nuPI", 10),
    CooperSetting("Adam", 0.03, 0.1, "nuPI", 100),
    CooperSetting("Adam", 0.03, 1, "nuPI", 1),
    CooperSetting("Adam", 0.01, 0.1, "nuPI", 10),
    CooperSetting("Adam", 0.03, 0.3),
    CooperSetting("momentum", 0.1, 0.1, "nuPI", 10),
    CooperSetting("momentum", 1, 0.1, "nuPI", 10),
]

AUGMENTED_LAGRANGIAN = [
    LagrangianSetting(penalty=0.3, cap=0.03, inner=30),
    LagrangianSetting(penalty=1, cap=0.03, inner=30),
    *(LagrangianSetting(penalty=c, cap=0.02, inner=20) for c in (1, 10)),
    *(LagrangianSetting(penalty=c, cap=0.05, inner=20) for c in (1, 10, 100)),
    *(LagrangianSetting(penalty=10, cap=0.05, inner=inner) for inner in (5, 10, 50)),
    *(LagrangianSetting(penalty=c, cap=0.05, inner=10) for c in (3, 30)),
    LagrangianSetting(penalty=10, cap=0.1, inner=10),
    LagrangianSetting(penalty=1, cap=0.1, inner=15),
    *(LagrangianSetting(penalty=c, cap=0.1, inner=20) for c in (3, 10, 30)),
    LagrangianSetting(penalty=10, cap=0.1, inner=30),
    # The best setting is penalty 30, cap 0.2, 20 inner steps; then the settings around it.
    *(LagrangianSetting(penalty=c, cap=0.2, inner=20) for c in (3, 10, 30, 100)),
    *(LagrangianSetting(penalty=30, cap=0.2, inner=inner) for inner in (10, 15, 30)),
    *(LagrangianSetting(penalty=30, cap=cap, inner=20) for cap in (0.15, 0.3, 0.5)),
    *(LagrangianSetting(penalty=c, cap=None, inner=20) for c in (1, 3, 10, 30, 100)),
    *(LagrangianSetting(penalty=c, cap=None, inner=inner) for c in (10, 30) for inner in (10, 50)),
    *(LagrangianSetting(penalty=c, solver="scipy", inner=20) for c in (1, 10)),
]

IPOPT = [
    IpoptSetting(),
    IpoptSetting(history=6),
    IpoptSetting(strategy="monotone"),
    *(IpoptSetting(strategy="monotone", barrier=barrier) for barrier in (1e-2, 1e-3, 1e-4, 1e-5)),
    *(IpoptSetting(strategy="monotone", barrier=1e-3, history=history) for history in (6, 40, 80)),
    *(IpoptSetting(strategy="monotone", barrier=barrier, history=40) for barrier in (1e-2, 1e-4)),
]


def settings() -> dict[str, list[Setting]]:
    """The settings by contender."""
    return {"cooper": list(COOPER), "augmented-lagrangian": list(AUGMENTED_LAGRANGIAN), "ipopt": list(IPOPT)}
