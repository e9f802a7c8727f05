"""Rates of decisions, by group."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta
from sklearn.utils.validation import column_or_1d

from . import _data
from ._errors import InputError, checking


@dataclass(frozen=True)
class Rates:
    """Rates of decisions.

    Attributes
    ----------
    overall : DataFrame
        For each rate: value, low and high (the ends of the interval), and rows (the number of rows that the rate counts).
    by_group : DataFrame
        The same for each group and rate.
    """

    overall: pd.DataFrame
    by_group: pd.DataFrame

    def difference(self) -> pd.Series:
        """Return the largest minus the smallest value of each rate over the groups: ``gap`` in ppal's language."""
        values = self.by_group["value"].unstack("rate")
        return values.max() - values.min()

    def ratio(self) -> pd.Series:
        """Return the smallest over the largest value of each rate over the groups: ``ratio`` in ppal's language."""
        values = self.by_group["value"].unstack("rate")
        return values.min() / values.max()


def evaluate(y_true: Any, y_pred: Any, *, sensitive_features: Any = None, pos_label: Any = None) -> Rates:
    """Return the rates of decisions by group, as fairlearn's MetricFrame does, with 95% intervals (Clopper and Pearson).

    Parameters
    ----------
    y_true, y_pred : array of shape (n_samples,)
        Labels and decisions of any model.
    sensitive_features : Series, DataFrame, dict of arrays or array, optional
        The groups. Several features give their intersections that have rows.
    pos_label : optional
        The positive class; by default the last of two classes. Three classes or more need it, and all other classes are negative.

    Returns
    -------
    Rates
        The rates positive_rate, tpr, fpr, precision and error. A rate that counts no rows is NaN.

    Raises
    ------
    InputError
        If the lengths differ, there are no rows, or the positive class is not known.
    """
    with checking():
        truth, decided = column_or_1d(y_true), column_or_1d(y_pred)
    if len(truth) != len(decided) or not len(truth):
        raise InputError(f"y_true has {len(truth)} rows and y_pred {len(decided)}: give one label and one decision for each row")
    classes = np.unique(np.concatenate([truth, decided]))
    if pos_label is None:
        if len(classes) > 2:
            raise InputError(f"y_true and y_pred have {len(classes)} classes: name the positive one with pos_label")
        pos_label = classes[-1]
    if pos_label not in classes:
        raise InputError(f"pos_label {pos_label!r} is not one of the classes {classes.tolist()}")
    positive, accepted = truth == pos_label, decided == pos_label
    wrong = truth != decided
    rates = {
        "positive_rate": (accepted, np.ones_like(accepted)),
        "tpr": (accepted, positive),
        "fpr": (accepted, ~positive),
        "precision": (positive, accepted),
        "error": (wrong, np.ones_like(wrong)),
    }
    overall = _table(rates, np.zeros(len(truth), int), pd.Index(["all rows"], name="group"))
    features = _data.groups(sensitive_features, len(truth))
    if not features:
        return Rates(overall.droplevel("group"), overall)
    by = pd.DataFrame(features).groupby(list(features))
    return Rates(overall.droplevel("group"), _table(rates, by.ngroup().to_numpy(), by.size().index))


def _table(rates: dict[str, tuple[Any, Any]], codes: NDArray[Any], groups: pd.Index) -> pd.DataFrame:
    """Return value, interval and rows of each rate, (hits, rows that it counts), for the groups with these codes."""
    parts = {}
    for name, (hits, counted) in rates.items():
        k, n = (pd.Series(np.bincount(codes[rows], minlength=len(groups)), index=groups) for rows in (hits & counted, counted))
        low = np.where(k > 0, beta.ppf(0.025, k, n - k + 1), 0)
        high = np.where(k < n, beta.ppf(0.975, k + 1, n - k), 1)
        interval = pd.DataFrame({"value": k / n, "low": low, "high": high}).where(n > 0)
        parts[name] = interval.assign(rows=n)
    table = pd.concat(parts, names=["rate"])
    return table.reorder_levels([*groups.names, "rate"]).sort_index(level=list(groups.names), sort_remaining=False)
