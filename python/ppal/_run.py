"""The directory of a run: its results as tables, and its model in NumPy."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import warnings
import weakref
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Callable, NamedTuple

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from ._data import Columns
from ._errors import InputError, RunError, ViolationWarning
from ._program import Report, start

Floats = NDArray[np.float64]
SCHEMA = 2  # of model.json
BLOCK = 65536  # rows that are scored together, which bounds the memory


def read(path: Path) -> Any:
    """Read a JSON, YAML or safetensors file of a run. A `RunError` if the file is absent or damaged."""
    try:
        raw = path.read_bytes()
        if path.suffix == ".yaml":  # every value as a text: YAML's own types would change or refuse categories such as 1:30 and =
            return yaml.load(raw, getattr(yaml, "CBaseLoader", yaml.BaseLoader))
        return _weights(raw) if path.suffix == ".safetensors" else json.loads(raw)
    except (OSError, ValueError, KeyError, yaml.YAMLError) as e:
        raise RunError(f"{path}: {getattr(e, 'strerror', None) or e}: give the directory of a finished run of ppal") from e


def changed(path: Path, checksums: dict[str, str]) -> list[str]:
    """Return the files of a run that have been changed or removed since the program wrote their checksums."""
    now = {name: hashlib.sha256((path / name).read_bytes()).hexdigest() for name in checksums if (path / name).is_file()}
    return [name for name, checksum in checksums.items() if now.get(name) != checksum]


def _weights(raw: bytes) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Read safetensors: the weights by PyTorch's names, and the model's shape (inputs, hidden, outputs, activation, heads)."""
    begin = 8 + int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8:begin])
    model = json.loads(head.pop("__metadata__", {}).get("model", "{}"))
    weights = {}
    for name, entry in head.items():
        first, last = entry["data_offsets"]
        kind = {"F32": "<f4", "F64": "<f8"}[entry["dtype"]]
        weights[name] = np.frombuffer(raw[begin + first : begin + last], kind).reshape(entry["shape"]).astype(float)
    return weights, model


