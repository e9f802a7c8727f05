"""Part 1: every contender computes the same losses and the same gradient as ppal, from the same start on the same rows.

The reference is numpy in float64 (problem.py). ppal shows its losses in record 0, and its gradient in one plain gradient step:
PPALA's first direction is d = grad f + J'w with w = rho max(0, g), since lambda_0 = 0 and u_0 = max(0, -g), so that
d = (x_0 - x_1)/eta.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from .cases import Case
from .client import PeerError
from .context import Context
from .problem import Weights, losses_and_gradient

ALPHA, BETA = 10.0, 0.2
RHO = ALPHA / (1.0 + ALPHA * BETA)

PEERS = ("torch", "jax", "cooper")

# Largest absolute difference of the losses, relative norm of the gradients' difference. float64: rounding of sums over 24,000
# rows; float32: the same in float32, about 3e-7 is usual. ppal's float32 gradient is a difference of weights that are saved in
# float32, so it has its own bound.
TOLERANCES = {"float64": (1e-11, 1e-9), "float32": (1e-5, 1e-5), "ppal float32": (1e-5, 5e-5)}
MOMENTS = 1e-12  # of the centre (absolute) and the deviation (relative)
STEP = {"float64": "1e-3", "float32": "1"}  # large in float32, so that the weights' rounding hides little of the step


class CheckError(Exception):
    """A contender has different results than ppal."""


def run(context: Context, cases: list[Case]) -> None:
    """Compare all cases. CheckError names the differences."""
    failed = []
    for case in cases:
        unit = context.results.unit(case.name, partial(_compare, context, case))
        failed += [f"{case.name}: {c['of']}: {c['what']} differ by {c['error']}, more than {c['tolerance']:g}"
                   for c in unit["comparisons"] if not c["met"]]  # fmt: skip
    if failed:
        raise CheckError("; ".join(failed))


def _compare(context: Context, case: Case) -> dict:
    context.say(f"check: {case.name}: ppal, numpy, {', '.join(PEERS)}")
    problem, folder = context.problem(case)
    comparisons: list[dict] = []

    def note(of: str, what: str, error: float, tolerance: float) -> None:
        comparisons.append({"of": of, "what": what, "error": error, "tolerance": tolerance, "met": bool(error <= tolerance)})

    start = {d: context.ppal.train(case, "--iterations", "0", "--dtype", d, "--seed", str(context.seed)) for d in STEP}
    c, s = start["float64"].normalization["center"], start["float64"].normalization["deviation"]
    note("ppal", "centre and deviation", max(np.abs(problem.center - c).max(), abs(problem.deviation / s - 1)), MOMENTS)

    first = start["float64"].records[0]
    w = RHO * np.maximum(0.0, first["constraints"])
    losses, gradient = losses_and_gradient(problem, problem.start, w)
    assert gradient is not None
    for dtype, run_0 in start.items():
        record, bounds = run_0.records[0], TOLERANCES["ppal float32" if dtype == "float32" else dtype]
        seen = np.array([record["objective"], *(np.array(record["constraints"]) + case.kappa)])
        note(f"ppal {dtype}", "losses", float(np.abs(seen - losses).max()), bounds[0])
        step = _ppal_gradient(context, case, run_0.weights, dtype)
        note(f"ppal {dtype}", "gradients", _relative(step, gradient.vector()), bounds[1])
    for peer in PEERS:
        for dtype in STEP:
            try:
                seen, d = _peer_gradient(context, peer, folder, dtype, w)
            except PeerError as error:
                context.say(f"check: not run: {error}")
                break
            note(f"{peer} {dtype}", "losses", float(np.abs(seen - losses).max()), TOLERANCES[dtype][0])
            note(f"{peer} {dtype}", "gradients", _relative(d, gradient.vector()), TOLERANCES[dtype][1])
    return {"rows": len(problem.pixels), "random_data": context.is_random(case.dataset), "weights_of_bounds": w.tolist(),
            "losses": losses.tolist(), "comparisons": comparisons}  # fmt: skip


def _ppal_gradient(context: Context, case: Case, start: Weights, dtype: str) -> np.ndarray:
    run_1 = context.ppal.train(
        replace(case, theta=None), "--iterations", "1", "--dtype", dtype, "--seed", str(context.seed), "--primal", "gradient",
        "--eta-scale", "fixed", "--eta", STEP[dtype], "--alpha", f"{ALPHA:g}", "--beta", f"{BETA:g}",
    )  # fmt: skip
    return (start.vector() - run_1.weights.vector()) / float(STEP[dtype])


def _peer_gradient(context: Context, peer: str, folder: Path, dtype: str, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    out = context.work / "gradient.npz"
    with context.client(peer) as client:
        client.call("load", folder=str(folder))
        losses = client.call("gradient", dtype=dtype, w=w.tolist(), out=str(out))
    return np.array(losses), Weights.load(out).vector()


def _relative(a: np.ndarray, b: np.ndarray) -> float:
    """||a - b|| / ||b||."""
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))
