"""The package as a wheel installs it: make check-wheel."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
from joblib import Parallel, delayed
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import ppal
from ppal import PpalClassifier, ThresholdClassifier
from ppal._program import program, start

WORDS = ["yes", "1e3", "2020-01-31", "1:30", "0o7", "1_000", "=", "null?", "~", "TRUE", "a: b", "#x"]  # YAML may read them otherwise
PARITY = "gap(positive_rate, sex) <= 0.03"
MLP = {"model": "mlp", "hidden_layer_sizes": (4, 3), "activation": "tanh", "max_iter": np.int64(30), "random_state": np.random.RandomState(7)}


def people(rows: int = 600) -> tuple[pd.DataFrame, pd.Series, np.ndarray]:
    """A table with columns of every kind, a sensitive feature, and labels."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "age": rng.integers(17, 90, rows),
            "km/h, mean": rng.normal(size=rows).astype("f4"),
            "job": pd.Categorical(rng.choice(["clerk", "NA", "10", 'say "é"'], rows)),
            "town": rng.choice(["02139", "2139", *WORDS], rows),
            "member": rng.random(rows) < 0.3,
        }
    )
    sex = pd.Series(rng.choice(["F", "M"], rows), name="sex")
    score = 0.05 * (table["age"] - 50) + table["km/h, mean"] + 2.0 * (sex == "M") + 2 * (table["job"] == "NA") + rng.normal(size=rows)
    return table, sex, np.where(score > 0.5, "high", "low")


def equivalence(reason: str) -> dict[str, str]:
    """The checks that weights are equal to repeated rows, to 1e-7, with the reason why an estimator fails them."""
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


