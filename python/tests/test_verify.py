"""`ppal.verify`, in NumPy, against the command `ppal verify` on 20 runs."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from test_ppal import people

import ppal
from ppal import PpalClassifier
from ppal._data import store
from ppal._program import program
from ppal._verify import RATES, Measure, Rows

LABELS = {"two": lambda age, y: y, "three": lambda age, y: np.where(age < 40, "young", y)}
MLP: dict[str, Any] = {"model": "mlp", "hidden_layer_sizes": [4], "max_iter": 40}
RUNS: list[tuple[Any, str, dict[str, Any]]] = [
    ("gap(positive_rate, sex) <= 0.03", "two", {}),
    (["gap(tpr, race) <= 0.05", "fpr <= 20%"], "two", {"test_fraction": 0.2, "validation_fraction": 0.2}),
    ("ratio(positive_rate, race) >= 0.8", "two", {}),
    (["excess(error, race) <= 0.02", "distance(fpr, sex) <= 0.05"], "two", {"minimize": "fnr"}),
    ("precision >= 0.8", "two", {}),
    (["error[sex=*] <= 0.25", "fnr[sex=F] <= 0.3"], "two", {"minimize": "balanced_error"}),
    ("gap(positive_rate, sex*race, min 22) <= 0.1", "two", {}),
    ("gap(error, age<40) <= 0.02", "two", {"settings": {"regularizer": "l1", "regularizer-weight": 1e-3}}),
    ((), "two", {"settings": {"class-weight": "balanced"}}),
    ("recall[young] >= 0.9", "three", {"validation_fraction": 0.2}),
    (["error[*] <= 0.3", "gap(error, sex) <= 0.05"], "three", {"minimize": "error"}),
    ("precision[high] >= 0.6", "three", {}),
    ("gap(positive_rate, sex) <= 0.03", "two", MLP),
    ("gap(fpr, race) <= 0.1", "two", {**MLP, "hidden_layer_sizes": [5, 4], "activation": "tanh"}),
    ("error[low] <= 0.3", "three", {**MLP, "activation": "sigmoid"}),
    ((), "three", {**MLP, "activation": "softplus"}),
    ("tnr >= 0.9", "two", {"confidence": 0.9, "minimize": "5*fnr + 0.5*fpr[sex=M] + error"}),
    ("accuracy >= 0.7", "two", {"minimize": "loss", "settings": {"regularizer": "group-l1", "regularizer-weight": 1e-3}}),
    ("fpr[race=a] <= 0.1", "two", {"settings": {"dtype": "float64"}}),
    ("gap(positive_rate, sex) <= 0.03", "two", {**MLP, "activation": "leaky-relu", "settings": {"bounds-on": "surrogate"}}),
]
WEIGHTED = [1, 3, 4, 5, 6, 8, 9, 11, 13, 17]  # places in RUNS, whose runs are trained again with weights of rows


def trained(folder: Path, bounds: Any, labels: str, settings: dict[str, Any], weighted: bool = False) -> tuple[Path, Any]:
    """Train in the folder, where the data stay, and return the run and the data."""
    folder.mkdir(exist_ok=True)
    X, sex, y = people(300)
    race = pd.Series(np.random.default_rng(3).choice(["a", "b", "c"], len(y)), name="race")
    weights = np.random.default_rng(4).choice([0, 0.7, 1, 5], len(y)) if weighted else None
    model = PpalClassifier(bounds, **settings)
    rows = model._prepare(X, LABELS[labels](X["age"], y), pd.DataFrame({"sex": sex, "race": race}), weights)
    flags, _ = store(folder, *rows)
    done = subprocess.run([program(), "train", *flags, "--out", folder / "run"], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise AssertionError(done.stderr)
    return folder / "run", np.load(folder / "data.npz")


class Verify(unittest.TestCase):
    def test_both_hands_agree(self) -> None:
        for weighted, (bounds, labels, settings) in [*((False, r) for r in RUNS), *((True, RUNS[k]) for k in WEIGHTED)]:
            with self.subTest(bounds=bounds, settings=settings, weighted=weighted), tempfile.TemporaryDirectory() as folder:
                run, data = trained(Path(folder), bounds, labels, settings, weighted)
                done = subprocess.run([program(), "verify", run, "--json"], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout)
                theirs = {c["quantity"].removeprefix("certificate.").split(" (")[0]: c for c in json.loads(done.stdout)["comparisons"]}
                result = ppal.verify(run, data)
                self.assertEqual(result.problems, [])
                common = [c for c in result.comparisons if c[0] in theirs]
                self.assertGreaterEqual(len(common), 5)
                for quantity, _, recomputed, tolerance in common:
                    self.assertAlmostEqual(recomputed, theirs[quantity]["recomputed"], delta=tolerance + theirs[quantity]["tolerance"], msg=quantity)

    def test_every_rate_is_checked_and_others_are_refused(self) -> None:
        stated = str(RUNS)
        self.assertEqual([name for name in RATES if name not in stated], [])
        with self.assertRaisesRegex(ppal.RunError, "does not know the rate 'npv'"):
            Measure.parse("npv", Rows(*[np.empty(0)] * 4, [], [], {}))

    def test_other_runs_are_refused(self) -> None:
        rng = np.random.default_rng(5)
        data = pd.DataFrame({"q": rng.integers(0, 9, 90).astype(str), "grade": rng.integers(0, 3, 90), "x": rng.normal(size=90)})
        with tempfile.TemporaryDirectory() as folder:
            run, file = Path(folder, "run"), Path(folder, "data.csv")
            data.to_csv(file, index=False)
            train = ["train", "--file", file, "--query", "q", "--label", "grade", "--iterations", "5", "--quiet", "--out", run]
            subprocess.run([program(), *train], check=True, capture_output=True)
            with self.assertRaisesRegex(ppal.RunError, "supports rates of decisions, .* use the command ppal verify"):
                ppal.verify(run, data)

    def test_a_changed_number_is_found(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run, data = trained(Path(folder), *RUNS[1])
            text = (run / "summary.json").read_text()

            def changed(change: Any) -> str:
                summary = json.loads(text)
                change(summary)
                (run / "summary.json").write_text(json.dumps(summary))
                return " ".join(ppal.verify(run, data).problems)

            def add(by: float, *keys: Any) -> Any:
                def change(place: Any) -> None:
                    for key in keys[:-1]:
                        place = place[key]
                    place[keys[-1]] += by

                return change

            self.assertEqual(changed(lambda s: None), "")
            for keys in (("objective",), ("constraints", 2), ("certificate", "stationarity"), ("certificate", "epsilon")):
                self.assertIn(keys[-1] if keys[0] == "certificate" else keys[0], changed(add(1e-3, *keys)))
            self.assertIn("stationarity", changed(add(1e-2, "certificate", "nu", 6)))
            self.assertIn("fpr <= 0.2, test", changed(add(1e-6, "decisions", 1, "test")))
            self.assertIn("error, validation", changed(add(1e-6, "objective_on_decisions", "validation")))
            self.assertIn("model.safetensors has been changed", changed(lambda s: s["files"].update({"model.safetensors": "0" * 64})))
            weights = run / "model.safetensors"
            shutil.copy(weights, run / "old")
            raw = bytearray(weights.read_bytes())
            raw[-2] ^= 16  # a bit of a weight
            weights.write_bytes(raw)
            self.assertIn("objective: reported", changed(lambda s: None))

    def test_other_data_are_found(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run, data = trained(Path(folder), *RUNS[0])
            arrays = dict(data)
            arrays["y"] = np.roll(arrays["y"], 1)
            self.assertIn("error, train", " ".join(ppal.verify(run, arrays).problems))
            with self.assertRaisesRegex(ppal.InputError, "100 rows"):
                ppal.verify(run, {name: column[:100] for name, column in arrays.items()})
            run, data = trained(Path(folder, "weighted"), *RUNS[0], weighted=True)
            arrays = dict(data)
            arrays["sample_weight"] = np.roll(arrays["sample_weight"], 1)
            self.assertIn("error, train", " ".join(ppal.verify(run, arrays).problems))
            del arrays["y"]
            with self.assertRaisesRegex(ppal.InputError, "no column 'y'"):
                ppal.verify(run, arrays)


if __name__ == "__main__":
    unittest.main()
