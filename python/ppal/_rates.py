"""The rows of a run, and rates, gaps and bounds on them as means over rows or pairs, for `verify`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple, Union

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from . import _data
from ._errors import RunError
from ._run import Floats, Model


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
    """The rows of a run: features, classes, weights, the split, and the value of each attribute (-1: none)."""

    x: Floats
    y: NDArray[np.intp]
    weight: Floats
    split: NDArray[np.str_]
    classes: list[str]
    names: list[str]  # of the classes, such as y=high and not y=high
    attributes: dict[str, tuple[list[str], NDArray[np.intp]]]
    queries: tuple[list[str], NDArray[np.intp]] | None = None  # their names, and the query of each document
    grades: Floats | None = None


def read_rows(path: Path, model: Model, data: Any, weight: str | None = None) -> Rows:
    """Prepare the rows of the data that rows.csv lists, with the column of their weights; None: 1 each."""
    listed = np.loadtxt(path / "rows.csv", dtype=str, delimiter=",", skiprows=1, ndmin=2)
    columns = _data.chosen(data, listed[:, 0].astype(int) - 1)
    label = model.description["decision"]["label"]
    y = np.zeros(len(listed), np.intp)
    if "condition" in label:
        y[condition(columns, label["condition"])] = 1
    else:
        for k, value in enumerate(label.get("several") or [None, label["positive"]]):
            if value is not None:
                y[equal(columns[label["column"]], value)] = k
    attributes = {}
    for a in model.description.get("attributes") or []:
        name, of = a["name"], np.full(len(listed), -1)
        for k, value in enumerate(a["values"]):
            of[equal(columns[name], value) if name in columns else condition(columns, name) == (k == 0)] = k
        attributes[name] = (a["values"], of)
    queries = grades = None
    if "query" in model.description:
        of, names = pd.factorize(columns[model.description["query"]])  # numbered in the order of the rows
        queries, graded = ([str(n) for n in names], of), columns[label["column"]]
        grades = graded.astype(float) if graded.dtype.kind in "iuf" else None
    names, weights = [c["name"] for c in model.description["decision"]["classes"]], columns[weight].astype(float) if weight else np.ones(len(y))
    return Rows(model.features(columns), y, weights, listed[:, -1], model.values, names, attributes, queries, grades)


class Cell(NamedTuple):
    """A mean over rows of P_target, or of -log P_target (the loss): a weight and a target for each row."""

    weight: Floats
    target: NDArray[np.intp]
    loss: bool = False

    def value(self, p: Floats) -> float:
        """Return the mean for the probabilities p: those of the scores, or 1 for the class of the decision."""
        own = p[np.arange(len(p)), self.target]
        return float(self.weight @ (-np.log(own) if self.loss else own))

    def add_slope(self, p: Floats, by: Floats, factor: float) -> None:
        """Add the factor times the derivative by the probabilities."""
        index = (np.arange(len(p)), self.target)
        by[index] += factor * self.weight * (-1 / p[index] if self.loss else 1)


class PairCell(NamedTuple):
    """A mean over pairs (i, j) of 1/(1 + e^(s_i - s_j)), or of log(1 + e^(s_j - s_i)) (the loss)."""

    i: NDArray[np.intp]
    j: NDArray[np.intp]
    loss: bool = False

    def value(self, s: Floats) -> float:
        """Return the mean for the scores s of shape (documents, 1). Scores far apart give the share of wrong pairs."""
        change = s[self.j, 0] - s[self.i, 0]
        return float(np.mean(np.logaddexp(0, change) if self.loss else (1 + np.tanh(change / 2)) / 2))

    def add_slope(self, s: Floats, by: Floats, factor: float) -> None:
        """Add the factor times the derivative by the scores."""
        wrong = (1 + np.tanh((s[self.j, 0] - s[self.i, 0]) / 2)) / 2
        slope = factor / len(wrong) * (wrong if self.loss else wrong * (1 - wrong))
        by[:, 0] += np.bincount(self.j, slope, len(s)) - np.bincount(self.i, slope, len(s))


class Rate(NamedTuple):
    """A rate: its name, the selected class (-1: none), and the rows of its group among all rows."""

    name: str
    cls: int
    group: NDArray[np.bool_]
    query: int = -1  # the only query; -1: all queries

    def pairs(self, rows: Rows, part: NDArray[np.bool_]) -> PairCell:
        """Return the pairs of a split that the rate counts, by their places in the split."""
        assert rows.queries is not None
        y, group, query = rows.y[part], self.group[part], rows.queries[1][part]
        found: list[list[NDArray[np.intp]]] = [[], []]
        for q in np.unique(query) if self.query < 0 else [self.query]:
            documents = np.flatnonzero(query == q)
            i, j = np.meshgrid(documents[group[documents]], documents, indexing="ij")
            kept = y[i] > y[j]
            if self.name in ("cross_pair_error", "own_pair_error"):
                kept &= group[j] == (self.name == "own_pair_error")
            found[0].append(i[kept])
            found[1].append(j[kept])
        return PairCell(np.concatenate(found[0]), np.concatenate(found[1]), self.name == "pair_loss")

    def size(self, rows: Rows, part: NDArray[np.bool_]) -> int:
        """Return the number of rows or pairs of a split that the rate counts: (sum of w)^2 / (sum of w^2), Kish's effective number, with weights w."""
        if self.name in PAIRS:
            return len(self.pairs(rows, part).i)
        w = rows.weight[self.counted(rows) & part]
        return int(w.sum() ** 2 / (w @ w) * (1 + 1e-12)) if len(w) else 0

    def halves(self) -> list[Rate]:
        """Return fpr and fnr, whose mean is the balanced error, or the rate itself."""
        return [self._replace(name=n) for n in ("fpr", "fnr")] if self.name == "balanced_error" else [self]

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
        if self.name in PAIRS:
            pairs = self.pairs(rows, part)
            return (0.0, [(1.0, pairs)]) if len(pairs.i) else None
        weight, y = (self.counted(rows) * rows.weight)[part], rows.y[part]
        if not weight.any():
            return None
        target = y if self.name in ("error", "accuracy", "loss") else np.full(len(y), self.positive(rows))
        cell = Cell(weight / weight.sum(), target, self.name == "loss")
        return (1.0, [(-1.0, cell)]) if self.name in ("error", "fnr", "tnr") else (0.0, [(1.0, cell)])

    def accepted(self, rows: Rows, part: NDArray[np.bool_]) -> tuple[Cell, Cell]:
        """Return the shares of the group that are decided positive wrongly and rightly: a precision is right / (wrong + right)."""
        weight, y = (self.group * rows.weight)[part], rows.y[part]
        weight = weight / (weight.sum() or 1)
        wrong, right = (Cell(weight * (k == (y == self.positive(rows))), np.full(len(y), self.positive(rows))) for k in (False, True))
        return wrong, right


