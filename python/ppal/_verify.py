"""Recomputes what a run claims, from the formulas, without the program.

Let s(x) be the scores of a row, and P the probabilities of its classes: 1/(1 + e^-s) for one score, the softmax of several. A rate is the
share of some rows whose decision is a target class, its smooth version the mean of P_target over the same rows, and a loss the mean of
-log P_target. So a rate is h.u: u is a vector of 1 and of the P and -log P of all rows, and h, the vector of coefficients, is a *form*. For
counted decisions, P is 1 for the class of the decision, and 0 for the others. With the rates h, the smooth problem is

    minimise f(w) + r(w)   subject to   g_j(w) = sum_k c_jk h_k.u(w) + constant_j - bound_j - shift_j <= 0

The certificate of a run with the multipliers nu has three residuals:

    stationarity      the norm of the shortest element of grad f + sum_j nu_j grad g_j + subdifferential of r
    feasibility       the norm of max(0, g)
    complementarity   sum_j |nu_j g_j|
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _data
from ._errors import InputError, RunError
from ._run import Floats, Model, Network, changed, read

Mask = NDArray[np.bool_]
LISTED = re.compile(r'(?:"[^"]*"|\[[^\]]*\]|[^,])+')  # an item of a list, whose commas stand outside quotes and brackets
SUMMED = re.compile(r'(?:"[^"]*"|\[[^\]]*\]|[^+])+')  # a term of an objective such as 5*fnr + fpr[sex=M]
COMPARED = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


@dataclass
class Verification:
    """The result of `verify`: quantity, reported and recomputed value (NaN: none), tolerance; a sentence for each difference.

    Intervals, promises, probabilities, judgements, records, warnings, times and the split of each row are not recomputed.
    """

    comparisons: list[tuple[str, float, float, float]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def compare(self, quantity: str, reported: float | None, recomputed: float, tolerance: float) -> None:
        """Record a comparison."""
        old, new = np.nan if reported is None else float(reported), float(recomputed)
        self.comparisons.append((quantity, old, new, tolerance))
        if not (abs(old - new) <= tolerance or (reported is None and np.isnan(new))):
            self.problems.append(f"{quantity}: reported {old!r}, recomputed {new!r}, tolerance {tolerance:.1e}")


def verify(run: str | Path, data: Any) -> Verification:
    """Recompute the objective, the constraints, the KKT residuals and the counted decisions of a run on a table.

    Parameters
    ----------
    run : str or Path
        The directory of a run of a linear model or a perceptron, with bounds on rates of decisions or on their smooth versions. Not a ranking.
    data : DataFrame or dict of arrays, such as ``numpy.load("data.npz")``
        The columns of the run's table with its label and groups, in the order of training.

    Returns
    -------
    Verification
        Counts must agree to 1e-9, and smooth values to 1e-9 (1 + abs(value)) plus 8 times the measured effect of rounding the weights.

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
        raise RunError(f"{path}: verify supports rates of decisions, the regularizers none, l1, l2 and group-l1, and a certificate: use the command ppal verify")
    for name in changed(path, summary.get("files", {})):
        result.problems.append(f"{name} has been changed: its checksum is not the one in summary.json")
    problem = Problem.read(model, config, read_rows(path, model, data, config.get("weight")))
    check_counts(result, problem, model.network, summary)
    check_certificate(result, problem, before_step(model.network, summary), summary)
    return result


class Rows(NamedTuple):
    """The rows of a run: features, classes, weights, the split, and the value of each attribute (-1: none)."""

    x: Floats
    y: NDArray[np.intp]
    weight: Floats
    split: NDArray[np.str_]
    classes: list[str]
    names: list[str]  # of the classes, such as y=high and not y=high
    attributes: dict[str, tuple[list[str], NDArray[np.intp]]]


