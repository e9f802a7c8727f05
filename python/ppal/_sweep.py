"""The trade-off between a bound and the objective."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from ._classifier import PpalClassifier
from ._program import call
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

    def __init__(self, fitted: PpalClassifier, over: str, arguments: list[str], names: dict[str, str]) -> None:
        self._path = temporary(self) / "sweep"
        call("sweep", *arguments, "--over", over, "--allow-violation", "--out", str(self._path), names=names)
        records = [json.loads(line) for line in (self._path / "sweep.jsonl").read_text(encoding="utf-8").splitlines()]
        measure = over.split("<=")[0].split(">=")[0].strip()
        rows, self.estimators = [], []
        for record in records:
            swept = next(d for d in reversed(record["decisions"]) if d["constraint"].startswith(measure))
            row = {"bound": record["bound"]}
            for part in ("train", "validation", "test"):
                row[f"objective_{part}"], row[f"{measure}_{part}"] = record["objective_on_decisions"][part], swept[part]
            rows.append({**row, "met": all(d["met"] for d in record["decisions"]), "epsilon": record["epsilon"], "status": record["status"]})
            run = Run()
            Run(self._path / record["run"]).copy(run.path)
            self.estimators.append(fitted._with(run))
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
    own = clone(estimator)
    bounds = ",".join(repr(float(v)) for v in np.asarray(values))
    with tempfile.TemporaryDirectory(prefix="ppal-data-") as folder:
        names, settings = own._prepare(X, y, sensitive_features, Path(folder))
        return Sweep(own, over, [*settings, "--values", bounds], names)
