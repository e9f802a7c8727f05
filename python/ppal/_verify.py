"""Recomputes what a run claims, from the formulas, without the program.

Let s(x) be the scores of a row, and P the probabilities of its classes: 1/(1 + e^-s) for one score, the softmax of several. A rate is the
share of some rows whose decision is a target class, and its smooth version the mean of P_target over the same rows. With the rates h, the
smooth problem is

    minimise f(w) + r(w)   subject to   g_j(w) = sum_k c_jk h_k(w) + constant_j - bound_j - shift_j <= 0

The certificate of a run with the multipliers nu has three residuals:

    stationarity      the norm of the shortest element of grad f + sum_j nu_j grad g_j + subdifferential of r
    feasibility       the norm of max(0, g)
    complementarity   sum_j |nu_j g_j|
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, NamedTuple

import numpy as np

from ._errors import RunError
from ._rates import Measure, Rows, read_rows
from ._run import Floats, Model, Network, changed, read


@dataclass
class Verification:
    """The result of `verify`: quantity, reported and recomputed value, tolerance; a sentence for each difference; what is not recomputed."""

    comparisons: list[tuple[str, float, float, float]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    not_checked: tuple[str, ...] = (
        "intervals, promises, probabilities, judgements, records, warnings, times",
        "the split of each row, which rows.csv lists",
    )

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


def verify(run: str | Path, data: Any) -> Verification:
    """Recompute the objective, the constraints, the KKT residuals and the counted decisions of a run on a table.

    Parameters
    ----------
    run : str or Path
        The directory of a run of a linear model or a perceptron, with bounds on rates of decisions or on their smooth versions. Not a ranking.
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
    InputError
        If the data lack a column or rows of the run.
    """
    path, result = Path(run), Verification()
    model, summary, config = Model(path), read(path / "summary.json"), read(path / "config.yaml")
    known = model.description["task"] == "rates" and "query" not in model.description and config["regularizer"] in ("none", "l1", "l2", "group-l1")
    if not known or summary["certificate"] is None or any(c.strip().startswith(("churn", "l1")) for c in model.description["constraints"]):
        raise RunError(
            f"{path}: this check supports rates of decisions, with the regularizers none, l1, l2 and group-l1, and a certificate: use the command ppal verify"
        )
    for name in changed(path, summary.get("files", {})):
        result.problems.append(f"{name} has been changed: its checksum is not the one in summary.json")
    problem = Problem.read(model, config, read_rows(path, model, data, config.get("weight")))
    check_counts(result, problem, model.network, summary)
    check_certificate(result, problem, before_step(model.network, summary), summary)
    return result


SUMMED = re.compile(r'(?:"[^"]*"|\[[^\]]*\]|[^+])+')  # a term of an objective such as 5*fnr + fpr[sex=M]


class Problem(NamedTuple):
    """The rows, the terms of the objective with their coefficients, the constraints (>= is `lower`), and the regularizer."""

    rows: Rows
    objective: tuple[str, list[tuple[float, Measure]]]
    constraints: list[tuple[str, Measure, bool, float]]  # text, measure, lower, bound
    regularizer: tuple[str, float]

    @classmethod
    def read(cls, model: Model, config: dict[str, str], rows: Rows) -> Problem:
        """Return the problem of a run."""
        constraints = []
        for text in model.description["constraints"]:
            words, sign, limit = re.fullmatch(r"(.+)(<=|>=)\s*([^\s%]+\s*%?)\s*", text).groups()  # type: ignore[union-attr]
            bound = float(limit.rstrip("% ")) / (100 if "%" in limit else 1)
            constraints.append((text, Measure.parse(words, rows), sign == ">=", bound))
        objective = model.description["objective"]
        parts = [re.fullmatch(r"\s*(?:([0-9.]+)\*)?(.+?)\s*", part) for part in SUMMED.findall(objective)]
        terms = [(float(m[1] or 1), Measure.parse(m[2], rows)) for m in parts if m]
        return cls(rows, (objective, terms), constraints, (config["regularizer"], float(config.get("regularizer-weight") or 0)))

    def inequalities(self, p: Floats) -> Iterator[Floats]:
        """Yield the functions of p that the constraints bound by 0."""
        for _, measure, lower, bound in self.constraints:
            yield from measure.inequalities(lower, bound, self.rows, p)

    def lagrangian(self, network: Network, nu: Floats) -> tuple[Floats, Floats]:
        """Return f + r and g in one vector, and the shortest element of the subdifferential of f + r + nu.g."""
        values = network.forward(self.rows.x[self.rows.split == "train"])
        p = probabilities(values[-1])
        total = np.sum([c * next(m.inequalities(False, 0, self.rows, p)) for c, m in self.objective[1]], axis=0)
        found = [float(total[0])]
        for k, g in enumerate(self.inequalities(p)):
            found.append(float(g[0]))
            total = total + g * (nu[k] if k < len(nu) else 0)
        slope = total[1:].reshape(p.shape)  # by p
        slope = (p * (slope - (slope * p).sum(axis=1, keepdims=True)))[:, -values[-1].shape[1] :]  # by the scores
        parts = [regularization(*self.regularizer, w, v) for w, v in zip([a for layer in network.layers for a in layer], gradient(network, values, slope))]
        found[0] += sum(r for r, _ in parts)
        return np.array(found), np.concatenate([v.ravel() for _, v in parts])


def check_counts(result: Verification, problem: Problem, network: Network, summary: dict[str, Any]) -> None:
    """Compare the objective and the constraints on the decisions of each split."""
    rows, (objective, terms) = problem.rows, problem.objective
    scores = network.forward(rows.x)[-1]
    decided = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
    hard, soft = np.eye(len(rows.classes))[decided], probabilities(scores)
    for split in ("train", "validation", "test"):
        part = rows.split == split

        def check(name: str, claim: float | None, terms: list[tuple[float, Measure]], lower: bool = False) -> None:
            found = [(c, m.value(lower, (soft if m.loss else hard)[part], rows, part)) for c, m in terms]
            total = None if any(v is None for _, v in found) else sum(c * v for c, v in found if v is not None)
            result.compare(f"{name}, {split}", claim, total, 1e-9 if terms[0][1].loss else 1e-12)

        check(objective, summary["objective_on_decisions"][split], terms)
        for (text, measure, lower, _), claim in zip(problem.constraints, summary.get("decisions") or []):
            check(text, claim[split], [(1, measure)], lower)


def check_certificate(result: Verification, problem: Problem, network: Network, summary: dict[str, Any]) -> None:
    """Compare the smooth objective, the constraints and the residuals at the weights of the network."""
    certificate, claimed = summary["certificate"], summary["constraints"]
    nu, shifts = np.array(certificate["nu"]), np.array(summary.get("bound_shifts") or [0.0] * len(claimed))
    values, v = problem.lagrangian(network, nu)
    if not len(nu) == len(shifts) == len(claimed) == len(values) - 1:
        result.problems.append(f"summary.json has {len(nu)} multipliers, {len(shifts)} shifts and {len(claimed)} constraints, want {len(values) - 1}")
        return
    rng, near_value, near_gradient = np.random.default_rng(1), 0.0, 0.0
    for _ in range(2):  # moves of the weights within their rounding
        near, w = problem.lagrangian(moved(network, lambda flat: flat * (1 + 2.0**-23 * rng.uniform(-1, 1, flat.shape))), nu)
        near_value = max(near_value, 8 * float(np.abs(near - values).max()))
        near_gradient = max(near_gradient, 8 * float(np.linalg.norm(w - v)))
    g, of_nu = values[1:] - shifts, float(np.abs(nu).sum())
    stationarity, feasibility, complementarity = (float(k) for k in (np.linalg.norm(v), np.linalg.norm(np.maximum(g, 0)), np.abs(nu * g).sum()))
    for quantity, reported, recomputed, more in [
        ("objective", summary["objective"], values[0], near_value),
        *((f"constraints[{k}]", c, g[k], near_value) for k, c in enumerate(claimed)),
        ("stationarity", certificate["stationarity"], stationarity, near_gradient),
        ("feasibility", certificate["feasibility"], feasibility, near_value * len(values)),
        ("complementarity", certificate["complementarity"], complementarity, near_value * of_nu),
        ("epsilon", certificate["epsilon"], max(stationarity, feasibility, complementarity), max(near_gradient, near_value * (len(values) + of_nu))),
    ]:
        result.compare(quantity, reported, recomputed, 1e-9 * (1 + abs(recomputed)) + more)
    if (nu < 0).any():
        result.problems.append("a multiplier of the certificate is negative")


def moved(network: Network, change: Callable[[Floats], Floats]) -> Network:
    """Return the network after a change of all its weights in one vector."""
    arrays = [a for layer in network.layers for a in layer]
    flat = change(np.concatenate([a.ravel() for a in arrays]))
    pieces = [part.reshape(a.shape) for part, a in zip(np.split(flat, np.cumsum([a.size for a in arrays])), arrays)]
    return network._replace(layers=list(zip(pieces[::2], pieces[1::2])))


def before_step(network: Network, summary: dict[str, Any]) -> Network:
    """Return the weights of the smooth problem: those of the file without the exact step on the decisions and its threshold."""
    if summary.get("weight_step"):
        network = moved(network, lambda flat: flat - np.array(summary["weight_step"]))
    offset = np.atleast_1d(summary.get("offsets") or summary.get("threshold") or 0.0)
    weight, bias = network.layers[-1]
    bias = bias + offset
    bias = np.where(np.abs(bias) <= 2.0**-21 * np.abs(offset), 0, bias)  # l1 has a kink at 0, which rounding would miss
    return network._replace(layers=[*network.layers[:-1], (weight, bias)])


def probabilities(scores: Floats) -> Floats:
    """Return the probability of each class: shape (rows, classes)."""
    scores = np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


SLOPES: dict[str, Callable[[Floats], Floats]] = {  # of activations, by their values
    "relu": lambda a: np.where(a > 0, 1.0, 0.0),
    "leaky-relu": lambda a: np.where(a > 0, 1.0, 0.01),
    "softplus": lambda a: -np.expm1(-a),
    "tanh": lambda a: 1 - a**2,
    "sigmoid": lambda a: a * (1 - a),
}


def gradient(network: Network, values: list[Floats], slope: Floats) -> list[Floats]:
    """Return the gradient by each weight and bias of a function with this slope by the scores. `values` are those of `Network.forward`."""
    found: list[Floats] = []
    for k in range(len(network.layers) - 1, -1, -1):
        found = [slope.T @ values[k], slope.sum(axis=0), *found]
        if k:
            slope = (slope @ network.layers[k][0]) * SLOPES[network.activation](values[k])
    return found


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
