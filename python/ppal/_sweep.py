"""The trade-off between a bound and the objective."""

import copy
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from ._classifier import PpalClassifier
from ._errors import InputError
from ._program import start
from ._run import Page, Run


@dataclass(frozen=True)
class Sweep:
    """The models of `sweep`.

    Attributes
    ----------
    points : DataFrame
        A row for each bound: bound, the objective and the measure on training, validation and test rows, met, epsilon, status.
    estimators : list of PpalClassifier
        The fitted model of each row.
    run : Run
        The directory of the sweep.
    """

    points: pd.DataFrame
    estimators: list[PpalClassifier]
    run: Run

    def report(self) -> Page:
        """Return the page with the curve, which a notebook shows."""
        return Page(self.run.path / "report.html")


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
    fitted, whole = clone(estimator), Run()
    bounds = ",".join(map(str, np.ravel(values)))
    if not bounds:
        raise InputError("values is empty: give the bounds, such as [0.1, 0.05, 0.02]")
    data, settings = fitted._prepare(X, y, sensitive_features)
    start("sweep", data, settings, whole.path, "--over", str(over), "--values", bounds, "--allow-violation")
    measure = str(over).split("<=")[0].split(">=")[0].strip()
    points, estimators = [], []
    for line in (whole.path / "sweep.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        named: dict[str, Any] = {"objective": record["objective_on_decisions"], measure: record["decisions"][-1]}
        found = {f"{name}_{part}": of[part] for part in ("train", "validation", "test") for name, of in named.items()}
        points.append({"bound": record["bound"], **found, "met": all(d["met"] for d in record["decisions"]), "epsilon": record["epsilon"], "status": record["status"]})
        run = Run()
        shutil.copytree(whole.path / record["run"], run.path)
        estimators.append(copy.copy(fitted).set_params(subject_to=run.model.description["constraints"]))
        estimators[-1]._take(run)
    return Sweep(pd.DataFrame(points).dropna(axis="columns", how="all"), estimators, whole)
