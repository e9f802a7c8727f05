"""The rows of a table with their splits, and the accepted rows of a decision."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

SPLITS = 3  # training, validation, test


@dataclass(frozen=True)
class Rows:
    """Features [n, d] in float64; labels and groups [n] in {0, 1}; splits [n] in {0, 1, 2}."""

    features: np.ndarray
    labels: np.ndarray
    groups: np.ndarray
    splits: np.ndarray

    @staticmethod
    def load(folder: Path, features: str = "features") -> Rows:
        """Read the files that ppal wrote; the features "scores" are those that trees wrote."""
        arrays = [np.load(folder / f"{name}.npy") for name in (features, "labels", "groups", "splits")]
        arrays[0] = arrays[0].reshape(len(arrays[1]), -1).astype(np.float64)
        return Rows(arrays[0], *(a.astype(np.int64) for a in arrays[1:]))

    @property
    def train(self) -> Rows:
        """The training rows."""
        at = self.splits == 0
        return Rows(*(a[at] for a in (self.features, self.labels, self.groups, self.splits)))

    def accepted(self, probability: np.ndarray) -> list:
        """The expected number of accepted rows, as [split][group][label], from each row's probability to be accepted."""
        cell = (self.splits * 2 + self.groups) * 2 + self.labels
        return np.bincount(cell, weights=probability, minlength=SPLITS * 4).reshape(SPLITS, 2, 2).tolist()


@dataclass(frozen=True)
class Problem:
    """kind dp: error, gap of positive rates; eo: error, gaps of true and of false positive rates; np: false negative rate
    with a bound on the false positive rate."""

    kind: str
    bound: float

    def constraints(self, rows: Rows) -> np.ndarray:
        """M [m, n] and no constant: the constraints are M a <= bound for the decisions a in {0, 1}^n. A gap has two rows."""
        positive, group = rows.labels == 1, rows.groups == 1

        def gap(of: np.ndarray) -> np.ndarray:
            one, other = of & group, of & ~group
            return one / one.sum() - other / other.sum()

        if self.kind == "np":
            return (~positive / (~positive).sum())[None]
        everyone = np.ones(len(positive), bool)
        gaps = [gap(everyone)] if self.kind == "dp" else [gap(positive), gap(~positive)]
        return np.array([sign * g for g in gaps for sign in (1.0, -1.0)])

    def objective(self, rows: Rows) -> np.ndarray:
        """Each row's weight in the error rate; in the false negative rate for np."""
        positive = rows.labels == 1
        if self.kind == "np":
            return positive / positive.sum()
        return np.full(len(positive), 1.0 / len(positive))

    def error(self, rows: Rows, decisions: np.ndarray) -> float:
        """The error rate, or the false negative rate for np."""
        return float(self.objective(rows) @ (decisions != (rows.labels == 1)))

    def slack(self, rows: Rows) -> float:
        """One row of the smallest cell, the step in which a rate changes; none for np, whose bound is on one rate."""
        if self.kind == "np":
            return 0.0
        cells = [rows.groups == g for g in (0, 1)]
        if self.kind == "eo":
            cells = [c & (rows.labels == y) for c in cells for y in (0, 1)]
        return 1.0 / min(c.sum() for c in cells)