def read_rows(path: Path, model: Model, data: Any, weight: str | None) -> Rows:
    """Prepare the rows of the data that rows.csv lists, with the column of their weights; None: 1 each."""
    listed = np.loadtxt(path / "rows.csv", dtype=str, delimiter=",", skiprows=1, ndmin=2)
    found, used = _data.columns(data), listed[:, 0].astype(int) - 1
    count = min(map(len, found.values()))
    if count <= used.max():
        raise InputError(f"the data have {count} rows, but the run has used row {used.max() + 1}: give the run's table, in the order of training")
    columns = {name: column[used] for name, column in found.items()}
    decision, attributes = model.description["decision"], {}
    try:
        label = decision["label"]
        values = label.get("several") or ["", label.get("positive")]
        held = [condition(columns, label["condition"])] if "condition" in label else [equal(columns[label["column"]], v) for v in values[1:]]
        for name, of in ((a["name"], a["values"]) for a in model.description.get("attributes") or []):
            members = [equal(columns[name], v) if name in columns else condition(columns, name) == (k == 0) for k, v in enumerate(of)]
            attributes[name] = of, np.select(members, list(range(len(of))), -1)
        weights = columns[weight].astype(float) if weight else np.ones(len(used))
        y, names = np.select(held, list(range(1, len(held) + 1)), 0), [c["name"] for c in decision["classes"]]
        return Rows(model.features(columns), y, weights, listed[:, -1], model.values, names, attributes)
    except KeyError as e:
        raise InputError(f"the data have no column {e}, which the run uses: give the run's table, with its label and groups") from e


def equal(column: NDArray[Any], value: str) -> Mask:
    """Return which values equal the given one, as numbers or as texts."""
    return np.asarray(column == (value if column.dtype.kind == "U" else float(value)))


def condition(columns: _data.Columns, text: str) -> Mask:
    """Return which rows meet a condition such as ``age<25``, ``race!=White`` or ``25<=age<60``."""
    parts, result = re.split(r"(<=|>=|!=|<|>|=)", text), np.ones(len(next(iter(columns.values()))), bool)
    for left, sign, right in zip(parts[0:-2:2], parts[1:-1:2], parts[2::2]):
        if sign in COMPARED:
            a, b = (float(side) if side not in columns and re.match("[-+.0-9]", side) else columns[side] for side in (left, right))
            result &= COMPARED[sign](a, b)
        else:
            result &= equal(columns[left], right) == (sign == "=")
    return result


#: The rates. A rate that is a weighted sum of others has their names and weights, another rate has none.
RATES: dict[str, dict[str, float]] = {
    **{name: {} for name in ("positive_rate", "tpr", "recall", "fnr", "fpr", "tnr", "precision", "error", "accuracy", "loss")},
    "balanced_error": {"fpr": 0.5, "fnr": 0.5},
}


class Rate(NamedTuple):
    """A rate: its name, the selected class (-1: none, and the last one is positive), and its group among all rows."""

    name: str
    cls: int
    group: Mask

    def counted(self, rows: Rows, split: str) -> tuple[Floats, Mask]:
        """Return the weights of the rows of a split, 0 for rows that do not count, and which are of the positive class."""
        positive, part = rows.y == self.cls % len(rows.classes), rows.split == split
        weight = rows.weight * self.group
        if self.name in ("tpr", "recall", "fnr") or (self.name in ("error", "accuracy", "loss") and self.cls >= 0):
            weight = weight * positive
        elif self.name in ("fpr", "tnr"):
            weight = weight * ~positive
        return weight[part], positive[part]

    def enough(self, rows: Rows, least: int) -> bool:
        """Report whether at least `least` training rows count, by Kish's effective number (sum of w)^2 / (sum of w^2)."""
        if RATES[self.name]:
            return all(self._replace(name=n).enough(rows, least) for n in RATES[self.name])
        w, _ = self.counted(rows, "train")
        return bool(w.any() and w.sum() ** 2 / (w @ w) * (1 + 1e-12) >= least)

    def on(self, rows: Rows, split: str) -> tuple[Floats, Floats] | None:
        """Return two forms whose quotient is the rate on a split; None without rows. The second one is 1 for all rates but a precision."""
        if RATES[self.name]:
            parts = [(c, self._replace(name=n).on(rows, split)) for n, c in RATES[self.name].items()]
            forms = [(c * form[0], form[1]) for c, form in parts if form is not None]
            return (np.sum([share for share, _ in forms], axis=0), forms[0][1]) if len(forms) == len(parts) else None
        w, positive = self.counted(rows, split)
        if not w.any():
            return None
        of_rows = np.zeros((len(w), 2, len(rows.classes)))  # coefficients of P and of -log P
        target = rows.y[rows.split == split] if self.name in ("error", "accuracy", "loss") else self.cls % len(rows.classes)
        of_rows[np.arange(len(w)), int(self.name == "loss"), target] = w / w.sum()
        share, one = np.append(0, of_rows), np.eye(1, of_rows.size + 1)[0]
        if self.name == "precision":
            return np.append(0, of_rows * positive[:, None, None]), share
        return one - share if self.name in ("error", "fnr", "tnr") else share, one