class Run:
    """The directory of a run, at `path`: by default a temporary one, which is removed with this object. A pickle contains its files."""

    def __init__(self, path: Path | None = None) -> None:
        if path is None:
            folder = tempfile.mkdtemp(prefix="ppal-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            path = Path(folder, "run")
        self.path = path

    def __getstate__(self) -> dict[str, bytes]:
        return {file.relative_to(self.path).as_posix(): file.read_bytes() for file in sorted(self.path.rglob("*")) if file.is_file()}

    def __setstate__(self, state: dict[str, bytes]) -> None:
        self.__init__()  # type: ignore[misc]
        for name, content in state.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_bytes(content)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of summary.json."""
        return dict(read(self.path / "summary.json"))

    @cached_property
    def model(self) -> Model:
        """The model."""
        return Model(self.path)

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


class Page:
    """A page that a notebook shows: the report of a run or of a sweep. Any browser opens its file, `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._text = path.read_text(encoding="utf-8")

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self._text)}" width="100%" height="700" frameborder="0"></iframe>'


class Fitted:
    """The results of a run as attributes of an estimator."""

    run_: Run

    def _train(self, data: Columns, settings: dict[str, Any], report: Report | None = None) -> None:
        """Train in a new directory, and take its results, after Ctrl-C also."""
        run = Run()
        try:
            unmet = start("train", data, settings, run.path, "--log-format", "json", report=report)
        except KeyboardInterrupt:
            if (run.path / "summary.json").exists() and (run.path / "model.json").exists():
                self._take(run)
            raise
        self._take(run)
        if unmet:
            warnings.warn(unmet, ViolationWarning, stacklevel=3)

    def _take(self, run: Run) -> None:
        self.run_, self.rates_, self.constraints_ = run, run.rates(), run.constraints()

    def report(self) -> Page:
        """Return the page of the run, which a notebook shows."""
        check_is_fitted(self, "run_")
        return Page(self.run_.path / "report.html")


class Model:
    """The model of a run, in float64: encodings of columns, layers, the rule of decision. A `RunError` if it is of no table or another version."""

    def __init__(self, path: Path) -> None:
        self.description = read(path / "model.json")
        schema, how, decision = self.description.get("schema"), self.description.get("input", {}), self.description.get("decision", {})
        if schema != SCHEMA:
            raise RunError(f"{path} has schema {schema} of model.json, and this version reads {SCHEMA}: use the version of ppal that trained it")
        if how.get("format") != "text":
            raise RunError(f"{path} is a run of {how.get('format')}, not of a table: score its rows with the command ppal predict")
        preparation = read(path / how["preparation"])
        self.encodings: list[dict[str, Any]] = preparation["encodings"]
        self.absent = preparation.get("absent", [""])
        dates = [e["column"] for e in self.encodings if "date" in e]
        if dates:
            raise RunError(f"{path} expands the dates of {dates[0]}: score its rows with the command ppal predict")
        self.binary = decision["rule"] == "sign"
        self.values = [str(c["value"]) for c in decision["classes"]]
        self.probability = decision.get("probability") or decision.get("probabilities")
        weights, shape = read(path / self.description["weights"])
        hidden = len(shape.get("hidden") or [])
        self.layers = [*(["hidden"] if hidden == 1 else [f"hidden.{i}" for i in range(hidden)]), "output" if hidden else "linear"]
        self.network = Network([(weights[name + ".weight"], weights[name + ".bias"]) for name in self.layers], shape["activation"])

    def scores(self, rows: Columns, ignore_unknown: bool = False) -> Floats:
        """Return the scores of rows: shape (rows,), or (rows, classes) for three classes or more.

        `rows` may have more columns than the model uses. With `ignore_unknown`, a category that training did not have sets no indicator.
        """
        absent = [e["column"] for e in self.encodings if e["column"] not in rows]
        if absent:
            raise InputError(f"X and sensitive_features have no column {absent[0]!r}, which the model uses: give it")
        blocks = range(0, len(next(iter(rows.values()))), BLOCK)
        features = (self.features({k: v[i : i + BLOCK] for k, v in rows.items()}, ignore_unknown) for i in blocks)
        scores = np.concatenate([self.network.forward(x)[-1] for x in features])
        return scores[:, 0] if self.binary else scores

    def features(self, rows: Columns, ignore_unknown: bool = False) -> Floats:
        """Return the inputs of the first layer: shape (rows, features)."""
        found: list[NDArray[Any]] = []
        for e in self.encodings:
            name, values = e["column"], rows[e["column"]]
            if "categories" in e:
                text = values.astype(str)
                missing = np.isin(text, self.absent)
                unknown = ~(missing | np.isin(text, e["categories"]))
                if unknown.any() and not ignore_unknown:
                    raise InputError(
                        f'column {name!r} has the unknown category {str(text[unknown][0])!r}: correct it, or let PpalClassifier ignore it (handle_unknown="ignore")'
                    )
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
        return np.asarray(softmax(scores, axis=1))


ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "relu": lambda z: np.maximum(z, 0),
    "leaky-relu": lambda z: np.maximum(z, 0.01 * z),
    "softplus": lambda z: np.logaddexp(0, z),
    "tanh": np.tanh,
    "sigmoid": lambda z: 0.5 * (1 + np.tanh(z / 2)),
}


class Network(NamedTuple):
    """Layers (weight [out, in] and bias [out]) with an activation between them."""

    layers: list[tuple[Floats, Floats]]
    activation: str

    def forward(self, x: Floats) -> list[Floats]:
        """Return the inputs of each layer, and the outputs of the last one."""
        values = [x]
        for k, (weight, bias) in enumerate(self.layers):
            z = values[-1] @ weight.T + bias
            values.append(ACTIVATIONS[self.activation](z) if k + 1 < len(self.layers) else z)
        return values