class Estimator(unittest.TestCase):
    def accepted(self, estimator: Any, failing: dict[str, str]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = check_estimator(estimator, on_fail=None, on_skip=None, expected_failed_checks=failing)
        self.assertGreater(len(results), 40)
        self.assertEqual([], [(r["check_name"], r["exception"]) for r in results if r["status"] not in ("passed", "skipped", "xfail")])

    def test_scikit_learn_accepts_it(self) -> None:
        failing = equivalence("the fit of the probabilities smooths by the number of rows, which weights do not change")
        failing["check_positive_only_tag_during_fit"] = "scikit-learn 1.6 subtracts a mean in place from the integers that it makes for categories"
        self.accepted(PpalClassifier(), failing)

    def test_weights_are_repeated_rows(self) -> None:
        X, sex, y = people()
        weights = np.random.default_rng(3).integers(0, 4, len(y))
        rows = np.repeat(np.arange(len(y)), weights)
        model = PpalClassifier().fit(X, y, sample_weight=weights)
        repeated = PpalClassifier().fit(X.iloc[rows], y[rows])
        np.testing.assert_allclose(model.decision_function(X), repeated.decision_function(X), rtol=1e-3, atol=1e-3)
        model = PpalClassifier(PARITY).fit(X, y, sensitive_features=sex, sample_weight=weights.astype("f4"))
        gap = ppal.evaluate(y[rows], model.predict(X)[rows], sensitive_features=sex.iloc[rows]).difference()["positive_rate"]
        self.assertAlmostEqual(model.constraints_.loc[PARITY, "train"], gap, places=9)
        trees = GradientBoostingClassifier(n_estimators=20).fit(X[["age"]], y)
        thresholds = ThresholdClassifier(trees, PARITY, prefit=True).fit(X[["age"]], y, sensitive_features=sex, sample_weight=weights)
        gap = ppal.evaluate(y[rows], thresholds.predict(X[["age"]])[rows], sensitive_features=sex.iloc[rows]).difference()["positive_rate"]
        self.assertAlmostEqual(thresholds.constraints_.loc[PARITY, "train"], gap, places=9)
        for wrong, text in ((weights[:-1], "expected"), (-1.0 * weights, "Negative"), (0 * weights, "zero|all weights are 0"), (weights + np.nan, "contains NaN")):
            for estimator in PpalClassifier(), ThresholdClassifier(trees, prefit=True):
                with self.assertRaisesRegex(ppal.InputError, text):
                    estimator.fit(X[["age"]], y, sample_weight=wrong)
        with self.assertRaisesRegex(ppal.InputError, "confidence"):
            PpalClassifier(PARITY, confidence=0.9).fit(X, y, sensitive_features=sex, sample_weight=weights)

    def test_thresholds_of_any_classifier(self) -> None:
        self.accepted(ThresholdClassifier(GaussianNB()), equivalence("the rows that choose the thresholds are drawn at random"))
        X, sex, y = people()
        X = X[["age"]]
        trees = GradientBoostingClassifier(n_estimators=20).fit(X[:300], y[:300])
        for thresholds in ("one", "by-group"):
            model = ThresholdClassifier(trees, PARITY, thresholds=thresholds, prefit=True).fit(X[300:], y[300:], sensitive_features=sex[300:])
            decided = model.predict(X[300:], sensitive_features=sex[300:])
            gap = ppal.evaluate(y[300:], decided, sensitive_features=sex[300:], pos_label="low").difference()["positive_rate"]
            self.assertAlmostEqual(model.constraints_.loc[PARITY, "train"], gap, places=12)
            self.assertEqual(len(model.thresholds_), {"one": 1, "by-group": len(set(sex[300:]))}[thresholds])
        with self.assertRaisesRegex(ppal.InputError, "by group"):
            model.predict(X)

    def test_the_bound_holds_on_the_training_rows(self) -> None:
        X, sex, y = people()
        plain = PpalClassifier().fit(X, y)
        model = PpalClassifier(PARITY).fit(X, y, sensitive_features=sex)
        gaps = [ppal.evaluate(y, m.predict(X), sensitive_features=sex, pos_label="low").difference()["positive_rate"] for m in (plain, model)]
        constraint = model.constraints_.loc[PARITY]
        self.assertGreater(gaps[0], 0.06)
        self.assertLessEqual(gaps[1], 0.03 + constraint["tolerance"])
        self.assertAlmostEqual(constraint["train"], gaps[1], places=12)
        self.assertTrue(constraint["met"])
        self.assertLess(model.certificate_["epsilon"], 1e-2)
        value = model.rates_.loc[("train", "all rows", "error"), "value"]
        self.assertAlmostEqual(value, 1 - model.score(X, y), places=12)
        self.assertIn("<html", model.report()._repr_html_().replace("&lt;", "<"))

    def test_the_program_decides_as_python(self) -> None:
        X, sex, y = people()
        several = np.where(X["age"] < 40, "young", y)
        for labels, settings in ((y, {}), (several, {}), (y, MLP)):
            with self.subTest(settings=settings, classes=len(set(labels))), tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = PpalClassifier(**settings).fit(X, labels)
                model.save(f"{folder}/run")
                X.astype({"km/h, mean": float}).to_csv(f"{folder}/x.csv", index=False)  # every digit
                subprocess.run([program(), "predict", f"{folder}/run", "--input", f"{folder}/x.csv", "--output", f"{folder}/s.csv"], check=True, capture_output=True)
                want = pd.read_csv(f"{folder}/s.csv")
                decisions = want["decision" if len(model.classes_) == 2 else "class"]
                np.testing.assert_array_equal(decisions, model.predict(X))
                np.testing.assert_allclose(want.filter(regex="^score").to_numpy().squeeze(), model.decision_function(X), rtol=1e-9, atol=1e-12)
                positive = model.predict_proba(X)[:, -1]
                np.testing.assert_allclose(want.filter(regex="^probability").to_numpy()[:, -1], positive, rtol=1e-9)
                other = PpalClassifier.load(f"{folder}/run")
                np.testing.assert_array_equal(other.predict(X), model.predict(X))
                np.testing.assert_array_equal(clone(other).fit(X, labels).decision_function(X), other.decision_function(X))

    def test_a_run_of_the_command_is_an_estimator(self) -> None:
        X, sex, y = people()
        X = X.astype({"km/h, mean": float})  # every digit in the file
        table = X.assign(sex=sex, y=y, digit=(y == "low").astype(int), back=np.where(y == "low", "a", "b"))
        runs = {  # by label: classes, further flags
            "y=low": (["high", "low"], []),
            "digit=1": ([0, 1], ["--regularizer", "l1", "--regularizer-weight", "1e-4"]),
            "back=a": (["b", "a"], []),
        }
        with tempfile.TemporaryDirectory() as folder:
            table.to_csv(f"{folder}/x.csv", index=False)

            def train(label: str, *flags: str) -> Path:
                run, column = Path(tempfile.mkdtemp(dir=folder), "run"), label.split("=")[0]
                ignored = ",".join({"sex", "y", "digit", "back"} - {column})
                read = ["--file", f"{folder}/x.csv", "--categorical", "town", "--missing-values", "none", "--ignore", ignored, "--label", label]
                subprocess.run([program(), "train", *read, *flags, "--quiet", "--allow-violation", "--out", run], check=True, capture_output=True)
                return run

            for label, (classes, further) in runs.items():
                column = label.split("=")[0]
                model = PpalClassifier.load(train(label, "--subject-to", PARITY, "--seed", "3", "--iterations", "60", *further))
                self.assertEqual(model.classes_.tolist(), classes)
                self.assertGreater(model.score(X, table[column]), 0.6)
                again = clone(model)
                self.assertEqual((again.subject_to, again.max_iter, again.test_fraction), ([PARITY], 60, 0.15))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if classes != sorted(classes):  # the positive class of Python would be the other one
                        with self.assertRaisesRegex(ppal.InputError, "the last of two in order"):
                            again.fit(X, table[column], sensitive_features=sex)
                    else:
                        again.fit(X, table[column], sensitive_features=sex)
                        np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), rtol=1e-6, atol=1e-9)
            for flags in (["--problem", "dp", "--group", "sex"], ["--query", "age", "--iterations", "5"], ["--model", "scores", "--score", "age", "--minimize", "error"]):
                with self.assertRaisesRegex(ppal.RunError, "rankings, of scores, or of bounds that PpalClassifier does not have"):
                    PpalClassifier.load(train("digit", *flags))

    def test_every_container_gives_the_same_model(self) -> None:
        X, sex, y = people()
        numbers = X[["age", "km/h, mean"]].astype("f4")
        want = PpalClassifier(PARITY).fit(numbers, y, sensitive_features=sex).decision_function(numbers)
        for name, rows in {"array": numbers.to_numpy(), "Fortran": np.asfortranarray(numbers), "sparse": csr_matrix(numbers)}.items():
            with self.subTest(name):
                model = PpalClassifier(PARITY).fit(rows, y, sensitive_features={"sex": sex.to_numpy()})
                np.testing.assert_array_equal(model.decision_function(rows), want)
        model = PpalClassifier(PARITY).fit(numbers, polars.Series(y), sensitive_features=polars.Series("sex", sex.to_list()))
        np.testing.assert_array_equal(model.decision_function(numbers), want)
        frame = polars.DataFrame({name: X[name].astype(str).tolist() if X[name].dtype == "category" else X[name].to_numpy() for name in X})
        np.testing.assert_array_equal(PpalClassifier().fit(frame, y).decision_function(frame), PpalClassifier().fit(X, y).decision_function(X))

    def test_missing_values_follow_the_policy(self) -> None:
        X, sex, y = people()
        X = X.astype({"age": float})
        X.loc[3, "age"], X.loc[4, "job"] = np.nan, None
        with self.assertRaisesRegex(ppal.InputError, 'missing="impute"'):
            PpalClassifier().fit(X, y)
        model = PpalClassifier(missing="impute").fit(X, y)
        self.assertEqual(model.predict(X).shape, y.shape)
        encodings = {e["column"]: e for e in model.run_.model.encodings}
        self.assertEqual([c for c, e in encodings.items() if e.get("missing")], ["age", "job"])
        self.assertIn("NA", encodings["job"]["categories"])

    def test_scikit_learn_uses_it(self) -> None:
        X, sex, y = people()
        numbers = X[["age", "km/h, mean"]]
        search = GridSearchCV(PpalClassifier(), {"subject_to": ["gap(positive_rate, sex) <= 0.1", PARITY]}, cv=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ppal.ViolationWarning)
            search.fit(numbers, y, sensitive_features=sex)
            self.assertGreater(cross_val_score(PpalClassifier(PARITY), numbers, y, cv=2, params={"sensitive_features": sex}).min(), 0.6)
            models = Parallel(n_jobs=2)(delayed(clone(search.best_estimator_).fit)(numbers, y, sensitive_features=sex) for _ in range(2))
        self.assertGreater(search.best_score_, 0.6)
        pipeline = make_pipeline(StandardScaler(), PpalClassifier()).fit(numbers, y)
        self.assertGreater(pipeline.score(numbers, y), 0.6)
        for model in (*models, pickle.loads(pickle.dumps(search.best_estimator_))):
            np.testing.assert_array_equal(model.predict(numbers), search.predict(numbers))

    def test_the_confidence_takes_validation_rows(self) -> None:
        X, sex, y = people()
        with self.assertWarnsRegex(ppal.ViolationWarning, "not promised"):
            model = PpalClassifier("gap(positive_rate, sex) <= 0.01", confidence=0.95).fit(X, y, sensitive_features=sex)
        self.assertFalse(np.isnan(model.constraints_["validation"].iloc[0]))

    def test_the_readme(self) -> None:
        X, sex, y = people()
        block = re.findall(r"```python\n(.*?)```", Path(__file__).parent.parent.joinpath("README.md").read_text(), re.DOTALL)[0]
        self.addCleanup(os.chdir, os.getcwd())
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            os.mkdir("compas")
            table = {"age": X["age"], "priors_count": X["age"] % 7, "juv_fel_count": X["age"] % 3, "c_charge_degree": X["town"], "sex": sex}
            pd.DataFrame({**table, "two_year_recid": (y == "high").astype(int)}).to_csv("compas/compas-scores-two-years.csv", index=False)
            names: dict[str, Any] = {}
            exec(block, names)
            np.testing.assert_array_equal(PpalClassifier.load("run").predict(names["X"]), names["decisions"])

    def test_a_sweep_is_a_list_of_estimators(self) -> None:
        X, sex, y = people()
        curve = ppal.sweep(PpalClassifier(test_fraction=0.2), X, y, over="gap(positive_rate, sex)", values=[0.2, 0.02], sensitive_features=sex)
        self.assertEqual(curve.points["bound"].tolist(), [0.2, 0.02])
        gaps = [ppal.evaluate(y, m.predict(X), sensitive_features=sex).difference()["positive_rate"] for m in curve.estimators]
        self.assertLess(gaps[1], gaps[0])
        self.assertEqual([m.subject_to for m in curve.estimators], [["gap(positive_rate, sex) <= 0.2"], ["gap(positive_rate, sex) <= 0.02"]])
        self.assertGreater(len(curve.report()._repr_html_()), 1000)


