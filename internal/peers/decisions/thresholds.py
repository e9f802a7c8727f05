"""scikit-learn: logistic regression whose threshold moves to the best exact point on the training rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version

import numpy as np
from sklearn.linear_model import LogisticRegression

from .peer import Candidate, DecisionsPeer
from .rows import Problem, Rows


class ThresholdsPeer(DecisionsPeer):
    """Contender: moved-threshold."""

    def describe(self) -> dict[str, str]:
        return {"scikit-learn": version("scikit-learn")}

    def _prepare(
        self, contender: str, problem: Problem, setting: dict
    ) -> Callable[[], Callable[[Rows], Iterable[Candidate]]]:
        train = self._train
        model = LogisticRegression(solver=setting["solver"], C=setting["C"], class_weight=setting.get("class_weight"), max_iter=1000)

        def fit() -> Callable[[Rows], Iterable[Candidate]]:
            model.fit(train.features, train.labels)
            threshold = best_threshold(problem, train, model.decision_function(train.features))
            return lambda rows: [("", 1, (model.decision_function(rows.features) > threshold).astype(float))]

        return fit


def best_threshold(problem: Problem, rows: Rows, scores: np.ndarray) -> float:
    """The threshold with the least error whose decisions on the rows meet the bound plus one row (np: the bound).

    To accept nobody meets every bound, so that there always is a threshold. Equal scores stay on one side.
    """
    order = np.argsort(-scores, kind="stable")
    values = np.cumsum(problem.constraints(rows)[:, order], axis=1)
    gain = problem.objective(rows)[order] * np.where(rows.labels[order] == 1, -1.0, 1.0)
    error = np.cumsum(gain)  # relative to accepting nobody
    sorted_scores = scores[order]
    last_of_ties = np.append(sorted_scores[:-1] > sorted_scores[1:], True)
    met = last_of_ties & (values <= problem.bound + problem.slack(rows) + 1e-12).all(0)
    if not met.any() or error[met].min() >= 0:
        return float("inf")
    k = np.flatnonzero(met)[np.argmin(error[met])]
    return (sorted_scores[k] + sorted_scores[k + 1]) / 2 if k + 1 < len(scores) else float("-inf")
