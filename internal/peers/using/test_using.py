"""The Python of docs/guides/using-a-model.md and ONNX Runtime against `ppal predict`."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd

ROOT = Path(__file__).resolve().parents[3]
PPAL = Path(os.environ.get("PPAL", ROOT / "bin" / "ppal")).resolve()
PAGE = ROOT / "docs" / "guides" / "using-a-model.md"
DATA = Path(os.environ.get("PPAL_DATA", "none")).resolve()


def ppal(*arguments: str, status: tuple[int, ...] = (0,)) -> None:
    done = subprocess.run([str(PPAL), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode not in status:
        raise AssertionError(f"ppal {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr}")


def train(*arguments: str) -> None:
    """A constraint that is not met (status 3) does not matter here."""
    ppal("train", "--quiet", "--out", "RUN", *arguments, status=(0, 3))


def scores() -> pd.DataFrame:
    """The output of ppal predict; decisions are texts, also where they are numbers."""
    return pd.read_csv("scores.csv", keep_default_na=False, dtype={"decision": str, "class": str})


def block() -> str:
    """The page's Python."""
    return re.search(r"```python\n(import onnxruntime.*?)```", PAGE.read_text(), re.DOTALL)[1]


def people(rows: int) -> pd.DataFrame:
    """Rows with numbers, categories, codes that look like numbers, and dates. Some values are missing."""
    rng = np.random.default_rng(1)
    age, hours = rng.integers(17, 90, rows), rng.integers(1, 99, rows)
    job = rng.choice(["clerk", "sales, retail", "nurse", "?"], rows)
    sex = rng.choice(["Female", "Male"], rows)
    income = np.round(rng.lognormal(10, 1, rows), 2).astype(object)
    income[rng.random(rows) < 0.1] = ""
    code = rng.choice(["1", "2", "10", "11", ""], rows)
    area = rng.choice(["02139", "2139", "10001"], rows)
    born = pd.Timestamp("1940-01-01") + pd.to_timedelta(rng.integers(0, 25000, rows), "D")
    seen = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 10**6, rows), "min")
    score = 0.05 * (age - 40) + 0.03 * (hours - 50) + (sex == "Male") + (job == "nurse") + 2.0 * (code == "10") - (area == "2139") + rng.normal(size=rows)
    return pd.DataFrame({"age": age, "job": job, "hours": hours, "sex": sex, "income": income, "code": code, "area": area, "born": born, "seen": seen,
                         "label": np.where(score > 0.5, "high", "low")})


