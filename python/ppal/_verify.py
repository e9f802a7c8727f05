"""Recomputes what a run claims, from the formulas, without the program.

Let s(x) be the scores of a row, and P the probabilities of its classes: 1/(1 + e^-s) for one score, the softmax of several. A rate is the
share of some rows whose decision is a target class, and its smooth version the mean of P_target over the same rows. With the rates h, the
smooth problem is

    minimise f(w) + r(w)   subject to   g_j(w) = sum_k c_jk h_k(w) + constant_j - bound_j - shift_j <= 0

In a ranking, a rate is the share of some pairs (i, j) of documents of one query, i more relevant than j, with s_i < s_j, where equal scores count
half. Its smooth version is the mean of 1/(1 + e^(s_i - s_j)). The certificate of a run with the multipliers nu has three residuals:

    stationarity      the norm of the shortest element of grad f + sum_j nu_j grad g_j + subdifferential of r
    feasibility       the norm of max(0, g)
    complementarity   sum_j |nu_j g_j|
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

from ._errors import RunError
from ._rates import LOSSES, PAIRS, Linear, at, combined, count, inequalities, ndcg, parse, read_rows, summands
from ._run import Floats, Model, read_json


@dataclass
class Verification:
    """The result of `verify`: quantity, reported and recomputed value, tolerance; a sentence for each difference; what is not recomputed."""

    comparisons: list[tuple[str, float, float, float]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    not_checked: tuple[str, ...] = ("intervals, promises, probabilities, judgements, records, warnings, times", "the split of each row, which rows.csv lists")

    @property
    def verified(self) -> bool:
        """Whether no difference was found."""
        return not self.problems

    def compare(self, quantity: str, reported: float | None, recomputed: float | None, tolerance: float) -> None:
        """Record a comparison."""
        old, new = (np.nan if v is None else float(v) for v in (reported, recomputed))
        self.comparisons.append((quantity, old, new, tolerance))
        if not abs(old - new) <= tolerance and not (reported is None and recomputed is None):
            self.problems.append(f"{quantity}: reported {old!r}, recomputed {new!r}, tolerance {tolerance:.1e}")


class Network(NamedTuple):
    """Layers (weight [out, in] and bias) with an activation between them."""

    layers: list[list[Floats]]
    activation: str

    def forward(self, x: Floats) -> list[Floats]:
        """Return the inputs of each layer, and the scores last."""
        values = [x]
        for k, (w, b) in enumerate(self.layers):
            z = values[-1] @ w.T + b
            functions = {"relu": np.maximum(z, 0), "tanh": np.tanh(z), "leaky-relu": np.maximum(z, 0.01 * z), "softplus": np.logaddexp(0, z)}
            values.append(z if k + 1 == len(self.layers) else functions.get(self.activation, (1 + np.tanh(z / 2)) / 2))
        return values

    def backward(self, values: list[Floats], d: Floats) -> list[Floats]:
        """Return the gradient of <d, scores> by each weight and bias."""
        found: list[Floats] = []
        for k in range(len(self.layers) - 1, -1, -1):
            a = values[k]
            found = [d.T @ a, d.sum(axis=0), *found]
            slopes = {"relu": np.where(a > 0, 1.0, 0.0), "tanh": 1 - a**2, "leaky-relu": np.where(a > 0, 1.0, 0.01), "softplus": -np.expm1(-a)}
            slope = slopes.get(self.activation, a * (1 - a))
            d = (d @ self.layers[k][0]) * slope if k else d
        return found


def probabilities(scores: Floats) -> Floats:
    """Return the probability of each class: shape (rows, classes)."""
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def regularization(name: str, weight: float, x: Floats, v: Floats) -> tuple[float, Floats]:
    """Return r(x) for a parameter, and the shortest element of v + its subdifferential: l2 is weight |x|^2 / 2, group-l1 weight |x|."""
    size, norm = float(np.linalg.norm(x)), float(np.linalg.norm(v))
    if name == "l2":
        return weight * size**2 / 2, v + weight * x
    if name == "l1":
        return weight * float(np.abs(x).sum()), np.where(x != 0, v + weight * np.sign(x), v - np.clip(v, -weight, weight))
    if name == "group-l1":
        return weight * size, v + weight * x / size if size else v * max(0, 1 - weight / max(norm, weight))
    return 0.0, v


def verify(run: str | Path, data: Any) -> Verification:
    """Recompute the objective, the constraints, the KKT residuals and the counted decisions of a run on a table.

    Parameters
    ----------
    run : str or Path
        The directory of a run of a linear model or a perceptron, with bounds on rates of decisions or of pairs, or on their smooth versions.
    data : str, Path, DataFrame or dict of arrays
        The columns of the run's table with its label and groups, in the order of training: a .npz file, a frame, or arrays by name.

    Returns
    -------
    Verification
        Counts must agree to 1e-12, and smooth values to 1e-9 (1 + abs(value)) plus 8 times the measured effect of rounding the weights.

    Raises
    ------
    RunError
        If the check does not support the run, or if a file of the run is damaged.
    """
    path, result = Path(run), Verification()
    own, summary = Model(path), read_json(path / "summary.json")
    model, config = own.description, yaml.load((path / "config.yaml").read_text(encoding="utf-8"), yaml.BaseLoader)
    other = [c for c in model["constraints"] if c.strip().startswith(("churn", "l1"))]
    if model["task"] != "rates" or config["regularizer"] not in ("none", "l1", "l2", "group-l1") or other:
        raise RunError(f"{path}: this check supports rates in words and the regularizers none, l1, l2 and group-l1 only: use the command ppal verify")
    for name, digest in summary.get("files", {}).items():
        if hashlib.sha256((path / name).read_bytes()).hexdigest() != digest:
            result.problems.append(f"{name} has been changed: its checksum is not the one in summary.json")
    rows = read_rows(path, own, data, config.get("weight"))
    network = Network([[own.weights[n + ".weight"], own.weights[n + ".bias"]] for n in own.layers()], own.shape["activation"])

    scores = network.forward(rows.x)[-1]
    decided = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
    p, soft = np.eye(len(rows.classes))[decided], probabilities(scores)
    problem: list[Linear] = []
    goals = [(c, parse(text, rows)) for c, text in summands(model["objective"])]
    goal = goals[0][1]
    ranking = goal[1][0][0].name in PAIRS
    if ranking:
        p, soft = 1e3 * np.unique(scores.round(12), return_inverse=True)[1].reshape(-1, 1), scores
    claims = []
    for text, claim in zip(model["constraints"], summary.get("decisions") or []):
        words, sign, limit = re.fullmatch(r"(.+)(<=|>=)\s*([^\s%]+\s*%?)\s*", text).groups()  # type: ignore[union-attr]
        m, bound = parse(words, rows), float(limit.rstrip("% ")) / (100 if "%" in limit else 1)
        problem += inequalities(m, sign == ">=", bound, rows)
        claims.append((text, m, sign == ">=", claim))
    for part in ("train", "validation", "test"):
        parts = [(c, count(m, False, p, soft, rows.split == part, rows)) for c, m in goals]
        total = None if any(v is None for _, v in parts) else sum(c * v for c, v in parts if v is not None)
        tolerance = 1e-9 if goal[1][0][0].name in LOSSES else 1e-12
        result.compare(f"{model['objective']}, {part}", summary["objective_on_decisions"][part], total, tolerance)
        for text, m, lower, claim in claims:
            loss = m[1][0][0].name in LOSSES if m[1] else False
            result.compare(f"{text}, {part}", claim[part], count(m, lower, p, soft, rows.split == part, rows), 1e-9 if loss else 1e-12)
        for k in (5, 10):
            if ranking and f"ndcg@{k}" in summary.get(part, {}):
                result.compare(f"{part}.ndcg@{k}", summary[part][f"ndcg@{k}"], ndcg(rows, p[:, 0], rows.split == part, k), 1e-12)

    # The smooth problem, at the weights before the exact step.
    step = summary.get("rank_step") or {}
    if step.get("mixed"):  # the file has a mixture of the weights of two rounds
        result.not_checked += ("the objective, the constraints and the certificate, because the exact step mixed the weights of two rounds",)
        return result
    change = summary.get("weight_step")
    if step or change:
        flat = np.concatenate([a.ravel() for layer in network.layers for a in layer])
        if step:
            flat[step["weight"]] -= step["change"]
        else:
            flat -= np.array(change)
        pieces = np.split(flat, np.cumsum([a.size for layer in network.layers for a in layer]))
        shapes = [[a.shape for a in layer] for layer in network.layers]
        network = network._replace(layers=[[pieces.pop(0).reshape(shape) for shape in layer] for layer in shapes])
    offset = np.atleast_1d(summary.get("offsets") or summary.get("threshold") or 0.0)
    bias = network.layers[-1][1] + offset
    network.layers[-1][1] = np.where(np.abs(bias) <= 2.0**-21 * np.abs(offset), 0, bias)  # l1 has a kink at 0, which rounding would miss
    if summary["certificate"] is None:
        raise RunError("the run has thresholds on given scores and no certificate: check it with the command ppal verify")
    x, certificate = rows.x[rows.split == "train"], summary["certificate"]
    nu, shifts = np.array(certificate["nu"]), np.array(summary.get("bound_shifts") or [0.0] * len(problem))
    if not len(nu) == len(problem) == len(shifts) == len(summary["constraints"]):
        result.problems.append(f"summary.json has {len(nu)} multipliers, {len(shifts)} shifts and {len(summary['constraints'])} constraints, want {len(problem)}")
        return result
    objective = combined((c, inequalities(m, False, 0.0, rows)[0]) for c, m in goals)

    def lagrangian(n: Network) -> tuple[Floats, Floats]:
        """Return f + r and g in one vector, and the shortest element of the subdifferential of f + r + nu.g."""
        values = n.forward(x)
        p = values[-1] if ranking else probabilities(values[-1])
        by_p = np.zeros_like(p)  # the derivative by the probabilities, or by the scores
        for factor, (_, terms) in [(1.0, objective), *zip(nu, problem)]:
            for c, cell in terms:
                cell.add_slope(p, by_p, factor * c)
        by_scores = by_p if ranking else p * (by_p - (by_p * p).sum(axis=1, keepdims=True))
        gradients = n.backward(values, by_scores[:, -values[-1].shape[1] :])
        weight = float(config.get("regularizer-weight") or 0)
        r = [regularization(config["regularizer"], weight, a, v) for a, v in zip((a for layer in n.layers for a in layer), gradients)]
        f = at(objective, p) + sum(part for part, _ in r)
        return np.array([f, *(at(h, p) - s for h, s in zip(problem, shifts))]), np.concatenate([v.ravel() for _, v in r])

    values, v = lagrangian(network)
    rng, near_value, near_gradient = np.random.default_rng(1), 0.0, 0.0
    for _ in range(2):  # moves of the weights within their rounding
        moved, w = lagrangian(Network([[a + a * 2.0**-23 * rng.uniform(-1, 1, a.shape) for a in layer] for layer in network.layers], network.activation))
        near_value = max(near_value, 8 * float(np.abs(moved - values).max()))
        near_gradient = max(near_gradient, 8 * float(np.linalg.norm(w - v)))
    g, ofnu = values[1:], float(np.abs(nu).sum())
    stationarity, feasibility, complementarity = (float(k) for k in (np.linalg.norm(v), np.linalg.norm(np.maximum(g, 0)), np.abs(nu * g).sum()))
    for quantity, reported, recomputed, more in [
        ("objective", summary["objective"], values[0], near_value),
        *((f"constraints[{k}]", c, g[k], near_value) for k, c in enumerate(summary["constraints"])),
        ("stationarity", certificate["stationarity"], stationarity, near_gradient),
        ("feasibility", certificate["feasibility"], feasibility, near_value * len(values)),
        ("complementarity", certificate["complementarity"], complementarity, near_value * ofnu),
        ("epsilon", certificate["epsilon"], max(stationarity, feasibility, complementarity), max(near_gradient, near_value * (len(values) + ofnu))),
    ]:
        result.compare(quantity, reported, recomputed, 1e-9 * (1 + abs(recomputed)) + more)
    if (nu < 0).any():
        result.problems.append("a multiplier of the certificate is negative")
    return result
