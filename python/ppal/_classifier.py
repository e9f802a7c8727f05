"""The estimator `PpalClassifier`."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _data
from ._errors import InputError, NotConvergedWarning, RunError, ViolationWarning, checking, in_python
from ._program import Progress, start
from ._run import Fitted, Floats, Run, read_json

ARRAY = "X"  # the name of the features of an array: X0, X1, ...
OWN_FILE = "estimator.json"  # what Python adds to a saved run
ADVICE = {
    "contains NaN": 'fill in the missing values, or use missing="impute"',
    "contains infinity": "replace it by a number or by NaN (missing)",
    "could not convert": "give a DataFrame, whose columns may be texts",
    "not compatible with arrays of bytes": "give a DataFrame, whose columns may be texts",
    "Expected 2D array": "Reshape your data, as in X.reshape(-1, 1) for one feature",
}


class PpalClassifier(Fitted, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear model or a neural network whose decisions meet bounds.

    Parameters
    ----------
    subject_to : str or sequence of str, default=()
        Bounds on rates of decisions, such as ``"gap(positive_rate, sex) <= 0.02"``, in the language of ppal. Attributes are columns of
        `sensitive_features` and of X. Without a bound, the problem has no constraints.
    minimize : str, optional
        ``"error"`` (with a bound), ``"loss"`` (without one), ``"balanced_error"``, ``"fnr"``, ``"fpr"``, or a sum: ``"5*fnr + fpr"``.
    model : {"linear", "mlp"}, default="linear"
        Linear scores, or a network of hidden layers.
    hidden_layer_sizes : sequence of int, optional
        Units of each hidden layer of ``"mlp"``; 64 in one layer by default.
    activation : {"relu", "tanh", "sigmoid", "leaky-relu", "softplus"}, optional
        The function between the layers of ``"mlp"``; relu by default.
    confidence : float, optional
        The probability with which the bounds hold on new rows, such as 0.95. Without it, they hold on the training rows.
    validation_fraction : float, optional
        The share of the rows of `fit` that do not train: 0, and 0.3 with `confidence`.
    test_fraction : float, default=0.0
        The share of the rows of `fit` that only measure.
    missing : {"refuse", "impute", "drop", "flag"}, default="refuse"
        ``"refuse"``: a missing value is an error. ``"impute"``: it becomes the mean, with an indicator column. ``"drop"``: its row is
        left out. ``"flag"``: as impute, and missing is also a value of groups.
    handle_unknown : {"error", "ignore"}, default="error"
        Whether `predict` refuses a category that training did not have.
    alpha : float, optional
        The factor of half the squared norm of the weights; 1e-5 by default.
    max_iter : int, default=1000
        The largest number of iterations.
    random_state : int, RandomState or None, default=None
        The seed of the initial weights and of the splits. None is the seed 1: equal input gives equal models.
    device : str, default="auto"
        ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"cuda:N"``. A GPU needs a program that supports GPUs: set PPAL_PROGRAM to its path.
    n_jobs : int, optional
        Threads; by default one for each core. Results do not depend on it.
    settings : dict, optional
        Further settings of ``ppal train`` by the names of their flags, such as ``{"regularizer": "l1"}``.
    verbose : bool, default=False
        Whether to show the progress, by tqdm if it is installed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in increasing order.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the features, if X has names that are all strings.
    n_iter_ : int
        The number of iterations.
    rates_ : DataFrame
        Rates by split, group and name: value, 95% interval, rows.
    constraints_ : DataFrame
        By constraint: bound, values on training, validation and test rows, tolerance, met, state, promise.
    certificate_ : dict
        The KKT residuals in float64: epsilon (the largest), stationarity, feasibility, complementarity, nu.
    run_ : Run
        The directory of the run.

    Warns
    -----
    ViolationWarning
        If a constraint is not met, cannot be judged or is not promised.
    NotConvergedWarning
        If the training ended early.

    Examples
    --------
    >>> from ppal import PpalClassifier
    >>> model = PpalClassifier(subject_to="gap(positive_rate, sex) <= 0.02")
    >>> model.fit(X, y, sensitive_features=sex)  # doctest: +SKIP
    """

    def __init__(
        self,
        subject_to: str | Sequence[str] = (),
        *,
        minimize: str | None = None,
        model: Literal["linear", "mlp"] = "linear",
        hidden_layer_sizes: Sequence[int] | None = None,
        activation: str | None = None,
        confidence: float | None = None,
        validation_fraction: float | None = None,
        test_fraction: float = 0.0,
        missing: str = "refuse",
        handle_unknown: Literal["error", "ignore"] = "error",
        alpha: float | None = None,
        max_iter: int = 1000,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        n_jobs: int | None = None,
        settings: Mapping[str, Any] | None = None,
        verbose: bool = False,
    ) -> None:
        self.subject_to = subject_to
        self.minimize = minimize
        self.model = model
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.confidence = confidence
        self.validation_fraction = validation_fraction
        self.test_fraction = test_fraction
        self.missing = missing
        self.handle_unknown = handle_unknown
        self.alpha = alpha
        self.max_iter = max_iter
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.settings = settings
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.missing != "refuse"
        return tags

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> PpalClassifier:
        """Train the model.

        Parameters
        ----------
        X : DataFrame of pandas or polars, array or sparse matrix of shape (n_samples, n_features)
            Numbers are numbers, and categories, strings and booleans are categories. A sparse matrix is copied to a dense one.
        y : array of shape (n_samples,)
            Two classes or more. The last of two is the positive class.
        sensitive_features : Series, DataFrame, dict of arrays or array, optional
            The attributes that the bounds name. The model does not read them. An array has the name ``sensitive_feature_0``.
        sample_weight : array of shape (n_samples,), optional
            How often each row counts in the loss, the rates and the bounds, at least 0. A bound cannot be promised with weights.

        Returns
        -------
        self : PpalClassifier
            The fitted estimator.

        Raises
        ------
        InputError
            If the data, a bound or a setting is wrong.
        TrainingError, ProgramError, MissingProgramError
            If the program failed, has a bug, or is absent.
        KeyboardInterrupt
            After Ctrl-C. The estimator keeps the weights that the training reached.
        """
        run = Run()
        data, settings = self._prepare(X, y, sensitive_features, sample_weight)
        progress = Progress() if self.verbose else None
        try:
            unmet = start("train", data, settings, run.path, "--log-format", "json", report=progress)
        except KeyboardInterrupt:
            if (run.path / "summary.json").exists() and (run.path / "model.json").exists():
                self._take(run)
            raise
        finally:
            if progress:
                progress.close()
        self._take(run)
        summary = run.summary
        if unmet:
            warnings.warn(unmet, ViolationWarning, stacklevel=2)
        if not summary.get("converged", True):
            warnings.warn(in_python(summary.get("verdict") or f"not converged: {summary['status']}"), NotConvergedWarning, stacklevel=2)
        return self

    def _prepare(self, X: Any, y: Any, sensitive: Any, weights: Any = None) -> tuple[_data.Columns, dict[str, Any]]:
        """Return the rows and the settings of a training, and set the classes."""
        features = self._columns(X, reset=True)
        self.classes_, codes = _data.labels(y)
        rows = len(next(iter(features.values())))
        if len(codes) != rows:
            raise InputError(f"y has {len(codes)} rows, but X has {rows}: give one label for each row of X")
        data = dict(features) if sensitive is None else _data.join(features, _data.groups(sensitive, rows))
        label = _data.free("y", data)
        data[label] = _data.texts(self._class_texts())[codes + 1]
        settings = self._settings(label)
        if weights is not None:
            settings["weight"] = _data.free("sample_weight", data)
            data[settings["weight"]] = _data.weights(weights, rows)
        unread = [name for name in data if name not in features and name not in (label, settings.get("weight"))]
        settings["ignore"] = unread + list(settings.get("ignore", []))
        settings["categorical"] = [name for name, values in data.items() if values.dtype.kind == "U" and name not in settings["ignore"]]
        return data, settings

    @checking(advice=ADVICE)
    def _columns(self, X: Any, reset: bool) -> _data.Columns:
        """Return the columns of X by their names in training. In training (`reset`), an array is one entry."""
        if _data.is_frame(X):
            found = _data.columns(X)
            validate_data(self, X, reset=reset, skip_check_array=True)
            return found
        finite = True if self.missing == "refuse" else "allow-nan"
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_all_finite=finite)
        X = X if isinstance(X, np.ndarray) else X.toarray()
        if reset:
            return {ARRAY: X}
        names = getattr(self, "feature_names_in_", None)
        return {f"{ARRAY}{i}" if names is None else str(names[i]): X[:, i] for i in range(X.shape[1])}

    def _class_texts(self) -> list[str]:
        return [str(c) for c in self.classes_]

    def _settings(self, label: str) -> dict[str, Any]:
        held = self.validation_fraction if self.validation_fraction is not None else (0.3 if self.confidence else 0.0)
        shares = (held, self.test_fraction)
        if not all(isinstance(s, Real) and s >= 0 for s in shares) or sum(shares) >= 1:
            raise InputError(f"validation_fraction {held!r} and test_fraction {self.test_fraction!r}: give numbers of at least 0 with a sum below 1")
        for name, choices in {"model": ("linear", "mlp"), "handle_unknown": ("error", "ignore")}.items():
            if getattr(self, name) not in choices:
                raise InputError(f"{name} {getattr(self, name)!r}: choose {choices[0]} or {choices[1]}")
        return {
            "label": label if len(self.classes_) > 2 else f"{label}={self._class_texts()[1]}",
            "subject-to": _data.bounds(self.subject_to),
            "minimize": self.minimize,
            "model": self.model,
            "hidden": self.hidden_layer_sizes,
            "activation": self.activation,
            "confidence": self.confidence,
            "split": "/".join(f"{100 * share:.6g}" for share in (1 - sum(shares), *shares)),
            "missing": self.missing,
            "missing-values": _data.NO_TEXT,
            "regularizer-weight": self.alpha,
            "iterations": self.max_iter,
            "seed": _data.seed(self.random_state),
            "device": self.device,
            "threads": None if self.n_jobs in (-1, 0) else self.n_jobs,
            "quiet": not self.verbose,
            **_data.further(self.settings),
        }

    def _take(self, run: Run) -> None:
        super()._take(run)
        summary = run.summary
        self.certificate_, self.n_iter_ = summary["certificate"], max(1, summary["iterations"])
        values = {text: i for i, text in enumerate(self._class_texts())}
        self._order = np.array([values[v] for v in run.model.values])  # of the run's classes in classes_

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self, "run_")
        return self.run_.model.scores(self._columns(X, reset=False), self.handle_unknown == "ignore")

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of rows.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_samples,) or, with three classes or more, (n_samples, n_classes)
            A score above 0 decides for the last of two classes; of several, the class with the largest score is chosen.
        """
        scores = self._scores(X)
        return scores if self.run_.model.binary else scores[:, np.argsort(self._order)]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_samples,)
            The decisions that the bounds apply to.
        """
        scores = self._scores(X)
        return np.asarray(self.classes_[self._order[self.run_.model.decide(scores)]])

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class.

        A bound may move the threshold, so that decisions change at a probability other than 0.5.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The columns have the order of `classes_`.

        Raises
        ------
        InputError
            If the run fitted no probabilities.
        """
        scores = self._scores(X)
        return self.run_.model.probabilities(scores)[:, np.argsort(self._order)]

    def save(self, path: str | Path) -> None:
        """Write the run to a new directory, which `load` and the command ``ppal`` read.

        Parameters
        ----------
        path : str or Path
            The directory, which must not exist.

        Raises
        ------
        FileExistsError
            If the directory exists.
        """
        check_is_fitted(self, "run_")
        shutil.copytree(self.run_.path, path)
        params = {k: v for k, v in self.get_params(deep=False).items() if not isinstance(v, np.random.RandomState)}
        names = getattr(self, "feature_names_in_", None)
        own = {"parameters": params, "classes": self.classes_.tolist(), "dtype": self.classes_.dtype.str, "n_features_in": self.n_features_in_}
        own["feature_names_in"] = None if names is None else names.tolist()
        (Path(path) / OWN_FILE).write_text(json.dumps(own))

    @classmethod
    def load(cls, path: str | Path) -> PpalClassifier:
        """Return the fitted estimator in the directory of a run: one of `save`, or of ``ppal train`` on a table.

        Parameters
        ----------
        path : str or Path
            The directory. Do not move it, because the estimator reads its files when it needs them.

        Raises
        ------
        RunError
            If the directory is not a run of a table that this version reads.
        """
        run = Run(Path(path))
        model = run.model
        if not (run.path / OWN_FILE).exists():
            self = cls()
            self.classes_ = np.array(model.values)
            columns = list(dict.fromkeys(e["column"] for e in model.encodings))
            self.n_features_in_ = len(columns)
            if columns != [f"{ARRAY}{i}" for i in range(len(columns))]:
                self.feature_names_in_ = np.array(columns, dtype=object)
        else:
            own = read_json(run.path / OWN_FILE)
            self = cls(**own["parameters"])
            self.classes_ = np.array(own["classes"], dtype=np.dtype(own["dtype"]) if own["dtype"] != "|O" else object)
            self.n_features_in_ = own["n_features_in"]
            if own["feature_names_in"] is not None:
                self.feature_names_in_ = np.array(own["feature_names_in"], dtype=object)
        if not set(model.values) <= set(self._class_texts()):
            raise RunError(f"{path}: its classes {model.values} are not those of {OWN_FILE}: copy the run again")
        self._take(run)
        return self