class Using(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.enterContext(contextlib.chdir(folder.name))

    def predictions(self, file: str | Path, *arguments: str) -> pd.DataFrame:
        ppal("predict", "RUN", "--input", file, "--output", "scores.csv", *arguments)
        return scores()

    def same(self, want: pd.DataFrame, scores: np.ndarray, decisions: np.ndarray) -> None:
        column = "decision" if "decision" in want else "class"
        self.assertEqual(len(want), len(decisions))
        self.assertEqual(0, (want[column].to_numpy(object) != np.asarray(decisions, object)).sum(), "different decisions")
        own = want.filter(regex="^score").to_numpy(float)
        np.testing.assert_allclose(scores.reshape(own.shape), own, rtol=1e-9, atol=1e-12)
        self.assertGreater(want[column].nunique(), 1)

    def train_people(self, *arguments: str) -> None:
        people(3000).to_csv("people.csv", index=False, date_format="%d/%m/%Y %H:%M")
        train("--dataset", "csv", "--file", "people.csv", "--label", "label=high", "--problem", "dp", "--group", "sex=Female",
              "--missing", "impute", "--categorical", "code,area", "--iterations", "50", *arguments)

    def page(self, *arguments: str) -> dict[str, object]:
        """The names that the page's Python defines, with people.csv and an export of RUN."""
        ppal("export", "RUN", "--onnx", "model.onnx", *arguments)
        names: dict[str, object] = {}
        exec(block(), names)
        return names

    def test_page(self) -> None:
        """The page's Python gives the decisions of ppal predict, for a linear model and a network."""
        for model in "linear", "mlp":
            with self.subTest(model):
                self.train_people("--ignore", "born,seen", "--model", model, *(["--hidden", "8,4", "--activation", "tanh"] if model == "mlp" else []))
                names = self.page()
                self.same(self.predictions("people.csv"), names["score"], names["decisions"])
                subprocess.run(["rm", "-r", "RUN"], check=True)

    def test_dates(self) -> None:
        """The parts of dates are inputs of their own."""
        self.train_people("--ignore", "income", "--dates", "day-first")
        ppal("export", "RUN", "--onnx", "model.onnx")
        session = onnxruntime.InferenceSession("model.onnx")
        table = people(3000).astype({"age": float, "hours": float})
        for name in "born", "seen":
            when = table[name]
            table[name + " day"] = (when - pd.Timestamp(0)) / pd.Timedelta(days=1)
            table[name + " month"] = when.dt.month.astype(float)
            table[name + " weekday"] = when.dt.weekday + 1.0
            table[name + " hour"] = (when - when.dt.normalize()) / pd.Timedelta(hours=1)
        self.assertTrue(any(i.name == "seen hour" for i in session.get_inputs()))
        columns = {i.name: table[[i.name]].to_numpy(object if "string" in i.type else float) for i in session.get_inputs()}
        self.same(self.predictions("people.csv"), *session.run(["score", "decision"], columns))

    def test_unknown(self) -> None:
        """Unknown categories are refused, or have indicators of 0, as by ppal predict."""
        self.train_people("--ignore", "born,seen")
        table = people(20)
        table.loc[3, "job"] = "pilot"
        table.to_csv("people.csv", index=False)
        with self.assertRaisesRegex(Exception, "[Uu]nknown"):
            self.page()
        names = self.page("--unknown", "ignore")
        self.same(self.predictions("people.csv", "--unknown", "ignore"), names["score"], names["decisions"])

    @unittest.skipUnless((DATA / "bank").is_dir(), "PPAL_DATA has no Bank")
    def test_bank(self) -> None:
        train("--dataset", "bank", "--data-dir", DATA, "--problem", "dp", "--iterations", "30")
        file = DATA / "bank" / "bank-additional-full.csv"
        ppal("export", "RUN", "--onnx", "model.onnx")
        session = onnxruntime.InferenceSession("model.onnx")
        table = pd.read_csv(file, sep=";", keep_default_na=False)
        columns = {i.name: table[[i.name]].to_numpy(object if "string" in i.type else float) for i in session.get_inputs()}
        self.same(self.predictions(file), *session.run(["score", "decision"], columns))

    @unittest.skipUnless((DATA / "adult").is_dir(), "PPAL_DATA has no Adult")
    def test_adult(self) -> None:
        train("--dataset", "adult", "--data-dir", DATA, "--problem", "dp", "--iterations", "30")
        file = DATA / "adult" / "a9a.t"
        ppal("export", "RUN", "--onnx", "model.onnx")
        session = onnxruntime.InferenceSession("model.onnx")
        lines = file.read_text().splitlines()
        x = np.zeros((len(lines), session.get_inputs()[0].shape[1]))
        for row, line in zip(x, lines):
            for entry in line.split()[1:]:
                index, value = entry.split(":")
                row[int(index) - 1] = float(value)
        self.same(self.predictions(file), *session.run(["score", "decision"], {"x": x}))

    @unittest.skipUnless((DATA / "fashion-mnist").is_dir(), "PPAL_DATA has no Fashion-MNIST")
    def test_fashion_mnist(self) -> None:
        for heads in "shared", "separate":
            with self.subTest(heads):
                train("--dataset", "fashion-mnist", "--data-dir", DATA, "--rows-per-class", "500", "--hidden", "32", "--heads", heads,
                      "--iterations", "20")
                file = DATA / "fashion-mnist" / "t10k-images-idx3-ubyte.gz"
                ppal("export", "RUN", "--onnx", "model.onnx")
                session = onnxruntime.InferenceSession("model.onnx")
                pixels = np.frombuffer(gzip.open(file).read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
                self.same(self.predictions(file), *session.run(["scores", "class"], {"pixels": pixels}))
                subprocess.run(["rm", "-r", "RUN"], check=True)


if __name__ == "__main__":
    unittest.main()
