"""The rows of a run, and rates, gaps and bounds on them, for `verify`.

A rate on some rows is a vector: its value, and then its derivatives by the elements of p, the probabilities of the classes of each row, of shape
(rows, classes), or 1 for the class of the decision.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _data
from ._errors import InputError, RunError, checking
from ._run import Floats, Model

Index = NDArray[np.intp]
Mask = NDArray[np.bool_]


class Rows(NamedTuple):
    """The rows of a run: features, classes, weights, the split, and the value of each attribute (-1: none)."""

    x: Floats
    y: Index
    weight: Floats
    split: NDArray[np.str_]
    classes: list[str]
    names: list[str]  # of the classes, such as y=high and not y=high
    attributes: dict[str, tuple[list[str], Index]]


def read_rows(path: Path, model: Model, data: Any, weight: str | None = None) -> Rows:
    """Prepare the rows of the data that rows.csv lists, with the column of their weights; None: 1 each."""
    if isinstance(data, (str, Path)):
        with checking(f"{data} is not a .npz file of arrays: "):
            data = dict(np.load(data))
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
        names = [c["name"] for c in decision["classes"]]
        y = np.select(held, list(range(1, len(held) + 1)), 0)
        return Rows(model.features(columns), y, weights, listed[:, -1], model.values, names, attributes)
    except KeyError as e:
        raise InputError(f"the data have no column {e}, which the run uses: give the run's table, with its label and groups") from e


def equal(column: NDArray[Any], value: str) -> Mask:
    """Return which values equal the given one, as numbers or as texts."""
    return np.asarray(column == (value if column.dtype.kind == "U" else float(value)))


def condition(columns: _data.Columns, text: str) -> Mask:
    """Return which rows meet a condition such as ``age<25``, ``race!=White`` or ``25<=age<60``."""
    parts = re.split(r"(<=|>=|!=|<|>|=)", text)
    compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}

    def number(side: str) -> Any:
        return columns[side] if side in columns or not re.match("[-+.0-9]", side) else float(side)

    result: Mask = np.ones(len(next(iter(columns.values()))), bool)
    for left, sign, right in zip(parts[0:-2:2], parts[1:-1:2], parts[2::2]):
        if sign in compare:
            result &= compare[sign](number(left), number(right))
        else:
            result &= equal(columns[left], right) == (sign == "=")
    return result


class Rate(NamedTuple):
    """A rate: its name, the selected class (-1: none), and its group among all rows."""

    name: str
    cls: int
    group: Mask

    def halves(self) -> list[Rate]:
        """Return fpr and fnr, whose mean is the balanced error, or the rate itself."""
        return [self._replace(name=n) for n in ("fpr", "fnr")] if self.name == "balanced_error" else [self]

    def weights(self, rows: Rows, part: Mask) -> Floats:
        """Return the weights of the rows of a split; 0 for rows that the rate does not count."""
        counted = self.group
        if self.name in ("tpr", "recall", "fnr"):
            counted = counted & (rows.y == self.positive(rows))
        elif self.name in ("fpr", "tnr"):
            counted = counted & (rows.y != self.positive(rows))
        elif self.name in ("error", "accuracy", "loss") and self.cls >= 0:
            counted = counted & (rows.y == self.cls)
        return np.asarray((counted * rows.weight)[part])

    def positive(self, rows: Rows) -> int:
        """Return the class of positive decisions: the selected one, or the last."""
        return self.cls if self.cls >= 0 else len(rows.classes) - 1

    def size(self, rows: Rows, part: Mask) -> int:
        """Return how many rows of a split count, by Kish's effective number (sum of w)^2 / (sum of w^2)."""
        w = self.weights(rows, part)
        return int(w.sum() ** 2 / (w @ w) * (1 + 1e-12)) if w.any() else 0

    def on(self, rows: Rows, part: Mask, p: Floats) -> Floats | None:
        """Return the rate on a split; None without rows. A precision is not a mean over rows: see `accepted`."""
        parts: list[Floats] = []
        for half in self.halves():
            w, y = half.weights(rows, part), rows.y[part]
            if not w.any():
                return None
            target = y if half.name in ("error", "accuracy", "loss") else np.full(len(y), half.positive(rows))
            mean = rows_mean(p, w / w.sum(), target, half.name == "loss")
            parts.append(plus(-mean, 1) if half.name in ("error", "fnr", "tnr") else mean)
        return np.asarray(sum(parts) / len(parts))

    def accepted(self, rows: Rows, part: Mask, p: Floats) -> tuple[Floats, Floats]:
        """Return the shares of the group that are decided positive wrongly and rightly: a precision is right / (wrong + right)."""
        w, positive = (self.group * rows.weight)[part], self.positive(rows)
        right, target = w * (rows.y[part] == positive) / (w.sum() or 1), np.full(len(w), positive)
        return rows_mean(p, w / (w.sum() or 1) - right, target), rows_mean(p, right, target)


def rows_mean(p: Floats, weight: Floats, target: Index, loss: bool = False) -> Floats:
    """Return the mean over rows of P_target, or of -log P_target (the loss), by weights."""
    slope, at = np.zeros_like(p), (np.arange(len(p)), target)
    slope[at] = -weight / p[at] if loss else weight
    return np.append(weight @ (-np.log(p[at]) if loss else p[at]), slope)