def find(names: Iterable[str], name: str) -> int:
    """Return the index of a name without its quotes, as written or else in another case; -1: none."""
    name = name.strip().strip('"')
    return next((k for same in (str, str.lower) for k, known in enumerate(names) if same(known) == same(name)), -1)


def select(rate: Rate, selector: str, rows: Rows) -> list[Rate]:
    """Narrow a rate to a class, to a value of an attribute, or (``*``) to each of them."""
    found = max(find(rows.classes, selector), find(rows.names, selector))
    attribute, _, value = selector.rpartition("=") if found < 0 else ("", "", rows.classes[found])

    def chosen(values: list[str]) -> list[int]:
        return [k for k, v in enumerate(values) if value == "*" or k == find(values, value)]

    if attribute in ("", "class") and "class" not in rows.attributes and chosen(rows.classes):
        return [rate._replace(cls=k) for k in chosen(rows.classes)]
    for k, (values, of) in enumerate(rows.attributes.values()):
        if (attribute in ("", "class") or k == find(rows.attributes, attribute)) and chosen(values):
            return [rate._replace(group=rate.group & (of == v)) for v in chosen(values)]
    raise RunError(f"the rows have no {selector!r}: is the data that of the run?")


class Measure(NamedTuple):
    """A rate, or a gap, ratio, excess or distance: lists of rates that are compared, or of one rate."""

    kind: str
    sets: list[list[Rate]]

    @classmethod
    def parse(cls, text: str, rows: Rows) -> Measure:
        """Read a measure, and find its groups. Groups with fewer training rows than ``min`` are left out, and those without any."""
        compared = re.fullmatch(r"(gap|ratio|excess|distance)\((.*)\)", text.strip())
        kind, parts = (compared[1], LISTED.findall(compared[2])) if compared else ("rate", [text])
        name, _, inner = parts[0].strip().partition("[")
        if name not in RATES:
            raise RunError(f"this check does not know the rate {name!r}: use ppal verify")
        selectors = [s.strip() for s in [*LISTED.findall(inner.removesuffix("]")), *parts[2:]]]
        least = max([int(s.split()[1]) for s in selectors if s.startswith("min ")], default=1)
        rates = [Rate(name, -1, np.ones(len(rows.y), bool))]
        for selector in selectors:
            if not selector.startswith("min "):
                rates = [narrow for r in rates for narrow in select(r, selector, rows)]
        sets = [[r] for r in rates]
        if compared:
            groups = sets
            for n in [parts[1]] if find(rows.attributes, parts[1]) >= 0 else parts[1].split("*"):
                groups = [[narrow for g in of for narrow in select(g, n + "=*", rows)] for of in groups]
            sets = [[*([whole] if kind in ("excess", "distance") else []), *of] for whole, of in zip(rates, groups)]
        enough = [[r for r in rates if r.enough(rows, least)] for rates in sets]
        return cls(kind, [rates for rates in enough if rates])

    def forms(self, rows: Rows, split: str) -> Iterator[tuple[list[Floats], Floats]]:
        """Yield the forms of each list of rates that have rows, and their divisor."""
        for rates in self.sets:
            found = [pair for r in rates if (pair := r.on(rows, split)) is not None]
            if found:
                yield [share for share, _ in found], found[0][1]

    def inequalities(self, lower: bool, bound: float, rows: Rows) -> Iterator[Floats]:
        """Yield the forms that are at most 0 on the training rows where the measure meets its bound."""
        for h, one in self.forms(rows, "train"):
            if self.kind == "ratio":
                yield from (bound * c - a for a in h for c in h if a is not c)
            else:
                yield from ((bound * one - d if lower else d - bound * one) for d in self.limited(h))

    def limited(self, h: list[Any]) -> list[Any]:
        """Return what a bound limits: the rates h themselves, or their differences. A ratio is neither."""
        if self.kind == "rate":
            return h
        if self.kind == "gap":
            return [a - c for a in h for c in h if a is not c]
        return [sign * (a - h[0]) for sign in ((-1, 1) if self.kind == "distance" else (1,)) for a in h[1:]]

    def value(self, lower: bool, u: Floats, rows: Rows, split: str) -> float:
        """Return the value on a split, at the end that the bound limits; NaN without rows."""
        found: list[float] = []
        for forms, one in self.forms(rows, split):
            if one @ u > 0:  # a precision may have no decisions
                h = [float(share @ u / (one @ u)) for share in forms]
                found += self.limited(h) if self.kind != "ratio" else [min(h) / max(h) if max(h) else 1.0] if len(h) > 1 else []
        return float(min(found, default=np.nan) if lower else max(found, default=np.nan))


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
            words, sign, bound = re.fullmatch(r"(.+)(<=|>=)(.+)", text).groups()  # type: ignore[union-attr]
            constraints.append((text, Measure.parse(words, rows), sign == ">=", float(bound)))
        objective = model.description["objective"]
        parts = [re.fullmatch(r"\s*(?:([0-9.]+)\*)?(.+?)\s*", part) for part in SUMMED.findall(objective)]
        terms = [(float(m[1] or 1), Measure.parse(m[2], rows)) for m in parts if m]
        return cls(rows, (objective, terms), constraints, (config["regularizer"], float(config.get("regularizer-weight") or 0)))

    def lagrangian(self, network: Network, nu: Floats) -> tuple[Floats, Floats]:
        """Return f + r and g in one vector, and the shortest element of the subdifferential of f + r + nu.g."""
        values = network.forward(self.rows.x[self.rows.split == "train"])
        log_p = log_probabilities(values[-1])
        p = np.exp(log_p)
        u = np.append(1, np.stack([p, -log_p], axis=1))
        total = np.sum([c * next(m.inequalities(False, 0, self.rows)) for c, m in self.objective[1]], axis=0)
        found = [total @ u]
        for k, g in enumerate(g for _, m, lower, bound in self.constraints for g in m.inequalities(lower, bound, self.rows)):
            found.append(g @ u)
            total = total + g * (nu[k] if k < len(nu) else 0)
        of_p, of_loss = np.moveaxis(total[1:].reshape(len(p), 2, -1), 1, 0)
        slope = p * (of_p - (of_p * p).sum(axis=1, keepdims=True)) + p * of_loss.sum(axis=1, keepdims=True) - of_loss  # by the scores
        slopes = gradient(network, values, slope[:, -values[-1].shape[1] :])
        parts = [regularization(*self.regularizer, w, v) for w, v in zip([a for layer in network.layers for a in layer], slopes)]
        found[0] += sum(r for r, _ in parts)
        return np.array(found), np.concatenate([v.ravel() for _, v in parts])


