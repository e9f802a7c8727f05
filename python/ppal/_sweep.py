"""The trade-off between a bound and the objective."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Sequence
from typing import Any

import pandas as pd
from sklearn.base import clone

from ._classifier import PpalClassifier
from ._data import Columns
from ._errors import InputError
from ._program import start
from ._run import Page, Run, temporary


class Sweep:
    """The models of `sweep`.

    Attributes
    ----------
    points : DataFrame
        A row for each bound: bound, the objective and the measure on training, validation and test rows, met, epsilon, status.
    estimators : list of PpalClassifier
        The fitted model of each row.
    """

    def __init__(self, fitted: PpalClassifier, over: str, values: list[float], data: Columns, settings: dict[str, Any]) -> None:
        self._path = temporary(self) / "sweep"
        start("sweep", data, settings, self._path, "--over", over, "--values", ",".join(map(repr, values)), "--allow-violation")
        records = [json.loads(line) for line in (self._path / "sweep.jsonl").read_text(encoding="utf-8").splitlines()]
        measure = over.split("<=")[0].split(">=")[0].strip()
        rows, self.estimators = [], []
        for record in records:
            swept = next(d for d in reversed(record["decisions"]) if d["constraint"].startswith(measure))
            row = {"bound": record["bound"]}
            for part in ("train", "validation", "test"):
                row[f"objective_{part}"], row[f"{measure}_{part}"] = record["objective_on_decisions"][part], swept[part]
            rows.append({**row, "met": all(d["met"] for d in record["decisions"]), "epsilon": record["epsilon"], "status": record["status"]})
            run, estimator = Run(), copy.copy(fitted)
            shutil.copytree(self._path / record["run"], run.path)
            estimator._take(run)
            self.estimators.append(estimator)
        self.points = pd.DataFrame(rows).dropna(axis="columns", how="all")

    def report(self) -> Page:
        """Return the page with the curve, which a notebook shows."""
        return Page(self._path / "report.html")


def sweep(estimator: PpalClassifier, X: Any, y: Any, *, over: str, values: Sequence[float], sensitive_features: Any = None) -> Sweep:
    """Train for several bounds of one constraint. Each training begins at the weights of the previous one.

    Parameters
    ----------
    estimator : PpalClassifier
        The settings and the other bounds. `sweep` does not change it.
    X, y, sensitive_features
        As in `PpalClassifier.fit`.
    over : str
        The measure whose bound varies, such as ``"gap(positive_rate, sex)"`` or ``"recall[shirt] >="``.
    values : sequence of float
        The bounds, from the loosest to the tightest.

    Returns
    -------
    Sweep

    Raises
    ------
    InputError, TrainingError, ProgramError, MissingProgramError
        As `PpalClassifier.fit`.
    """
    if not isinstance(estimator, PpalClassifier):
        raise InputError(f"estimator is of type {type(estimator).__name__}: give a PpalClassifier")
    try:
        bounds = [float(v) for v in values]
    except (TypeError, ValueError) as e:
        raise InputError(f"values is {values!r}: give numbers, such as [0.1, 0.05, 0.02]") from e
    if not isinstance(over, str):
        raise InputError(f'over is {over!r}: give a measure, such as "gap(positive_rate, sex)"')
    if not bounds:
        raise InputError("values is empty: give the bounds, such as [0.1, 0.05, 0.02]")
    own = clone(estimator)
    return Sweep(own, over, bounds, *own._prepare(X, y, sensitive_features))
