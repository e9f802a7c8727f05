"""The directory of a run: its results as tables, and its model in NumPy."""

from __future__ import annotations

import io
import json
import shutil
import struct
import tempfile
import weakref
import zipfile
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray

from ._data import Columns
from ._errors import InputError, RunError

Floats = NDArray[np.float64]
SCHEMA = 2  # of model.json
BLOCK = 65536  # rows that are scored together, which bounds the memory


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file of a run.

    Raises
    ------
    RunError
        If the file does not exist or is not JSON.
    """
    try:
        return dict(json.loads(path.read_bytes()))
    except (OSError, ValueError) as e:
        raise RunError(f"{path}: {e}: give the directory of a finished run of ppal") from e


def read_weights(path: Path) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Read a safetensors file.

    Returns
    -------
    weights : dict of str to ndarray
        The weights by PyTorch's names, in float64.
    model : dict
        The model's shape: inputs, hidden, outputs, activation, heads.

    Raises
    ------
    RunError
        If the file is not complete.
    """
    raw = path.read_bytes()
    if len(raw) < 8 or struct.unpack("<Q", raw[:8])[0] > len(raw) - 8:
        raise RunError(f"{path} is not a whole safetensors file: copy the run again")
    length = 8 + struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:length])
    model = json.loads(head.pop("__metadata__", {}).get("model", "{}"))
    weights = {}
    for name, entry in head.items():
        first, last = entry["data_offsets"]
        kind = {"F32": "<f4", "F64": "<f8"}[entry["dtype"]]
        weights[name] = np.frombuffer(raw[length + first : length + last], kind).reshape(entry["shape"]).astype(float)
    return weights, model


def temporary(owner: object) -> Path:
    """Make a folder that is removed with its owner."""
    folder = tempfile.mkdtemp(prefix="ppal-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


class Run:
    """The directory of a run. A pickle contains the files of the directory.

    Parameters
    ----------
    path : Path, optional
        An existing directory. The default is a new temporary directory, which is removed with this object.

    Attributes
    ----------
    path : Path
        The directory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or temporary(self) / "run"
        self._model: Model | None = None

    def __getstate__(self) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for file in sorted(self.path.rglob("*")):
                if file.is_file():
                    archive.write(file, file.relative_to(self.path))
        return out.getvalue()

    def __setstate__(self, state: bytes) -> None:
        self.__init__()  # type: ignore[misc]
        with zipfile.ZipFile(io.BytesIO(state)) as archive:
            archive.extractall(self.path)

    @property
    def summary(self) -> dict[str, Any]:
        """The content of summary.json."""
        return read_json(self.path / "summary.json")

    @property
    def model(self) -> Model:
        """The model, read once."""
        if self._model is None:
            self._model = Model(self.path)
        return self._model

    def rates(self) -> pd.DataFrame:
        """Return the rates of decisions: a row for each split, group and rate, with value, interval (95%) and rows."""
        found = []
        for split, part in self.summary.get("rates", {}).items():
            for group in [{"group": "all rows", "rates": part["overall"]}, *part.get("by_group", [])]:
                for rate, r in group["rates"].items():
                    low, high = r.get("interval") or (np.nan, np.nan)
                    found.append((split, group["group"], rate, r["value"], low, high, r["rows"]))
        table = pd.DataFrame(found, columns=["split", "group", "rate", "value", "low", "high", "rows"])
        return table.set_index(["split", "group", "rate"])

    def constraints(self) -> pd.DataFrame:
        """Return a row for each constraint: its bound, its value by split, tolerance, met, state, promise and interval (95%)."""
        keys = ["bound", "train", "validation", "test", "tolerance", "met", "state", "promise", "interval"]
        found = self.summary.get("decisions", [])
        return pd.DataFrame([[d.get(k) for k in keys] for d in found], columns=keys, index=pd.Index([d["constraint"] for d in found], name="constraint"))

    def copy(self, path: Path) -> None:
        """Copy the directory to a new one."""
        shutil.copytree(self.path, path)


class Page:
    """A page that a notebook shows: the report of a run or of a sweep.

    Attributes
    ----------
    path : Path
        Its file, which any browser opens.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._text = path.read_text(encoding="utf-8")

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self._text)}" width="100%" height="700" frameborder="0"></iframe>'