Linear = tuple[float, list[tuple[float, Union[Cell, PairCell]]]]
PAIRS = ("pair_error", "cross_pair_error", "own_pair_error", "pair_loss")
Measure = tuple[str, list[list[Rate]]]  # rate, gap, ratio, excess or distance; lists of rates that are compared, or of one rate


def combined(weighted: Iterable[tuple[float, Linear | None]]) -> Linear:
    """Return a linear combination of linear functions."""
    known = [(c, h) for c, h in weighted if h]
    return sum(c * h[0] for c, h in known), [(c * d, cell) for c, h in known for d, cell in h[1]]


def at(h: Linear, p: Floats) -> float:
    """Return the value of a linear function for the probabilities p."""
    return h[0] + sum(c * cell.value(p) for c, cell in h[1])


SUMMED = re.compile(r'(?:"[^"]*"|\[[^\]]*\]|[^+])+')  # a term of a sum, whose plus signs stand outside quotes and brackets
LOSSES = ("loss", "pair_loss")


def summands(text: str) -> list[tuple[float, str]]:
    """Return the coefficients and rates of an objective, such as 5*fnr + fpr."""
    parts = [re.fullmatch(r"\s*(?:([0-9.]+)\*)?(.+?)\s*", part) for part in SUMMED.findall(text)]
    return [(float(m[1] or 1), m[2]) for m in parts if m]


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
        return all(h.size(rows, train) >= least for h in r.halves())

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
    found = max(find(rows.classes, selector), find(rows.names, selector))
    attribute, _, value = selector.rpartition("=") if found < 0 else ("", "", rows.classes[found])
    if attribute == "query" and rows.queries is not None:
        return [rate._replace(query=k) for k, name in enumerate(rows.queries[0]) if value in (name, "*")]
    if attribute in ("", "class") and "class" not in rows.attributes:
        if value == "*":
            return [rate._replace(cls=k) for k in range(len(rows.classes))]
        if find(rows.classes, value) >= 0:
            return [rate._replace(cls=find(rows.classes, value))]
    for k, (values, of) in enumerate(rows.attributes.values()):
        if attribute in ("", "class") or k == find(rows.attributes, attribute):
            if value == "*":
                return [rate._replace(group=rate.group & (of == v)) for v in range(len(values))]
            if find(values, value) >= 0:
                return [rate._replace(group=rate.group & (of == find(values, value)))]
    raise RunError(f"the rows have no {selector!r}: is the data that of the run?")


def inequalities(m: Measure, lower: bool, bound: float, rows: Rows) -> list[Linear]:
    """Return the bound of a measure on the training rows as inequalities: constant + sum of coefficient * cell <= 0."""
    train, sign, (form, sets) = rows.split == "train", -1.0 if lower else 1.0, m
    found: list[Linear] = []
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
    """Return the value of a measure on a split, where p is 1 for the class of each decision, and soft the probabilities; None: no rows.

    In a ranking, soft has the scores, and p scores of the same order that are far apart.
    """
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
                values.append(at(h, soft[part] if r.name in ("loss", "pair_loss") else p[part]))
        if form == "rate":
            found += values[:1]
        elif len(values) > 1:
            low, high, over = min(values), max(values), [v - values[0] for v in values[1:]]
            found.append({"gap": high - low, "ratio": low / high if high else 1.0, "excess": max(over), "distance": max(map(abs, over))}[form])
    return None if not found else min(found) if lower else max(found)


def ndcg(rows: Rows, scores: Floats, part: NDArray[np.bool_], places: int) -> float:
    """Return the mean NDCG of the queries with a relevant document, with the gains 2^grade - 1; equal scores are in the order of the rows."""
    assert rows.queries is not None and rows.grades is not None
    found = []
    for q in np.unique(rows.queries[1][part]):
        own = part & (rows.queries[1] == q)
        gain, order = 2 ** rows.grades[own] - 1, np.argsort(-scores[own], kind="stable")
        weight = 1 / np.log2(np.arange(2, 2 + min(places, len(gain))))
        if gain.any():
            found.append(gain[order][:places] @ weight / (np.sort(gain)[::-1][:places] @ weight))
    return float(np.mean(found))
