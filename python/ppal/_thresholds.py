"""The estimator `ThresholdClassifier`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, indexable

from . import _data
from ._errors import InputError, checking
from ._run import Fitted, Floats


@dataclass(eq=False, repr=False)
class ThresholdClassifier(Fitted, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
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

    estimator: Any
    subject_to: str | Sequence[str] = ()
    _: KW_ONLY
    minimize: str = "error"
    thresholds: Literal["one", "by-group"] = "one"
    prefit: bool = False
    threshold_fraction: float = 0.3
    confidence: float | None = None
    random_state: int | np.random.RandomState | None = None
    settings: Mapping[str, Any] | None = None

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
        classes, codes = _data.labels(y)
        with checking():
            X, y = indexable(X, classes[codes])
        groups, weights, seed = _data.groups(sensitive_features, len(y)), _data.weights(sample_weight, len(y)), _data.seed(self.random_state)
        held = np.arange(len(y))
        if self.prefit:
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
        else:
            share = self.threshold_fraction
            if not (isinstance(share, Real) and 0 < share < 1):
                raise InputError(f"threshold_fraction {share!r}: give a number between 0 and 1")
            with checking("threshold_fraction: "):
                train, held = train_test_split(held, test_size=share, random_state=seed, stratify=y)
            own = {"sample_weight": weights[train]} if weights is not None and has_fit_parameter(self.estimator, "sample_weight") else {}
            self.estimator_ = clone(self.estimator).fit(_safe_indexing(X, train), y[train], **own)
        self.classes_ = self.estimator_.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        if not np.isin(classes, self.classes_).all():
            raise InputError(f"y has classes that the estimator does not know: it knows {self.classes_.tolist()}")
        scores = self._scored(_safe_indexing(X, held))
        data, settings = _data.training(
            self,
            _data.join(scores, {name: values[held] for name, values in groups.items()}),
            [f"{i:06d}" for i in range(len(self.classes_))],  # their order as texts is that of classes_
            np.searchsorted(self.classes_, y[held]),
            None if weights is None else weights[held],
        )
        settings |= {
            "model": "scores",
            "score": list(scores),
            "split": "50/50/0" if self.confidence else "100/0/0",
            "seed": seed,
            "quiet": True,
            **_data.further(self.settings),
        }
        self._train(data, settings)
        self.thresholds_ = {g.get("group", ""): g["thresholds"] for g in self.run_.summary["thresholds"]["groups"]}
        return self

    def _scored(self, X: Any) -> _data.Columns:
        """Return the columns of the scores."""
        scores = getattr(self.estimator_, "decision_function", None) or self.estimator_.predict_proba
        found = np.asarray(scores(X), float)
        if found.ndim == 2 and len(self.classes_) == 2:
            found = found[:, -1]
        columns = [found] if found.ndim == 1 else list(found.T)
        if len(columns) > 1 and len(columns) != len(self.classes_):
            raise InputError(f"the estimator has {len(columns)} scores and {len(self.classes_)} classes: use one with a score for each class")
        return {f"score of class {i}": np.ascontiguousarray(column) for i, column in enumerate(columns)}

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
        scores = self._scored(X)
        if self.thresholds == "by-group":
            scores |= _data.groups(sensitive_features, len(next(iter(scores.values()))))
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
