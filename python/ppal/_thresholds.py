"""The estimator `ThresholdClassifier`."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter, indexable

from . import _data
from ._errors import InputError, ViolationWarning
from ._program import UNMET, call
from ._run import Floats, Page, Run

SCORE = "score of class "  # the columns of the scores in the program's file


class ThresholdClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Thresholds on the scores of any classifier with which its decisions meet bounds.

    The scores are those of `decision_function`, or else of `predict_proba`. A positive affine map of the scores changes no decision.

    Parameters
    ----------
    estimator : estimator
        A classifier of scikit-learn's kind.
    subject_to : str or sequence of str, default=()
        Bounds on rates of decisions, such as ``"gap(positive_rate, sex) <= 0.02"``. Attributes are columns of `sensitive_features`.
    minimize : str, default="error"
        The rate that the thresholds minimise under the bounds.
    thresholds : {"one", "by-group"}, default="one"
        One threshold for all rows, or one for each group that the bounds compare. `predict` then needs `sensitive_features`.
    prefit : bool, default=False
        Whether `estimator` is fitted already. All rows of `fit` then choose thresholds: give rows that did not train `estimator`.
    threshold_fraction : float, default=0.3
        Without `prefit`, the share of the rows of `fit` that choose thresholds. A clone of `estimator` is fitted on the others.
    confidence : float, optional
        The probability with which the bounds hold on new rows, such as 0.95. Half of the rows that choose thresholds then decide it.
    random_state : int, RandomState or None, default=None
        The seed of the splits; None is the seed 1.
    settings : dict, optional
        Further settings of ``ppal train`` by the names of their flags.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        The classes, in increasing order.
    thresholds_ : dict
        The thresholds by group (``""`` for all rows): a list with a number for each score.
    rates_, constraints_, run_
        As in `PpalClassifier`.

    Warns
    -----
    ViolationWarning
        If a constraint is not met, cannot be judged or is not promised.

    Examples
    --------
    >>> from ppal import ThresholdClassifier
    >>> bounded = ThresholdClassifier(model, "fpr <= 0.05", prefit=True, confidence=0.95)
    >>> bounded.fit(X_held, y_held)  # doctest: +SKIP
    """

    def __init__(
        self,
        estimator: Any,
        subject_to: str | Sequence[str] = (),
        *,
        minimize: str = "error",
        thresholds: Literal["one", "by-group"] = "one",
        prefit: bool = False,
        threshold_fraction: float = 0.3,
        confidence: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.subject_to = subject_to
        self.minimize = minimize
        self.thresholds = thresholds
        self.prefit = prefit
        self.threshold_fraction = threshold_fraction
        self.confidence = confidence
        self.random_state = random_state
        self.settings = settings

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.input_tags.sparse, inner.input_tags.allow_nan
        tags.classifier_tags.multi_class = inner.classifier_tags is None or inner.classifier_tags.multi_class
        return tags

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> ThresholdClassifier:
        """Fit the classifier, unless it is fitted, and choose thresholds on rows that it has not seen.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
            What `estimator` accepts.
        y : array of shape (n_samples,)
            Two classes or more. The last of two is the positive class.
        sensitive_features : Series, DataFrame, dict of arrays or array, optional
            The attributes that the bounds name.
        sample_weight : array of shape (n_samples,), optional
            How often each row counts in the rates and the bounds, at least 0, and, if `estimator` takes weights, in its loss.

        Returns
        -------
        self : ThresholdClassifier

        Raises
        ------
        InputError
            If the data, a bound or a setting is wrong.
        sklearn.exceptions.NotFittedError
            With `prefit`, if the estimator is not fitted.
        TrainingError, ProgramError, MissingProgramError
            If the program failed, has a bug, or is absent.
        """
        if y is None:
            raise InputError("requires y to be passed, but the target y is None")
        X, y = indexable(X, column_or_1d(y, warn=True))
        if not len(y):
            raise InputError("found 0 sample(s) in y, while a minimum of 1 is required")
        check_classification_targets(y)
        rows, seed = len(y), check_random_state(1 if self.random_state is None else self.random_state).randint(1, 2**31)
        groups = {} if sensitive_features is None else _data.groups(sensitive_features, rows)
        weights = None if sample_weight is None else _data.weights(sample_weight, rows)
        if weights is not None:  # a row of weight 0 is as absent
            kept = np.flatnonzero(weights)
            X, y, weights, groups = _safe_indexing(X, kept), y[kept], weights[kept], {name: values[kept] for name, values in groups.items()}
            rows = len(y)
        self.estimator_ = self.estimator
        if self.prefit:
            check_is_fitted(self.estimator)
        else:
            if not 0 < self.threshold_fraction < 1:
                raise InputError(f"threshold_fraction is {self.threshold_fraction}: it must be between 0 and 1")
            classes, sizes = np.unique(y, return_counts=True)
            if len(classes) < 2:
                raise InputError(f"y has one class only, {classes[0]!r}: give rows of two classes or more")
            stratify = y if sizes.min() > 1 and min(self.threshold_fraction, 1 - self.threshold_fraction) * rows >= len(classes) else None
            train, held = train_test_split(np.arange(rows), test_size=self.threshold_fraction, random_state=seed, stratify=stratify)
            own = {"sample_weight": weights[train]} if weights is not None and has_fit_parameter(self.estimator, "sample_weight") else {}
            self.estimator_ = clone(self.estimator).fit(_safe_indexing(X, train), y[train], **own)
            weights = None if weights is None else weights[held]
            X, y, groups = _safe_indexing(X, held), y[held], {name: values[held] for name, values in groups.items()}
        self.classes_ = self.estimator_.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        codes = np.searchsorted(self.classes_, y)
        if (codes == len(self.classes_)).any() or (self.classes_[codes] != y).any():
            raise InputError(f"y has classes that the estimator does not know: it knows {self.classes_.tolist()}")
        run = Run()
        with tempfile.TemporaryDirectory(prefix="ppal-data-") as folder:
            status, text = self._choose(run, self._scored(X, groups), codes, weights, seed, Path(folder))
        summary, self.run_ = run.summary, run
        self.rates_, self.constraints_ = run.rates(), run.constraints()
        self.thresholds_ = {g.get("group", ""): g["thresholds"] for g in summary["thresholds"]["groups"]}
        if status == UNMET:
            warnings.warn(text, ViolationWarning, stacklevel=2)
        return self

    def _choose(self, run: Run, scores: _data.Columns, codes: NDArray[Any], weights: Floats | None, seed: int, folder: Path) -> tuple[int, str]:
        """Write the scores, and let the program choose the thresholds."""
        texts = [f"{i:06d}" for i in range(len(self.classes_))]  # their order as texts is that of classes_
        data, names = dict(scores), [name for name in scores if name.startswith(SCORE)]
        label = _data.free("y", data)
        data[label] = _data.texts(texts)[codes + 1]
        settings: dict[str, Any] = {
            "file": str(folder / "data.npz"),
            "label": label if len(texts) > 2 else f"{label}={texts[-1]}",
            "model": "scores",
            "score": names,
            "thresholds": self.thresholds,
            "minimize": self.minimize,
            "subject-to": _data.bounds(self.subject_to),
            "split": "50/50/0" if self.confidence else "100/0/0",
            "seed": int(seed),
            "quiet": True,
            **({"confidence": self.confidence} if self.confidence else {}),
            **(self.settings or {}),
        }
        if weights is not None:
            settings["weight"] = _data.free("sample_weight", data)
            data[settings["weight"]] = weights
        _data.write(folder / "data.npz", data)
        (folder / "settings.json").write_text(json.dumps({k: v for k, v in settings.items() if v != []}))
        replaced = {str(folder / "settings.json"): "the settings", str(folder / "data.npz"): "the data"}
        return call("train", "--config", str(folder / "settings.json"), "--out", str(run.path), names=replaced)

    def _scored(self, X: Any, groups: _data.Columns) -> _data.Columns:
        """Return the columns of the scores, and the groups."""
        if hasattr(self.estimator_, "decision_function"):
            scores = np.asarray(self.estimator_.decision_function(X), float)
        else:
            scores = np.asarray(self.estimator_.predict_proba(X), float)
        if scores.ndim == 2 and len(self.classes_) == 2:
            scores = scores[:, -1]
        columns = [scores] if scores.ndim == 1 else list(scores.T)
        if len(columns) > 1 and len(columns) != len(self.classes_):
            raise InputError(f"the estimator has {len(columns)} scores and {len(self.classes_)} classes: use one with a score for each class")
        return _data.join({f"{SCORE}{i}": np.ascontiguousarray(column) for i, column in enumerate(columns)}, groups)

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """Return the scores minus the thresholds.

        Parameters
        ----------
        X, sensitive_features : as in `fit`
            The groups are needed with ``thresholds="by-group"`` only.

        Returns
        -------
        ndarray of shape (n_samples,) or, with three classes or more, (n_samples, n_classes)
        """
        check_is_fitted(self, "run_")
        if self.thresholds == "by-group" and sensitive_features is None:
            raise InputError("the thresholds are by group: give the groups of the rows as sensitive_features")
        scores = self._scored(X, {})
        if self.thresholds == "by-group":
            scores = _data.join(scores, _data.groups(sensitive_features, len(next(iter(scores.values())))))
        return self.run_.model.scores(scores)

    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray[Any]:
        """Return the class of each row.

        Parameters
        ----------
        X, sensitive_features : as in `decision_function`

        Returns
        -------
        ndarray of shape (n_samples,)
            The decisions that the bounds apply to.
        """
        scores = self.decision_function(X, sensitive_features=sensitive_features)
        return np.asarray(self.classes_[self.run_.model.decide(scores)])

    def report(self) -> Page:
        """Return the page of the run, which a notebook shows."""
        check_is_fitted(self, "run_")
        return Page(self.run_.path / "report.html")