class Model:
    """The model of a run, in float64: encodings of columns, layers, the rule of decision.

    Parameters
    ----------
    path : Path
        A run's directory.

    Raises
    ------
    RunError
        If the directory is not a run of a table that this version reads.
    """

    def __init__(self, path: Path) -> None:
        self.description = read_json(path / "model.json")
        schema, how = self.description.get("schema"), self.description.get("input", {})
        if schema != SCHEMA:
            raise RunError(f"{path} has schema {schema} of model.json, and this version reads {SCHEMA}: use the version of ppal that trained it")
        if how.get("format") != "text":
            raise RunError(f"{path} is a run of {how.get('format')}, not of a table: score its rows with the command ppal predict")
        # Every value is a text: YAML's own types would change or refuse categories such as 1:30 and =.
        preparation = yaml.load((path / how["preparation"]).read_text(encoding="utf-8"), yaml.BaseLoader)
        self.encodings: list[dict[str, Any]] = preparation["encodings"]
        self.absent = set(preparation.get("absent", [""]))
        dates = [e["column"] for e in self.encodings if "date" in e]
        if dates:
            raise RunError(f"{path} expands the dates of {dates[0]}: score its rows with the command ppal predict")
        self.weights, self.shape = read_weights(path / self.description["weights"])
        decision = self.description["decision"]
        self.binary = decision["rule"] == "sign"
        self.values = [str(c["value"]) for c in decision["classes"]]
        self.probability = decision.get("probability") or decision.get("probabilities")

    def scores(self, rows: Columns, ignore_unknown: bool = False) -> Floats:
        """Return the scores of rows.

        Parameters
        ----------
        rows : dict of str to ndarray of shape (rows,)
            The columns that the model uses, and perhaps others.
        ignore_unknown : bool
            Whether a category that training did not have sets no indicator, instead of being an error.

        Returns
        -------
        ndarray of shape (rows,) or, with three classes or more, (rows, classes)
        """
        absent = [e["column"] for e in self.encodings if e["column"] not in rows]
        if absent:
            raise InputError(f"X has no column {absent[0]!r}, which the model uses")
        n = len(next(iter(rows.values())))
        parts = [self._outputs(self.features({k: v[i : i + BLOCK] for k, v in rows.items()}, ignore_unknown)) for i in range(0, n, BLOCK)]
        return np.concatenate(parts)

    def features(self, rows: Columns, ignore_unknown: bool = False) -> Floats:
        """Return the inputs of the first layer: shape (rows, features)."""
        found: list[NDArray[Any]] = []
        for e in self.encodings:
            name, values = e["column"], rows[e["column"]]
            if "categories" in e:
                text = values.astype(str)
                missing = np.isin(text, list(self.absent))
                unknown = ~(missing | np.isin(text, e["categories"]))
                if unknown.any() and not ignore_unknown:
                    raise InputError(f'column {name!r} has the unknown category {str(text[unknown][0])!r}: correct it, or use handle_unknown="ignore"')
                found += [(text == level) & ~missing for level in e.get("levels", e["categories"])]
            else:
                if values.dtype.kind in "US":
                    raise InputError(f"column {name!r} has texts such as {str(values[0])!r}, but training had numbers: make it numbers (pandas.to_numeric)")
                number = values.astype(float)
                missing = np.isnan(number)
                found.append(np.where(missing, 0, (number - float(e.get("center", 0))) / float(e["scale"])))
            if "missing" in e:
                found.append(missing)
            elif missing.any():
                raise InputError(f"column {name!r} contains NaN (missing values), but it had none in training: fill them in")
        return np.column_stack(found).astype(float)

    def layers(self) -> list[str]:
        """Return the names of the layers, from the first to the last."""
        count = len(self.shape.get("hidden") or [])
        if not count:
            return ["linear"]
        return [*(["hidden"] if count == 1 else [f"hidden.{i}" for i in range(count)]), "output"]

    def _outputs(self, x: Floats) -> Floats:
        for name in self.layers():
            x = x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]
            if name.startswith("hidden"):
                x = activate(self.shape["activation"], x)
        return x[:, 0] if self.binary else x

    def decide(self, scores: Floats) -> NDArray[np.intp]:
        """Return the index of each row's class in `values`."""
        return (scores > 0).astype(np.intp) if self.binary else scores.argmax(axis=1)

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of each class, by the sigmoid or softmax that the run fitted: shape (rows, classes)."""
        if self.probability is None:
            raise InputError("the run has no probabilities, because its scores do not separate the classes: use decision_function")
        if self.binary:
            z = self.probability["slope"] * scores + self.probability["intercept"]
            scores = np.column_stack([np.zeros_like(z), z])
        else:
            scores = self.probability["slope"] * scores + np.array(self.probability["intercepts"])
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(p / p.sum(axis=1, keepdims=True))


def activate(name: str, z: Floats) -> Floats:
    """Apply an activation: relu, tanh, sigmoid, leaky-relu or softplus."""
    if name in ("relu", "leaky-relu"):
        return np.maximum(z, 0 if name == "relu" else 0.01 * z)
    if name == "softplus":
        return np.logaddexp(0, z)
    return np.tanh(z) if name == "tanh" else 0.5 * (1 + np.tanh(z / 2))