class Errors(unittest.TestCase):
    def fails(self, kind: type[Exception], text: str, X: Any = None, y: Any = None, sex: Any = None, **settings: Any) -> None:
        table, groups, labels = people(60)
        with self.assertRaisesRegex(kind, text):
            PpalClassifier(**settings).fit(table if X is None else X, labels if y is None else y, sensitive_features=groups if sex is None else sex)

    def test_bad_input_has_one_exception(self) -> None:
        X, sex, y = people(60)
        self.fails(ppal.InputError, r'subject_to="gapp\(tpr, sex\) <= 0.1": column 1: unknown rate "gapp"; did you mean gap', subject_to="gapp(tpr, sex) <= 0.1")
        self.fails(ppal.InputError, 'there is no attribute "sexx"', subject_to="gap(tpr, sexx) <= 0.1")
        self.fails(ppal.InputError, "sensitive_features has 59 rows of .sex., want 60", sex=sex[:59])
        self.fails(ppal.InputError, r"at most one class, \['a'\]", y=["a"] * 60)
        self.fails(ppal.InputError, "found 0 rows", X=X[:0], y=[])
        self.fails(ppal.InputError, r"column 'job' contains objects, such as .*\(list\)", X=X.assign(job=[[1]] * 60))
        self.fails(ppal.InputError, "objects, such as Timestamp", X=X.assign(job=pd.Timestamp(0)))
        self.fails(ppal.InputError, "contains infinity", X=X.assign(age=np.inf))
        self.fails(ppal.InputError, "different columns called 'town'", sex=sex.rename("town"))
        self.fails(ppal.InputError, "two columns have the name .age.", X=pd.concat([X, X["age"]], axis=1))
        self.fails(ppal.InputError, 'hidden_layer_sizes=3: used only with model="mlp"', hidden_layer_sizes=[3])
        self.fails(ppal.InputError, 'subject_to=0.02: column 1: unknown rate "0.02"', subject_to=0.02)
        self.fails(ppal.InputError, r"^unknown setting learnrate \(.* ppal train --help-all\)", settings={"learnrate": 1})
        self.fails(ppal.InputError, "give it as the keyword max_iter", settings={"max_iter": 1})
        self.fails(ppal.InputError, "hidden_layer_sizes=4,4: used only", hidden_layer_sizes=np.array([4, 4]))
        self.fails(ppal.InputError, "alpha=0.5: used only", alpha=np.float64(0.5), settings={"regularizer": "none"})
        self.fails(ppal.InputError, "handle_unknown 'other': choose error or ignore", handle_unknown="other")
        self.fails(ppal.InputError, "could not convert string to float: .*: give a DataFrame", X=X.to_numpy(object))
        self.fails(ppal.InputError, 'contains NaN[^"]*missing="impute"', X=np.where(X[["age"]] > 50, np.nan, X[["age"]]))
        with self.assertRaises(NotFittedError):
            ThresholdClassifier(LogisticRegression(), prefit=True).fit(X[["age"]], y)
        self.fails(ppal.InputError, "max_iter -1: must be at least 0", max_iter=-1)
        self.fails(ppal.InputError, "sum below 1", test_fraction=1.0)
        self.fails(ppal.TrainingError, "no GPU available|PPAL_PROGRAM", device="cuda")

    def test_every_bad_value_is_an_input_error(self) -> None:
        X, sex, y = people(60)
        labels: list[Any] = [None, y[:9], [*y[1:], None], np.where(y == "low", np.nan, 1), np.linspace(0, 1, 60), np.c_[y, y]]
        settings: dict[str, Any] = {"model": "tree", "hidden_layer_sizes": [-1], "confidence": "high", "minimize": "mse", "missing": "mean",
            "subject_to": [None], "validation_fraction": "a", "random_state": "a", "device": "tpu", "n_jobs": "all", "max_iter": 1.5, "alpha": -1,
            "activation": "gelu", "settings": ["l1"]}  # fmt: skip
        self.assertEqual(set(settings) | {"handle_unknown", "test_fraction", "verbose"}, set(PpalClassifier().get_params()))
        model = PpalClassifier().fit(X, y)
        calls: list[Any] = [lambda y=y: PpalClassifier().fit(X, y) for y in labels]
        calls += [lambda own=own: PpalClassifier(**own).fit(X, y) for own in [{k: v} for k, v in settings.items()]]
        calls += [lambda own=own: ThresholdClassifier(GaussianNB(), **own).fit(X[["age"]], y) for own in ({"thresholds": "each"}, {"threshold_fraction": "a"})]
        calls += [lambda w=w: PpalClassifier().fit(X, y, sample_weight=w) for w in (["a"] * 60, np.ones((60, 2)))]
        calls += [lambda rows=rows: model.predict(rows) for rows in (X[["age"]], X.to_numpy(), X["age"])]
        calls += [lambda own=own: PpalClassifier(settings=own).fit(X, y) for own in ({"regularizer": object()}, {"file": "a"}, {"label": "b"}, {"out": "c"})]
        calls += [lambda: ppal.evaluate(np.c_[y, y], y)]
        calls += [lambda: ppal.verify(model.run_.path, 5), lambda: PpalClassifier().fit(X.rename(columns={"age": ""}), y)]
        calls += [lambda: PpalClassifier().fit(X[["age"]] + 1j, y), lambda: PpalClassifier().fit(X[["age"]].to_numpy() + 1j, y)]
        calls += [lambda: PpalClassifier(PARITY).fit(X, y, sensitive_features=[[1, 2], [3]] * 30)]
        calls += [lambda v=v: ppal.sweep(PpalClassifier(), X, y, over="fpr", values=v) for v in (["a"], [], 5)]
        calls += [lambda: ppal.sweep(GaussianNB(), X, y, over="fpr", values=[1])]
        calls += [lambda: ppal.sweep(PpalClassifier(), X, y, over=3, values=[0.1])]
        for k, call in enumerate(calls):
            with self.subTest(k), self.assertRaises(ppal.InputError) as caught:
                call()
            self.assertNotRegex(str(caught.exception), r"--[a-z]|/tmp|\.json|\.npy", "words of the command line")

    def test_new_rows_are_checked(self) -> None:
        X, _, y = people(60)
        model = PpalClassifier().fit(X, y)
        for text, rows in {
            "unknown category 'nurse'": X.assign(job="nurse"),
            "contains NaN": X.assign(age=np.nan),
            "has texts such as 'old'": X.assign(age="old"),
        }.items():
            with self.subTest(text), self.assertRaisesRegex(ppal.InputError, text):
                model.predict(rows)
        model.set_params(handle_unknown="ignore").predict(X.assign(job="nurse"))

    def test_a_missing_program(self) -> None:
        old = os.environ.get("PPAL_PROGRAM")
        os.environ["PPAL_PROGRAM"] = "/nowhere/ppal"
        try:
            self.fails(ppal.MissingProgramError, "the program /nowhere/ppal does not exist: install a wheel")
        finally:
            del os.environ["PPAL_PROGRAM"]
            if old:
                os.environ["PPAL_PROGRAM"] = old

    def test_runs_of_other_versions(self) -> None:
        X, _, y = people(60)
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(ppal.RunError, "give the directory of a finished run"):
                PpalClassifier.load(folder)
            PpalClassifier().fit(X, y).save(f"{folder}/run")
            for name in ("model.safetensors", "preparation.yaml", "estimator.json", "summary.json", "model.json"):
                file = Path(folder, "run", name)
                whole = file.read_bytes()
                for damaged in (whole[: len(whole) // 2], b""):
                    file.write_bytes(damaged)
                    with self.subTest(name), self.assertRaisesRegex(ppal.RunError, rf"^\S*(/|: the file ){name}"):
                        PpalClassifier.load(f"{folder}/run")
                file.write_bytes(whole)
            file = Path(folder, "run", "model.json")
            file.write_text(json.dumps({**json.loads(file.read_text()), "schema": 99}))
            with self.assertRaisesRegex(ppal.RunError, "schema 99"):
                PpalClassifier.load(f"{folder}/run")


class Process(unittest.TestCase):
    def test_an_interrupt_keeps_the_run(self) -> None:
        script = textwrap.dedent("""
            import signal
            import numpy as np, ppal
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
            rng = np.random.default_rng(0)
            X = rng.normal(size=(20000, 20)); y = X[:, 0] + rng.normal(size=20000) > 0
            model = ppal.PpalClassifier(model="mlp", max_iter=10**6)
            try:
                model.fit(X, y)
            except KeyboardInterrupt as e:
                print(e, model.n_iter_ > 0, model.predict(X).shape)
            """)
        with tempfile.TemporaryDirectory() as folder:
            env = {**os.environ, "TMPDIR": folder}
            process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=env)
            try:
                deadline = time.monotonic() + 300
                while not list(Path(folder).glob("ppal-*/run/metrics.jsonl")) and time.monotonic() < deadline:
                    time.sleep(0.05)
                time.sleep(0.3)
                process.send_signal(signal.SIGINT)
                text, _ = process.communicate(timeout=60)
            finally:
                if process.poll() is None:  # the program has a session of its own, and would train on
                    subprocess.run(["pkill", "-KILL", "-P", str(process.pid)], check=False)
                    process.kill()
            self.assertRegex(text, r"^interrupted after \d+ iterations True \(20000,\)\n$")
            self.assertEqual(os.listdir(folder), [], "files that were left")

    def test_progress(self) -> None:
        X, _, y = people(60)
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as bar:
            PpalClassifier(max_iter=10, verbose=True).fit(X, y)
        self.assertRegex(out.getvalue() + bar.getvalue(), "iteration 10 objective|10/10|0/10")  # lines, or a bar of tqdm
        seen: list[dict[str, Any]] = []
        with tempfile.TemporaryDirectory() as folder:
            model = PpalClassifier(max_iter=10, verbose=True)
            start("train", *model._prepare(X, y, None), Path(folder) / "run", "--log-format", "json", report=seen.append)
        self.assertEqual(seen[0]["msg"], "reading the data and building the problem")
        self.assertNotRegex(" ".join(line["msg"] for line in seen), r"--[a-z]|uffff")


class Evaluation(unittest.TestCase):
    def test_the_program_counts_as_python(self) -> None:
        X, sex, y = people()
        table = pd.DataFrame({"sex": sex, "y": y, "said": np.where(X["age"] < 40, "low", "high")})
        rates = ppal.evaluate(y, table["said"], sensitive_features=sex, pos_label="low")
        with tempfile.TemporaryDirectory() as folder:
            table.to_csv(f"{folder}/t.csv", index=False)
            flags = ["--label", "y=low", "--decision", "said", "--by", "sex", "--json"]
            done = subprocess.run([program(), "evaluate", "--predictions", f"{folder}/t.csv", *flags], check=True, capture_output=True)
        said = json.loads(done.stdout)
        for group in said["rates"]["by_group"]:
            for name, rate in group["rates"].items():
                want = rates.by_group.loc[(group["group"].removeprefix("sex="), name)]
                np.testing.assert_allclose([rate["value"], *rate["interval"], rate["rows"]], want.to_numpy(), rtol=1e-9)
        for pair in said["comparisons"]:
            self.assertAlmostEqual(pair["difference"]["value"], rates.difference()[pair["rate"]], places=12)
            self.assertAlmostEqual(pair["ratio"]["value"], rates.ratio()[pair["rate"]], places=12)

    @unittest.skipUnless(importlib.util.find_spec("fairlearn"), "fairlearn is not installed")
    def test_fairlearn_counts_as_python(self) -> None:
        from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate

        X, sex, y = people()
        truth, said, groups = (y == "low").astype(int), (X["age"] < 40).astype(int), pd.DataFrame({"sex": sex, "member": X["member"].astype(str)})
        metrics = {"positive_rate": selection_rate, "tpr": true_positive_rate, "fpr": false_positive_rate, "precision": precision_score}
        frame = MetricFrame(metrics=metrics, y_true=truth, y_pred=said, sensitive_features=groups)
        rates = ppal.evaluate(truth, said, sensitive_features=groups)
        np.testing.assert_allclose(rates.by_group["value"].unstack("rate")[list(metrics)], frame.by_group, rtol=1e-12)
        for ours, theirs in ((rates.overall["value"], frame.overall), (rates.difference(), frame.difference()), (rates.ratio(), frame.ratio())):
            np.testing.assert_allclose(ours[list(metrics)], theirs, rtol=1e-12)

    def test_rates_and_intervals(self) -> None:
        truth, decided, group = [1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0], ["a", "a", "b", "b", "b", "b"]
        rates = ppal.evaluate(truth, decided, sensitive_features=group)
        self.assertEqual(rates.overall["value"].round(4).tolist(), [0.5, 0.6667, 0.3333, 0.6667, 0.3333])
        self.assertEqual(rates.overall["rows"].tolist(), [6, 3, 3, 3, 6])
        self.assertEqual(rates.difference()["positive_rate"], 0.75)
        self.assertEqual(rates.ratio()["tpr"], 0)
        low, high = rates.overall.loc["positive_rate", ["low", "high"]]
        self.assertAlmostEqual(low, 0.11812, places=5)  # Clopper and Pearson for 3 of 6
        self.assertAlmostEqual(high, 0.88188, places=5)
        with self.assertRaisesRegex(ppal.InputError, "pos_label"):
            ppal.evaluate([0, 1, 2], [0, 1, 2])


if __name__ == "__main__":
    unittest.main()
