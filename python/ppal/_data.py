"""Rows as columns of numbers and texts, and the file of arrays by which the program reads them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from ._errors import KEYWORDS, InputError, checking

Columns = dict[str, NDArray[Any]]
# The program takes these texts and empty ones for missing values. The package writes a missing text as "".
NO_TEXT = ["\uffff"]


def is_frame(X: Any) -> bool:
    """Report whether X is a data frame of pandas or polars."""
    return isinstance(X, pd.DataFrame) or (hasattr(X, "columns") and type(X).__module__.partition(".")[0] == "polars")


def columns(X: Any) -> Columns:
    """Return the columns of a data frame as arrays: numbers (NaN where missing), or texts ("" where missing).

    Categories, strings and booleans become texts, and numbers stay as they are. Dates and other objects are an `InputError`.
    """
    names = [str(name) for name in X.columns]
    if not len(X) or not names:
        raise InputError(f"X has the shape {X.shape}: found 0 rows or 0 columns, while a minimum of 1 is required")
    if len(set(names)) < len(names):
        raise InputError(f"two columns of X have the name {next(n for n in names if names.count(n) > 1)!r}: rename one")
    return {name: _column(name, X[key]) for name, key in zip(names, X.columns)}


def _column(name: str, series: Any) -> NDArray[Any]:
    """Return a series of pandas or polars as numbers or texts."""
    if not isinstance(series, pd.Series):
        numeric, boolean = series.dtype.is_numeric(), str(series.dtype) == "Boolean"
        series = pd.Series(series.to_numpy()) if numeric else pd.Series(series.to_list(), dtype="boolean" if boolean else None)
    kind = series.dtype
    if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind):
        if pd.api.types.is_complex_dtype(kind):
            raise InputError(f"column {name!r} has complex numbers: complex data not supported; give its parts as two columns")
        values = series.to_numpy(dtype=float, na_value=np.nan) if series.isna().any() else series.to_numpy()
        if values.dtype == object:
            values = values.astype(float)
        if values.dtype.kind == "f" and np.isinf(values).any():
            raise InputError(f"column {name!r} of X contains infinity: replace it by a number or by NaN (missing)")
        return np.asarray(values)
    if pd.api.types.is_datetime64_any_dtype(kind) or kind.kind == "m" or isinstance(kind, pd.PeriodDtype):
        raise InputError(f"column {name!r} has dates or times ({kind}): give numbers, such as days since a date, or drop it")
    try:
        codes, found = pd.factorize(series)
    except TypeError:  # lists and the like
        codes, found = np.zeros(len(series), int), series[:1]
    mixed = [v for v in found if not isinstance(v, (str, bool, np.bool_)) and not isinstance(kind, pd.CategoricalDtype)]
    if mixed:
        raise InputError(
            f"column {name!r} contains objects, such as {mixed[0]!r} ({type(mixed[0]).__name__}): make it numbers (pandas.to_numeric) or texts (astype(str))"
        )
    return np.asarray(texts([str(v) for v in found])[codes + 1])


def texts(values: list[str]) -> NDArray[np.str_]:
    """Return "" and the values as an array."""
    bad = next((v for v in values if "\0" in v), None)
    if bad is not None:
        raise InputError(f"the value {bad!r} has a zero character: remove it")
    return np.array(["", *values])


def groups(sensitive: Any, rows: int) -> Columns:
    """Return the sensitive features as columns. Arrays without names are called ``sensitive_feature_0``, ``sensitive_feature_1``, ..."""
    if isinstance(sensitive, Mapping):
        frame: Any = {str(k): v if hasattr(v, "dtype") else np.asarray(v) for k, v in sensitive.items()}
    elif is_frame(sensitive):
        frame = sensitive
    elif getattr(sensitive, "name", None) is not None:
        frame = {str(sensitive.name): sensitive}
    else:
        values = np.asarray(sensitive)
        frame = {f"sensitive_feature_{i}": v for i, v in enumerate(values.T if values.ndim == 2 else [values])}
    found = columns(frame) if is_frame(frame) else {name: _column(name, v if hasattr(v, "to_list") else pd.Series(v)) for name, v in frame.items()}
    for name, v in found.items():
        if len(v) != rows:
            raise InputError(f"sensitive_features has {len(v)} rows of {name!r}, want {rows}: give one value for each row")
    return found


@checking()
def labels(y: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the classes, in increasing order, and the index of the class of each row."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None")
    y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
    if pd.isna(y).any():
        raise InputError("Input y contains None: leave rows without a label out")
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"y has one class only, {classes.tolist()[0]!r}: give rows of two classes or more")
    return classes, codes


@checking("sample_weight: ")
def weights(values: Any, rows: int) -> NDArray[np.float64]:
    """Return the weights of the rows."""
    found = np.array(values, dtype=float)
    if found.ndim != 1:
        raise InputError("sample weights must be 1D array or scalar: give one number for each row of X")
    if len(found) != rows:
        raise InputError(f"sample_weight.shape == {found.shape}, expected {(rows,)}: give one number for each row of X")
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise InputError("sample_weight has a value that is negative or no number: weights are at least 0")
    if not found.any():
        raise InputError("every weight in sample_weight is zero: at least one row must count")
    return found


@checking("random_state: ")
def seed(random_state: Any) -> int:
    """Return the program's seed: 1 for None."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return 1 if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(1, 2**31))


