"""Recomputes what a run claims, from the formulas, without the program.

Let s(x) be the scores of a row, and P the probabilities of its classes: 1/(1 + e^-s) for one score, the softmax of several. A rate is the
share of some rows whose decision is a target class, and its smooth version the mean of P_target over the same rows. With the rates h, the
smooth problem is

    minimise f(w) + r(w)   subject to   g_j(w) = sum_k c_jk h_k(w) + constant_j - bound_j - shift_j <= 0

and the certificate of a run with the multipliers nu has three residuals:

    stationarity      the norm of the shortest element of grad f + sum_j nu_j grad g_j + subdifferential of r
    feasibility       the norm of max(0, g)
    complementarity   sum_j |nu_j g_j|
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

from . import _data
from ._errors import RunError
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


def equal(column: NDArray[Any], value: str) -> NDArray[np.bool_]:
    """Return which values equal the given one, as numbers or as texts."""
    return np.asarray(column == (value if column.dtype.kind == "U" else float(value)))


def condition(columns: _data.Columns, text: str) -> NDArray[np.bool_]:
    """Return which rows meet a condition such as ``age<25``, ``race!=White`` or ``25<=age<60``."""
    parts = re.split(r"(<=|>=|!=|<|>|=)", text)
    result: NDArray[np.bool_] = np.ones(len(next(iter(columns.values()))), bool)
    for left, sign, right in zip(parts[0:-2:2], parts[1:-1:2], parts[2::2]):
        if left not in columns:  # a number before the column
            left, sign, right = right, {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[sign], left
        compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
        result &= equal(columns[left], right) == (sign == "=") if sign in ("=", "!=") else compare[sign](columns[left], float(right))
    return result


class Rows(NamedTuple):
    """The rows of a run: features, classes, the split, and the value of each attribute (-1: none)."""

    x: Floats
    y: NDArray[np.intp]
    split: NDArray[np.str_]
    classes: list[str]
    attributes: dict[str, tuple[list[str], NDArray[np.intp]]]


def read_rows(path: Path, model: Model, data: Any) -> Rows:
    """Prepare the rows of the data that rows.csv lists."""
    listed = np.loadtxt(path / "rows.csv", dtype=str, delimiter=",", skiprows=1, ndmin=2)
    columns = _data.chosen(data, listed[:, 0].astype(int) - 1)
    label = model.description["decision"]["label"]
    y = np.zeros(len(listed), np.intp)
    for k, value in enumerate(label.get("several") or [None, label["positive"]]):
        if value is not None:
            y[equal(columns[label["column"]], value)] = k
    attributes = {}
    for a in model.description.get("attributes") or []:
        name, of = a["name"], np.full(len(listed), -1)
        for k, value in enumerate(a["values"]):
            of[equal(columns[name], value) if name in columns else condition(columns, name) == (k == 0)] = k
        attributes[name] = (a["values"], of)
    return Rows(model.features(columns), y, listed[:, -1], model.values, attributes)


class Cell(NamedTuple):
    """A mean over rows of P_target, or of -log P_target (the loss): a weight and a target for each row."""

    weight: Floats
    target: NDArray[np.intp]
    loss: bool = False

    def value(self, p: Floats) -> float:
        """Return the mean for the probabilities p: those of the scores, or 1 for the class of the decision."""
        own = p[np.arange(len(p)), self.target]
        return float(self.weight @ (-np.log(own) if self.loss else own))


class Rate(NamedTuple):
    """A rate: its name, the selected class (-1: none), and the rows of its group among all rows."""

    name: str
    cls: int
    group: NDArray[np.bool_]

    def halves(self) -> list[Rate]:
        """Return fpr and fnr, whose mean is the balanced error, or the rate itself."""
        return [Rate(n, self.cls, self.group) for n in ("fpr", "fnr")] if self.name == "balanced_error" else [self]

    def positive(self, rows: Rows) -> int:
        """Return the class of positive decisions: the selected one, or the last."""
        return self.cls if self.cls >= 0 else len(rows.classes) - 1

    def counted(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows the rate counts, before any decision."""
        if self.name in ("tpr", "recall", "fnr"):
            return np.asarray(self.group & (rows.y == self.positive(rows)))
        if self.name in ("fpr", "tnr"):
            return np.asarray(self.group & (rows.y != self.positive(rows)))
        own_class = self.name in ("error", "accuracy", "loss") and self.cls >= 0
        return np.asarray(self.group & (rows.y == self.cls)) if own_class else self.group

    def linear(self, rows: Rows, part: NDArray[np.bool_]) -> Linear | None:
        """Return the rate on a split as constant + sum of coefficient * cell; None without rows. A precision is not linear."""
        if self.name == "balanced_error":
            parts = [h.linear(rows, part) for h in self.halves()]
            return None if None in parts else combined([(0.5, h) for h in parts])
        weight, y = self.counted(rows)[part].astype(float), rows.y[part]
        if not weight.any():
            return None
        target = y if self.name in ("error", "accuracy", "loss") else np.full(len(y), self.positive(rows))
        cell = Cell(weight / weight.sum(), target, self.name == "loss")
        return (1.0, [(-1.0, cell)]) if self.name in ("error", "fnr", "tnr") else (0.0, [(1.0, cell)])

    def accepted(self, rows: Rows, part: NDArray[np.bool_]) -> tuple[Cell, Cell]:
        """Return the shares of the group that are decided positive wrongly and rightly: a precision is right / (wrong + right)."""
        group, y = self.group[part], rows.y[part]
        wrong, right = (Cell((group & (k == (y == self.positive(rows)))) / max(1, group.sum()), np.full(len(y), self.positive(rows))) for k in (False, True))
        return wrong, right


