"""Writes rows for the program: a file of arrays, whose types tell numbers from categories."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ._errors import InputError

Columns = dict[str, NDArray[Any]]
# The program takes these texts and empty ones for missing values. The package writes a missing text as "".
NO_TEXT = ["\uffff"]


def is_frame(X: Any) -> bool:
    """Report whether X is a data frame of pandas or polars."""
    return isinstance(X, pd.DataFrame) or (hasattr(X, "columns") and type(X).__module__.partition(".")[0] == "polars")


def columns(X: Any) -> Columns:
    """Return the columns of a data frame as arrays: numbers (NaN where missing), or texts ("" where missing).

    Categories, strings and booleans become texts, and numbers stay as they are.

    Parameters
    ----------
    X : pandas.DataFrame or polars.DataFrame of shape (rows, columns)

    Returns
    -------
    dict of str to ndarray of shape (rows,)

    Raises
    ------
    InputError
        If there are no rows or columns, if two columns have the same name, or if a column has dates or values of several types.
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
        series = pd.Series(series.to_numpy()) if numeric else pd.Series(series.to_list(), dtype="boolean" if boolean else object)
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
    if pd.api.types.is_datetime64_any_dtype(kind) or kind.kind == "m":
        raise InputError(f"column {name!r} has dates ({kind}): give numbers, such as days since a date, or drop it")
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
    """Return the sensitive features as columns.

    Parameters
    ----------
    sensitive : Series, DataFrame, dict of arrays, or array of shape (rows,) or (rows, features)
        Arrays without names are called ``sensitive_feature_0``, ``sensitive_feature_1``, ...
    rows : int
        The number of rows of X.

    Returns
    -------
    dict of str to ndarray of shape (rows,)

    Raises
    ------
    InputError
        If the number of rows differs, or as in `columns`.
    """
    if isinstance(sensitive, Mapping):
        frame: Any = {str(k): v if hasattr(v, "dtype") else np.asarray(v) for k, v in sensitive.items()}
        lengths = {name: len(v) for name, v in frame.items()}
    elif is_frame(sensitive):
        frame, lengths = sensitive, {"sensitive_features": len(sensitive)}
    else:
        name = getattr(sensitive, "name", None)
        values = sensitive if name is not None else np.asarray(sensitive)
        if getattr(values, "ndim", 1) == 2:
            frame = {f"sensitive_feature_{i}": values[:, i] for i in range(values.shape[1])}
        else:
            frame = {"sensitive_feature_0" if name is None else str(name): values}
        lengths = {"sensitive_features": len(values)}
    for name, n in lengths.items():
        if n != rows:
            raise InputError(f"{name} has {n} rows, but X has {rows}: give one value for each row of X")
    if is_frame(frame):
        return columns(frame)
    return {name: _column(name, v if hasattr(v, "to_list") else pd.Series(v)) for name, v in frame.items()}


def weights(values: Any, rows: int) -> NDArray[np.float64]:
    """Return the weights of the rows.

    Raises
    ------
    InputError
        If the number of weights differs, or a weight is negative or no number.
    """
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


def join(features: Columns, more: Columns) -> Columns:
    """Return one table with the columns of both. Equal columns with the same name become one column.

    Raises
    ------
    InputError
        If two different columns have the same name.
    """
    for name, values in more.items():
        if name in features and not np.array_equal(features[name].astype(str), values.astype(str)):
            raise InputError(f"sensitive_features and X have different columns called {name!r}: rename one")
    return {**features, **more}


def by_name(data: Any) -> Columns:
    """Return the columns of a frame, a dict of arrays or a .npz file. An array X of two dimensions is X0, X1, ..."""
    if isinstance(data, (str, Path)):
        data = dict(np.load(data))
    if is_frame(data):
        return columns(data)
    found: Columns = {}
    for name, a in data.items():
        found |= columns(pd.DataFrame(a).add_prefix(name) if np.ndim(a) > 1 else pd.DataFrame({name: a}))
    return found


class Named(dict[str, NDArray[Any]]):
    """Columns by name. A column that is not there is an `InputError`."""

    def __missing__(self, name: str) -> NDArray[Any]:
        raise InputError(f"the data have no column {name!r}, which the run uses: give the run's table, with its label and groups")


def chosen(data: Any, rows: NDArray[np.intp]) -> Named:
    """Return these rows of the columns of `by_name`."""
    found = by_name(data)
    count = min(map(len, found.values()), default=0)
    if count <= rows.max():
        raise InputError(f"the data have {count} rows, but the run has used row {rows.max() + 1}: give the run's table, in the order of training")
    return Named({name: column[rows] for name, column in found.items()})


def bounds(given: Any) -> list[str]:
    """Return the bounds in `subject_to`.

    Raises
    ------
    InputError
        If it is neither a text nor a sequence of texts.
    """
    found = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    wrong = next((b for b in found if not isinstance(b, str)), None)
    if wrong is not None:
        raise InputError(f"subject_to has {wrong!r}: give texts such as \"gap(positive_rate, sex) <= 0.02\"")
    return found


def free(name: str, taken: Columns) -> str:
    """Return the name, with underscores after it until no column has it."""
    while name in taken:
        name += "_"
    return name


def write(path: Path, arrays: Columns) -> None:
    """Write the arrays to an archive of NumPy, without compression and without copies."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