def join(features: Columns, more: Columns) -> Columns:
    """Return one table with the columns of both. Equal columns with the same name become one column, and others are an `InputError`."""
    for name, values in more.items():
        if name in features and not np.array_equal(features[name].astype(str), values.astype(str)):
            raise InputError(f"sensitive_features and X have different columns called {name!r}: rename one")
    return {**features, **more}


def by_name(data: Any) -> Columns:
    """Return the columns of a frame, a dict of arrays or a .npz file. An array X of two dimensions is X0, X1, ..."""
    if isinstance(data, (str, Path)):
        try:
            data = dict(np.load(data))
        except (OSError, ValueError) as e:
            raise InputError(f"{data} is not a .npz file of arrays: {getattr(e, 'strerror', None) or e}") from e
    if is_frame(data):
        return columns(data)
    if not isinstance(data, Mapping):
        raise InputError(f"the data are of type {type(data).__name__}: give a frame, a dict of arrays, or the path of a .npz file")
    found: Columns = {}
    for name, a in data.items():
        found |= columns(pd.DataFrame(a).add_prefix(name) if np.ndim(a) > 1 else pd.DataFrame({name: a}))
    return found


def bounds(given: Any) -> list[str]:
    """Return the bounds in `subject_to`: a text or a sequence of texts."""
    found = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    for bound in found:
        if not isinstance(bound, str):
            raise InputError(f'subject_to has {bound!r}: give texts such as "gap(positive_rate, sex) <= 0.02"')
    return found


def free(name: str, taken: Columns) -> str:
    """Return the name, with underscores after it until no column has it."""
    while name in taken:
        name += "_"
    return name


def further(settings: Any) -> dict[str, Any]:
    """Return the user's `settings` of an estimator."""
    if not isinstance(settings or {}, Mapping):
        raise InputError(f'settings is {settings!r}: give a dict such as {{"regularizer": "l1"}}')
    for key in settings or {}:
        if key in ("file", "label", "out"):
            raise InputError(f"settings has the key {key}, which the estimator sets: leave it out")
        if key in KEYWORDS.values() and "_" in key:  # no flag has an underscore
            raise InputError(f"unknown setting {key}: give it as the keyword {key}")
    return dict(settings or {})


def store(folder: Path, data: Columns, settings: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Write rows and settings to a folder, and return the flags that name them, and the words that replace their paths in errors.

    The arrays are neither compressed nor copied. Settings that are None are left out.
    """
    file, config = folder / "data.npz", folder / "settings.json"
    given = {key: v for key, v in settings.items() if v is not None and not (isinstance(v, list) and not v)}
    config.write_text(json.dumps({**given, "file": str(file)}, default=_plain))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in data.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return ["--config", str(config)], {str(config): "the settings", str(file): "the data"}


def _plain(value: Any) -> Any:
    """Return a number or an array of NumPy, or a sequence, as JSON writes it."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, Iterable):
        return list(value)
    raise InputError(f"a setting is {value!r}: give numbers, texts, or lists of them")
