"""The estimator `PpalClassifier`."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _data
from ._errors import KEYWORDS, InputError, NotConvergedWarning, RunError, checking, in_python
from ._program import progress
from ._run import Fitted, Floats, Run, changed, read

ARRAY = "X"  # the name of the features of an array: X0, X1, ...
OWN_FILE = "estimator.json"  # what Python adds to a saved run
ADVICE = {
    "contains NaN": 'fill in the missing values, or use missing="impute"',
    "could not convert": "give a DataFrame, whose columns may be texts",
    "not compatible with arrays of bytes": "give a DataFrame, whose columns may be texts",
    "Complex data not supported": "give real numbers",
    "Expected 2D array": "Reshape your data, as in X.reshape(-1, 1) for one feature",
}


@dataclass(eq=False, repr=False)
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

    subject_to: str | Sequence[str] = ()
    _: KW_ONLY
    minimize: str | None = None
    model: Literal["linear", "mlp"] = "linear"
    hidden_layer_sizes: Sequence[int] | None = None
    activation: str | None = None
    confidence: float | None = None
    validation_fraction: float | None = None
    test_fraction: float = 0.0
    missing: str = "refuse"
    handle_unknown: Literal["error", "ignore"] = "error"
    alpha: float | None = None
    max_iter: int = 1000
    random_state: int | np.random.RandomState | None = None
    device: str = "auto"
    n_jobs: int | None = None
    settings: Mapping[str, Any] | None = None
    verbose: bool = False

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
        data, settings = self._prepare(X, y, sensitive_features, sample_weight)
        with progress(self.verbose) as report:
            self._train(data, settings, report)
        summary = self.run_.summary
        if not summary.get("converged", True):
            warnings.warn(in_python(summary.get("verdict") or f"not converged: {summary['status']}"), NotConvergedWarning, stacklevel=2)
        return self

    def _prepare(self, X: Any, y: Any, sensitive: Any, weights: Any = None) -> tuple[_data.Columns, dict[str, Any]]:
        """Return the rows and the settings of a training, and set the classes."""
        features = self._columns(X, reset=True)
        rows = len(next(iter(features.values())))
        self.classes_, codes = _data.labels(y)
        if len(codes) != rows:
            raise InputError(f"y has {len(codes)} rows, but X has {rows}: give one label for each row of X")
        table = _data.join(features, _data.groups(sensitive, rows))
        data, settings = _data.training(self, table, self._class_texts(), codes, _data.weights(weights, rows))
        held = self.validation_fraction if self.validation_fraction is not None else (0.3 if self.confidence else 0.0)
        shares = (held, self.test_fraction)
        if not all(isinstance(s, Real) and s >= 0 for s in shares) or sum(shares) >= 1:
            raise InputError(f"validation_fraction {held!r} and test_fraction {self.test_fraction!r}: give numbers of at least 0 with a sum below 1")
        if self.handle_unknown not in ("error", "ignore"):
            raise InputError(f"handle_unknown {self.handle_unknown!r}: choose error or ignore")
        settings |= {
            "split": "/".join(f"{100 * share:.6g}" for share in (1 - sum(shares), *shares)),
            "missing-values": _data.NO_TEXT,
            "unknown": None,  # of predict alone
            "seed": _data.seed(self.random_state),
            "threads": None if self.n_jobs in (-1, 0) else self.n_jobs,
            "quiet": not self.verbose,
            **_data.further(self.settings),
        }
        settings["ignore"] = [*(name for name in table if name not in features), *settings.get("ignore", [])]
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

    def _take(self, run: Run) -> None:
        super()._take(run)
        self.certificate_, self.n_iter_ = run.summary["certificate"], max(1, run.summary["iterations"])
        self._order = np.array([self._class_texts().index(v) for v in run.model.values])  # of the run's classes in classes_

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
        params = self.get_params(deep=False)
        if isinstance(self.random_state, np.random.RandomState):
            params["random_state"] = int(read(self.run_.path / "config.yaml")["seed"])
        names = getattr(self, "feature_names_in_", None)
        own = {"parameters": params, "classes": self.classes_.tolist(), "dtype": self.classes_.dtype.str, "n_features_in": self.n_features_in_}
        own["feature_names_in"] = None if names is None else names.tolist()
        (Path(path) / OWN_FILE).write_text(json.dumps(own, default=_data.plain))

    @classmethod
    def load(cls, path: str | Path) -> PpalClassifier:
        """Return the fitted estimator in the directory of a run: one of `save`, or of ``ppal train`` on a table.

        The parameters are those of the training, so that a clone trains by the same bounds and settings.

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
        for name in changed(run.path, read(run.path / "model.json").get("files", {})):
            raise RunError(f"{path}: the file {name} has been changed or removed: copy the run again")
        own = read(run.path / OWN_FILE) if (run.path / OWN_FILE).exists() else _of_command(run)
        try:
            self = cls(**own["parameters"])
            self.classes_ = np.array(own["classes"], dtype=own["dtype"])
            self.n_features_in_ = own["n_features_in"]
            if own["feature_names_in"] is not None:
                self.feature_names_in_ = np.array(own["feature_names_in"], dtype=object)
            self._take(run)
        except RunError:  # it names its file
            raise
        except (KeyError, TypeError, ValueError) as e:
            raise RunError(f"{path}: {OWN_FILE} or summary.json is of another run or version ({e}): copy the run again") from e
        return self


def _of_command(run: Run) -> dict[str, Any]:
    """Return the content of OWN_FILE for a run of ``ppal train``: the settings of config.yaml, but without those of its table."""
    description = run.model.description
    if description["task"] != "rates" or description["decision"]["rule"] == "rank" or description["kind"] == "scores":
        raise RunError(f"{run.path} is a run of rankings, of scores, or of bounds that PpalClassifier does not have: score its rows with the command ppal predict")
    config = {key: _numbers(value) for key, value in read(run.path / "config.yaml").items()}
    names = list(dict.fromkeys(e["column"] for e in run.model.encodings))
    classes = _numbers(run.model.values)
    _, validation, test = (float(share) / 100 for share in config["split"].split("/"))
    params: dict[str, Any] = {"subject_to": description["constraints"], "validation_fraction": validation, "test_fraction": test}
    further = {}
    for key in list(config)[list(config).index("model") :]:  # the settings of the table stand before it
        if key in KEYWORDS:
            params.setdefault(KEYWORDS[key], config[key])
        elif key not in ("provenance", "quiet"):
            further[key] = config[key]
    if len(classes) == 2 and classes != sorted(classes):
        further["label"] = config["label"]  # no fit accepts it, because its positive class would be the other one
    arrays = names == [f"{ARRAY}{i}" for i in range(len(names))]
    return {
        "parameters": {**params, "missing": config.get("missing", "refuse"), "settings": further},
        "classes": classes,
        "dtype": None,
        "n_features_in": len(names),
        "feature_names_in": None if arrays else names,
    }


def _numbers(values: Any) -> Any:
    """Return texts as numbers if all are numbers, as pandas reads a column of a file."""
    try:
        return np.asarray(pd.to_numeric(values)).tolist()
    except ValueError:
        return values