def check_counts(result: Verification, problem: Problem, network: Network, summary: dict[str, Any]) -> None:
    """Compare the objective and the constraints on the decisions of each split."""
    rows, (objective, terms) = problem.rows, problem.objective
    scores = network.forward(rows.x)[-1]
    decided = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
    p, losses = np.eye(len(rows.classes))[decided], -log_probabilities(scores)
    claims = [(objective, summary["objective_on_decisions"], terms, False)]
    claims += [(text, claim, [(1.0, m)], lower) for (text, m, lower, _), claim in zip(problem.constraints, summary.get("decisions") or [])]
    for split in ("train", "validation", "test"):
        u = np.append(1, np.stack([p, losses], axis=1)[rows.split == split])
        for text, claim, terms, lower in claims:
            result.compare(f"{text}, {split}", claim[split], sum(c * m.value(lower, u, rows, split) for c, m in terms), 1e-9)


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
    weight, bias = network.layers[-1][0], network.layers[-1][1] + offset
    bias = np.where(np.abs(bias) <= 2.0**-21 * np.abs(offset), 0, bias)  # l1 has a kink at 0, which rounding would miss
    return network._replace(layers=[*network.layers[:-1], (weight, bias)])


def log_probabilities(scores: Floats) -> Floats:
    """Return log P of each class: shape (rows, classes)."""
    scores = np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
    return np.asarray(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))


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
