"""Rows as columns of numbers and texts, and the file of arrays by which the program reads them."""

import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from ._errors import KEYWORDS, InputError, checking

Columns = dict[str, NDArray[Any]]
# The program takes these texts and empty ones for missing values. The package writes a missing text as "".
NO_TEXT = ["\uffff"]


def is_frame(X: Any) -> bool:
    """Report whether X is a data frame of pandas or polars."""
    return isinstance(X, pd.DataFrame) or (hasattr(X, "columns") and _of_polars(X))


def _of_polars(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "polars"


def columns(data: Any) -> Columns:
    """Return the columns of a frame or of a dict of arrays as numbers (NaN where missing) or texts ("" where missing).

    Categories, strings and booleans become texts, and numbers stay as they are. Dates and other objects are an `InputError`. An array X of two
    dimensions is X0, X1, ...
    """
    if not is_frame(data) and not isinstance(data, Mapping):
        raise InputError(f"the data are of type {type(data).__name__}: give a frame or a dict of arrays")
    keys = list(data.columns if is_frame(data) else data)
    names = [str(key) for key in keys]
    if len(set(names)) < len(names):
        raise InputError(f"two columns have the name {next(n for n in names if names.count(n) > 1)!r}: rename one")
    if "" in names:
        raise InputError("a column has an empty name: rename it")
    found: Columns = {}
    for name, values in zip(names, map(data.__getitem__, keys)):
        several = getattr(values, "ndim", 1) > 1
        found |= {f"{name}{i}": _column(f"{name}{i}", v) for i, v in enumerate(values.T)} if several else {name: _column(name, values)}
    if not found or not len(next(iter(found.values()))):
        raise InputError("found 0 rows or 0 columns, while a minimum of 1 is required: give a table with rows")
    return found


def _column(name: str, values: Any) -> NDArray[Any]:
    """Return a series of pandas or polars, an array or a list as numbers or texts."""
    if _of_polars(values):
        values = values.to_numpy() if values.dtype.is_numeric() else values.to_list()
    series = pd.Series(values)
    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
        numbers = series.to_numpy()
        if numbers.dtype == object:  # with pandas's own missing values
            numbers = series.to_numpy(dtype=float, na_value=np.nan)
        if numbers.dtype.kind == "f" and np.isinf(numbers).any():
            raise InputError(f"column {name!r} contains infinity: replace it by a number or by NaN (missing)")
        return np.asarray(numbers)
    try:
        codes, found = pd.factorize(series)
    except TypeError:  # lists and the like
        codes, found = np.zeros(len(series), int), series[:1]
    objects = [v for v in found if not isinstance(v, (str, bool, np.bool_))]
    if objects and not isinstance(series.dtype, pd.CategoricalDtype):
        kind = type(objects[0]).__name__
        raise InputError(f"column {name!r} contains objects, such as {objects[0]!r} ({kind}): make it numbers (pandas.to_numeric) or texts (astype(str))")
    return np.asarray(texts(str(v) for v in found)[codes])


def texts(values: Iterable[str]) -> NDArray[np.str_]:
    """Return the values, and "" at the index -1, which stands for a missing value."""
    return np.array([*values, ""])


@checking("sensitive_features: ")
def groups(sensitive: Any, rows: int) -> Columns:
    """Return the sensitive features as columns. Arrays without names are called ``sensitive_feature_0``, ``sensitive_feature_1``, ..."""
    if sensitive is None:
        return {}
    if not is_frame(sensitive) and not isinstance(sensitive, Mapping):
        name = getattr(sensitive, "name", None)
        sensitive = {"sensitive_feature_": np.column_stack([sensitive])} if name is None else {name: sensitive}
    found = columns(sensitive)
    for name, column in found.items():
        if len(column) != rows:
            raise InputError(f"sensitive_features has {len(column)} rows of {name!r}, want {rows}: give one value for each row")
    return found


@checking()
def labels(y: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the classes, in increasing order, and the index of the class of each row."""
    y = column_or_1d(y, warn=True)
    if pd.isna(y).any():
        raise InputError("Input y contains NaN or None: leave rows without a label out")
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"y has at most one class, {classes.tolist()}: give rows of two classes or more")
    return classes, codes


@checking("sample_weight: ")
def weights(values: Any, rows: int) -> NDArray[np.float64] | None:
    """Return the weights of the rows, if there are any."""
    return None if values is None else np.asarray(_check_sample_weight(values, np.empty(rows), dtype=float, ensure_non_negative=True))


@checking("random_state: ")
def seed(random_state: Any) -> int:
    """Return the program's seed: 1 for None."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return 1 if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(1, 2**31))


def training(estimator: BaseEstimator, data: Columns, classes: Sequence[str], codes: NDArray[np.intp], weights: Any) -> tuple[Columns, dict[str, Any]]:
    """Return the data with columns of labels and weights, and the settings that name these columns or are keywords of the estimator.

    Parameters
    ----------
    estimator : estimator
        Its keywords become settings by the names of `KEYWORDS`.
    data : dict of arrays
        Features and groups.
    classes, codes : sequence of str, array of shape (n_samples,)
        The classes, and the index of the class of each row. The last of two is the positive class.
    weights : array of shape (n_samples,), optional
        As `weights` returns them.
    """
    label, weight = _free("y", data), _free("sample_weight", data)
    data = {**data, label: texts(classes)[codes]}
    given = estimator.get_params(deep=False)
    settings = {key: given[name] for key, name in KEYWORDS.items() if name in given}
    settings["label"] = label if len(classes) > 2 else f"{label}={classes[1]}"
    if weights is not None:
        data[weight], settings["weight"] = weights, weight
    return data, settings


def _free(name: str, taken: Columns) -> str:
    """Return the name, with underscores after it until no column has it."""
    while name in taken:
        name += "_"
    return name


def join(features: Columns, more: Columns) -> Columns:
    """Return one table with the columns of both. Equal columns with the same name become one column, and others are an `InputError`."""
    for name, values in more.items():
        if name in features and not np.array_equal(features[name].astype(str), values.astype(str)):
            raise InputError(f"sensitive_features and X have different columns called {name!r}: rename one")
    return {**features, **more}


def further(settings: Any) -> dict[str, Any]:
    """Return the user's `settings` of an estimator."""
    if not isinstance(settings or {}, Mapping):
        raise InputError(f'settings is {settings!r}: give a dict such as {{"regularizer": "l1"}}')
    for key in settings or {}:
        if key in ("file", "label", "out"):
            positive = " (the positive class is the last of two in order: rename the classes for another one)" if key == "label" else ""
            raise InputError(f"settings has the key {key}, which the estimator sets{positive}: leave it out")
        if key in KEYWORDS.values() and key not in (*KEYWORDS, "alpha"):  # PPALA has a setting alpha
            raise InputError(f"unknown setting {key}: give it as the keyword {key}")
    return dict(settings or {})


def store(folder: Path, data: Columns, settings: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Write rows and settings to a folder, and return the flags that name them, and the words that replace their paths in errors.

    The arrays are neither compressed nor copied. Settings that are None or empty are left out.
    """
    file, config = folder / "data.npz", folder / "settings.json"
    given = {key: v for key, v in settings.items() if v is not None and not (isinstance(v, (list, tuple)) and not v)}
    config.write_text(json.dumps({**given, "file": str(file)}, default=plain))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in data.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as member:
                np.save(member, array, allow_pickle=False)
    return ["--config", str(config)], {str(config): "the settings", str(file): "the data"}


def plain(value: Any) -> Any:
    """Return a number or an array of NumPy, or a sequence, as JSON writes it."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, Iterable):
        return list(value)
    raise InputError(f"a setting is {value!r}: give numbers, texts, or lists of them")
