"""fairlearn: the reductions and the threshold optimizer, with scikit-learn's logistic regression.

fairlearn's difference_bound relates each group's rate to the rate of all rows, so that a difference_bound of b allows a gap
of up to 2b between two groups. A randomised classifier is measured by its probabilities, without drawing decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version

import numpy as np
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient, GridSearch
from sklearn.linear_model import LogisticRegression

from .peer import Candidate, DecisionsPeer
from .rows import Problem, Rows
from .trees import Scores

MOMENTS = {"dp": DemographicParity, "eo": EqualizedOdds}
PARITIES = {"dp": "demographic_parity", "eo": "equalized_odds"}
Measure = Callable[[Rows], Iterable[Candidate]]


class FairlearnPeer(DecisionsPeer):
    """Contenders: exponentiated-gradient, grid-search, threshold-optimizer. The problem np has no form in fairlearn."""

    def describe(self) -> dict[str, str]:
        return {"fairlearn": version("fairlearn"), "scikit-learn": version("scikit-learn"), "pandas": version("pandas")}

    def _prepare(self, contender: str, problem: Problem, setting: dict) -> Callable[[], Measure]:
        train = self._train
        if setting.get("scores"):
            learner = Scores().fit(None, None)
        else:
            learner = LogisticRegression(solver=setting["solver"], max_iter=1000)
        if contender == "threshold-optimizer":
            optimizer = ThresholdOptimizer(
                estimator=learner, constraints=PARITIES[problem.kind], predict_method="predict_proba", prefit=bool(setting.get("scores")),
                grid_size=setting["grid_size"], tol=setting.get("tol"),
            )  # fmt: skip

            def thresholds() -> Measure:
                optimizer.fit(train.features, train.labels, sensitive_features=train.groups)
                return lambda rows: [("", 1, optimizer._pmf_predict(rows.features, sensitive_features=rows.groups)[:, 1])]

            return thresholds
        moment = MOMENTS[problem.kind](difference_bound=setting.get("difference_bound"))
        if contender == "exponentiated-gradient":
            reduction = ExponentiatedGradient(learner, moment, eps=setting["eps"], max_iter=setting["max_iter"])
            candidates: Callable[[Rows], Iterable[Candidate]] = lambda rows: [mixture(reduction, rows)]
        else:
            reduction = GridSearch(learner, moment, grid_size=setting["grid_size"], grid_limit=setting["grid_limit"])
            candidates = lambda rows: members(reduction, rows)

        def reduce() -> Measure:
            reduction.fit(train.features, train.labels, sensitive_features=train.groups)
            return candidates

        return reduce


def mixture(reduction: ExponentiatedGradient, rows: Rows) -> Candidate:
    """The randomised classifier, with its number of models."""
    used = [k for k, weight in reduction.weights_.items() if weight > 0]
    probability = np.zeros(len(rows.labels))
    for k in used:
        probability += reduction.weights_[k] * reduction.predictors_[k].predict(rows.features)
    return f"stopped after {reduction.last_iter_ + 1} iterations", len(used), probability


def members(reduction: GridSearch, rows: Rows) -> Iterable[Candidate]:
    """All models of the grid with their multipliers; an outer point of the grid is called so."""
    multipliers = reduction.lambda_vecs_
    size = multipliers.abs().sum()
    for k, predictor in enumerate(reduction.predictors_):
        where = "edge" if size.iloc[k] >= size.max() * (1 - 1e-9) else "inside"
        yield where, 1, predictor.predict(rows.features).astype(float)