Linear = tuple[float, list[tuple[float, Cell]]]
Measure = tuple[str, list[list[Rate]]]  # rate, gap, ratio, excess or distance; lists of rates that are compared, or of one rate


def combined(weighted: Iterable[tuple[float, Linear | None]]) -> Linear:
    """Return a linear combination of linear functions."""
    known = [(c, h) for c, h in weighted if h]
    return sum(c * h[0] for c, h in known), [(c * d, cell) for c, h in known for d, cell in h[1]]


def at(h: Linear, p: Floats) -> float:
    """Return the value of a linear function for the probabilities p."""
    return h[0] + sum(c * cell.value(p) for c, cell in h[1])


LISTED = re.compile(r'(?:"[^"]*"|\[[^\]]*\]|[^,])+')  # an item of a list, whose commas stand outside quotes and brackets


def find(names: Collection[str], name: str) -> int:
    """Return the index of a name without its quotes, as written or else in another case; -1: none."""
    names, name, folded = list(names), name.strip().strip('"'), [n.lower() for n in names]
    return names.index(name) if name in names else folded.index(name.lower()) if name.lower() in folded else -1


def parse(text: str, rows: Rows) -> Measure:
    """Read a measure, and find its groups. Groups with fewer training rows than ``min`` are left out, and those without any."""
    compared = re.fullmatch(r"(gap|ratio|excess|distance)\s*\((.*)\)", text.strip())
    form, parts = (compared[1], LISTED.findall(compared[2])) if compared else ("rate", [text])
    name, _, inner = parts[0].strip().partition("[")
    selectors = LISTED.findall(inner.removesuffix("]"))
    least = max([int(s.split()[1]) for s in [*selectors, *parts[2:]] if s.strip().startswith("min ")], default=1)
    rates = [Rate(name.strip(), -1, np.ones(len(rows.y), bool))]
    for selector in selectors:
        if not selector.strip().startswith("min "):
            rates = [narrow for r in rates for narrow in select(r, selector, rows)]
    train = rows.split == "train"

    def enough(r: Rate) -> bool:
        return all((h.counted(rows) & train).sum() >= least for h in r.halves())

    if form == "rate":
        return form, [[r] for r in rates if enough(r)]
    names = [parts[1]] if find(rows.attributes, parts[1]) >= 0 else parts[1].split("*")
    sets = []
    for r in rates:
        groups = [r]
        for n in names:
            groups = [narrow for g in groups for narrow in select(g, n + "=*", rows)]
        sets.append(([r] if form in ("excess", "distance") else []) + [g for g in groups if enough(g)])
    return form, sets


def select(rate: Rate, selector: str, rows: Rows) -> list[Rate]:
    """Narrow a rate to a class, to a value of an attribute, or (``*``) to each of them."""
    attribute, _, value = selector.rpartition("=") if find(rows.classes, selector) < 0 else ("", "", selector)
    if attribute in ("", "class") and "class" not in rows.attributes:
        if value == "*":
            return [Rate(rate.name, k, rate.group) for k in range(len(rows.classes))]
        if find(rows.classes, value) >= 0:
            return [Rate(rate.name, find(rows.classes, value), rate.group)]
    for k, (values, of) in enumerate(rows.attributes.values()):
        if attribute in ("", "class") or k == find(rows.attributes, attribute):
            if value == "*":
                return [Rate(rate.name, rate.cls, rate.group & (of == v)) for v in range(len(values))]
            if find(values, value) >= 0:
                return [Rate(rate.name, rate.cls, rate.group & (of == find(values, value)))]
    raise RunError(f"the rows have no {selector!r}: is the data that of the run?")


def inequalities(m: Measure, lower: bool, bound: float, rows: Rows) -> list[Linear]:
    """Return the bound of a measure on the training rows as inequalities: constant + sum of coefficient * cell <= 0."""
    train, found, sign, (form, sets) = rows.split == "train", [], -1.0 if lower else 1.0, m
    for group in sets:
        h = [r.linear(rows, train) for r in group]
        if form == "rate" and group[0].name == "precision":
            wrong, right = group[0].accepted(rows, train)
            found.append((0.0, [(-sign * bound, wrong), (sign * (1 - bound), right)]))
        elif form == "rate":
            found.append(combined([(sign, h[0]), (-sign * bound, (1.0, []))]))
        elif form == "gap":
            found += [combined([(1, a), (-1, c), (-bound, (1.0, []))]) for a in h for c in h if a is not c]
        elif form == "ratio":
            found += [combined([(bound, c), (-1, a)]) for a in h for c in h if a is not c]
        else:
            signs = (-1, 1) if form == "distance" else (1,)
            found += [combined([(s, a), (-s, h[0]), (-bound, (1.0, []))]) for s in signs for a in h[1:]]
    return found