def plus(rate: Floats, constant: float) -> Floats:
    """Return a rate plus a constant."""
    return np.append(rate[0] + constant, rate[1:])


LISTED = re.compile(r'(?:"[^"]*"|\[[^\]]*\]|[^,])+')  # an item of a list, whose commas stand outside quotes and brackets


def find(names: Collection[str], name: str) -> int:
    """Return the index of a name without its quotes, as written or else in another case; -1: none."""
    names, name, folded = list(names), name.strip().strip('"'), [n.lower() for n in names]
    return names.index(name) if name in names else folded.index(name.lower()) if name.lower() in folded else -1


def select(rate: Rate, selector: str, rows: Rows) -> list[Rate]:
    """Narrow a rate to a class, to a value of an attribute, or (``*``) to each of them."""
    found = max(find(rows.classes, selector), find(rows.names, selector))
    attribute, _, value = selector.rpartition("=") if found < 0 else ("", "", rows.classes[found])
    if attribute in ("", "class") and "class" not in rows.attributes:
        if value == "*":
            return [rate._replace(cls=k) for k in range(len(rows.classes))]
        if find(rows.classes, value) >= 0:
            return [rate._replace(cls=find(rows.classes, value))]
    for k, (values, of) in enumerate(rows.attributes.values()):
        if attribute in ("", "class") or k == find(rows.attributes, attribute):
            chosen = range(len(values)) if value == "*" else [v for v in [find(values, value)] if v >= 0]
            if chosen:
                return [rate._replace(group=rate.group & (of == v)) for v in chosen]
    raise RunError(f"the rows have no {selector!r}: is the data that of the run?")


class Measure(NamedTuple):
    """A rate, or a gap, ratio, excess or distance: lists of rates that are compared, or of one rate."""

    form: str
    sets: list[list[Rate]]

    @classmethod
    def parse(cls, text: str, rows: Rows) -> Measure:
        """Read a measure, and find its groups. Groups with fewer training rows than ``min`` are left out, and those without any."""
        compared = re.fullmatch(r"(gap|ratio|excess|distance)\s*\((.*)\)", text.strip())
        form, parts = (compared[1], LISTED.findall(compared[2])) if compared else ("rate", [text])
        name, _, inner = parts[0].strip().partition("[")
        selectors = [s.strip() for s in LISTED.findall(inner.removesuffix("]"))]
        least = max([int(s.split()[1]) for s in [*selectors, *parts[2:]] if s.strip().startswith("min ")], default=1)
        rates = [Rate(name.strip(), -1, np.ones(len(rows.y), bool))]
        for selector in selectors:
            if not selector.startswith("min "):
                rates = [narrow for r in rates for narrow in select(r, selector, rows)]
        sets = [[r] for r in rates]
        if form != "rate":
            groups = sets
            for n in [parts[1]] if find(rows.attributes, parts[1]) >= 0 else parts[1].split("*"):
                groups = [[narrow for g in of for narrow in select(g, n + "=*", rows)] for of in groups]
            whole = sets if form in ("excess", "distance") else [[] for _ in sets]
            sets = [a + b for a, b in zip(whole, groups)]
        train = rows.split == "train"
        enough = [[r for r in rates if all(h.size(rows, train) >= least for h in r.halves())] for rates in sets]
        return cls(form, [rates for rates in enough if rates])

    @property
    def loss(self) -> bool:
        """Whether the measure is of losses."""
        return any(rates[0].name == "loss" for rates in self.sets)

    def inequalities(self, lower: bool, bound: float, rows: Rows, p: Floats) -> Iterator[Floats]:
        """Yield the functions of p on the training rows that are at most 0 where the measure meets its bound."""
        train, sign = rows.split == "train", -1.0 if lower else 1.0
        for rates in self.sets:
            if rates[0].name == "precision":
                wrong, right = rates[0].accepted(rows, train, p)
                yield sign * ((1 - bound) * right - bound * wrong)
                continue
            h = [found for r in rates if (found := r.on(rows, train, p)) is not None]
            if self.form == "ratio":
                yield from (bound * c - a for a in h for c in h if a is not c)
            else:
                yield from (plus(sign * d, -sign * bound) for d in self.limited(h))

    def limited(self, h: list[Any]) -> Iterator[Any]:
        """Yield what a bound limits: the rates h themselves, or their differences. A ratio or precision is neither."""
        if self.form == "rate":
            yield from h
        elif self.form == "gap":
            yield from (a - c for a in h for c in h if a is not c)
        else:
            yield from (sign * (a - h[0]) for sign in ((-1, 1) if self.form == "distance" else (1,)) for a in h[1:])

    def value(self, lower: bool, p: Floats, rows: Rows, part: Mask) -> float | None:
        """Return the value on a split, where p is 1 for the class of each decision, or the probabilities for a loss; None: no rows."""
        found: list[float] = []
        for rates in self.sets:
            if rates[0].name == "precision":
                wrong, right = (share[0] for share in rates[0].accepted(rows, part, p))
                found += [right / (wrong + right)] if wrong + right > 0 else []
                continue
            h = [rate[0] for r in rates if (rate := r.on(rows, part, p)) is not None]
            if self.form == "ratio":
                found += [min(h) / max(h) if max(h) else 1.0] if len(h) > 1 else []
            else:
                found += self.limited(h)
        return None if not found else float(min(found) if lower else max(found))
