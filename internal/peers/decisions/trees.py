"""scikit-learn: the scores of gradient-boosted trees, on which contenders choose thresholds."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from .rows import Rows


class TreesPeer:
    """Scores rows. The public method is called from ppal's process."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def describe(self) -> dict[str, str]:
        """Versions."""
        return {"scikit-learn": version("scikit-learn")}

    def score(self, folder: str) -> None:
        """Write scores.npy [n] in float32: each fifth of the training rows gets its probabilities from trees of the other four,
        because trees fit their own rows too well; the other rows get theirs from trees of all training rows."""
        rows = Rows.load(Path(folder))
        train = rows.train
        trees = HistGradientBoostingClassifier(random_state=1)
        scores = trees.fit(train.features, train.labels).predict_proba(rows.features)[:, 1]
        folds = StratifiedKFold(5, shuffle=True, random_state=1)
        scores[rows.splits == 0] = cross_val_predict(trees, train.features, train.labels, cv=folds, method="predict_proba")[:, 1]
        np.save(Path(folder) / "scores.npy", scores.astype("<f4"))


class Scores(ClassifierMixin, BaseEstimator):
    """The given scores as an estimator: its only feature is the score."""

    def fit(self, X, y):
        self.classes_, self.fitted_ = np.array([0, 1]), True
        return self

    def predict_proba(self, X):
        p = np.asarray(X)[:, 0]
        return np.column_stack([1 - p, p])