def count(m: Measure, lower: bool, p: Floats, soft: Floats, part: NDArray[np.bool_], rows: Rows) -> float | None:
    """Return the value of a measure on a split, where p is 1 for the class of each decision, and soft the probabilities; None: no rows."""
    found: list[float] = []
    form, sets = m
    for group in sets:
        values = []
        for r in group:
            h = r.linear(rows, part)
            if r.name == "precision":
                wrong, right = (cell.value(p[part]) for cell in r.accepted(rows, part))
                values += [right / (wrong + right)] if wrong + right > 0 else []
            elif h is not None:
                values.append(at(h, soft[part] if r.name == "loss" else p[part]))
        if form == "rate":
            found += values[:1]
        elif len(values) > 1:
            low, high, over = min(values), max(values), [v - values[0] for v in values[1:]]
            found.append({"gap": high - low, "ratio": low / high if high else 1.0, "excess": max(over), "distance": max(map(abs, over))}[form])
    return None if not found else min(found) if lower else max(found)


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
        The directory of a run of a linear model or a perceptron, with bounds on rates of decisions or on their smooth versions.
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
    model, config = own.description, yaml.safe_load((path / "config.yaml").read_text(encoding="utf-8"))
    other = [c for c in model["constraints"] if c.strip().startswith(("churn", "l1"))]
    if model["task"] != "rates" or config["regularizer"] not in ("none", "l1", "l2", "group-l1") or other:
        raise RunError(f"{path}: this check supports rates in words and the regularizers none, l1, l2 and group-l1 only: use the command ppal verify")
    for name, digest in summary.get("files", {}).items():
        if hashlib.sha256((path / name).read_bytes()).hexdigest() != digest:
            result.problems.append(f"{name} has been changed: its checksum is not the one in summary.json")
    rows = read_rows(path, own, data)
    network = Network([[own.weights[n + ".weight"], own.weights[n + ".bias"]] for n in own.layers()], own.shape["activation"])

    scores = network.forward(rows.x)[-1]
    decided = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
    p, soft = np.eye(len(rows.classes))[decided], probabilities(scores)
    problem: list[Linear] = []
    goal = parse(model["objective"], rows)
    claims = [(model["objective"], goal, False, summary["objective_on_decisions"])]
    for text, claim in zip(model["constraints"], summary.get("decisions") or []):
        words, sign, limit = re.fullmatch(r"(.+)(<=|>=)\s*([^\s%]+\s*%?)\s*", text).groups()  # type: ignore[union-attr]
        m, bound = parse(words, rows), float(limit.rstrip("% ")) / (100 if "%" in limit else 1)
        problem += inequalities(m, sign == ">=", bound, rows)
        claims.append((text, m, sign == ">=", claim))
    for part in ("train", "validation", "test"):
        for text, m, lower, claim in claims:
            loss = m[1][0][0].name == "loss"
            result.compare(f"{text}, {part}", claim[part], count(m, lower, p, soft, rows.split == part, rows), 1e-9 if loss else 1e-12)

    # The smooth problem, at the weights before the threshold was subtracted.
    offset = np.atleast_1d(summary.get("offsets") or summary.get("threshold") or 0.0)
    bias = network.layers[-1][1] + offset
    network.layers[-1][1] = np.where(np.abs(bias) <= 2.0**-21 * np.abs(offset), 0, bias)  # l1 has a kink at 0, which rounding would miss
    x, certificate = rows.x[rows.split == "train"], summary["certificate"]
    nu, shifts = np.array(certificate["nu"]), np.array(summary.get("bound_shifts") or [0.0] * len(problem))
    if not len(nu) == len(problem) == len(shifts) == len(summary["constraints"]):
        result.problems.append(f"summary.json has {len(nu)} multipliers, {len(shifts)} shifts and {len(summary['constraints'])} constraints, want {len(problem)}")
        return result
    objective = inequalities(goal, False, 0.0, rows)[0]

    def lagrangian(n: Network) -> tuple[Floats, Floats]:
        """Return f + r and g in one vector, and the shortest element of the subdifferential of f + r + nu.g."""
        values = n.forward(x)
        p = probabilities(values[-1])
        by_p = np.zeros_like(p)  # the derivative by the probabilities
        for factor, (_, terms) in [(1.0, objective), *zip(nu, problem)]:
            for c, cell in terms:
                index = (np.arange(len(p)), cell.target)
                by_p[index] += factor * c * cell.weight * (-1 / p[index] if cell.loss else 1)
        by_scores = p * (by_p - (by_p * p).sum(axis=1, keepdims=True))
        gradients = n.backward(values, by_scores[:, 1:] if values[-1].shape[1] == 1 else by_scores)
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
