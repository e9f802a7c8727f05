"""The Python of docs/guides/using-a-model.md, PyTorch and ONNX Runtime against `ppal predict`."""

from __future__ import annotations

import contextlib
import gzip
import importlib.util
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
HAS_TORCH = importlib.util.find_spec("torch") is not None
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


def blocks() -> list[str]:
    """The page's Python, block by block: the loader, ONNX."""
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


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
    seen = np.where(rng.random(rows) < 0.1, "NA", seen.strftime("%d/%m/%Y %H:%M"))
    score = 0.05 * (age - 40) + 0.03 * (hours - 50) + (sex == "Male") + (job == "nurse") + 2.0 * (code == "10") - (area == "2139") + rng.normal(size=rows)
    return pd.DataFrame({"age": age, "job": job, "hours": hours, "sex": sex, "income": income, "code": code, "area": area, "born": born.strftime("%Y-%m-%d"),
                         "seen": seen, "label": np.where(score > 0.5, "high", "low")})


class Using(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.enterContext(contextlib.chdir(folder.name))

    def predictions(self, file: str | Path) -> pd.DataFrame:
        ppal("predict", "RUN", "--input", file, "--output", "scores.csv")
        return scores()

    def same(self, want: pd.DataFrame, scores: np.ndarray, decisions: np.ndarray) -> None:
        column = "decision" if "decision" in want else "class"
        self.assertEqual(len(want), len(decisions))
        self.assertEqual(0, (want[column].to_numpy(object) != np.asarray(decisions, object)).sum(), "different decisions")
        own = want.filter(regex="^score").to_numpy(float)
        np.testing.assert_allclose(scores.reshape(own.shape), own, rtol=1e-9, atol=1e-12)
        self.assertGreater(want[column].nunique(), 1)

    def train_people(self, *arguments: str, **how: object) -> None:
        people(3000).to_csv("people.csv", index=False, **how)
        train("--dataset", "csv", "--file", "people.csv", "--label", "label=high", "--problem", "dp", "--group", "sex=Female",
              "--missing", "impute", "--categorical", "code,area", "--dates", "day-first", "--iterations", "50", *arguments)

    def same_in_onnx(self) -> tuple[pd.DataFrame, dict[str, object]]:
        """The predictions of RUN, which the page's ONNX block repeats, and the names that the loader and this block define."""
        want = self.predictions("people.csv")
        ppal("export", "RUN", "--onnx", "model.onnx")
        loader, onnx = blocks()
        names: dict[str, object] = {}
        exec(loader, names)
        exec(onnx, names)
        self.same(want, names["score"], names["decisions"])
        return want, names

    def test_page(self) -> None:
        """Every block of the page gives the decisions of ppal predict."""
        self.train_people()
        want = self.predictions("people.csv")
        ppal("export", "RUN", "--onnx", "model.onnx")
        loader, onnx = blocks()
        lines = [line for line in loader.splitlines() if line]
        self.assertLessEqual(len(lines), 32, "the loader is a few lines")
        names: dict[str, object] = {}
        exec(loader, names)
        exec(onnx, names)
        self.same(want, names["score"], names["decisions"])
        weights, rows = names["load"]("RUN", "people.csv")
        self.same(want, rows @ weights["linear.weight"][0] + weights["linear.bias"], names["decisions"])

    def test_layouts(self) -> None:
        """The page reads files without names, with other separators, lines before the rows, and other marks of missing values."""
        names = ",".join(people(1).columns)
        for arguments, how in [
            (["--columns", names], {"header": False}),
            (["--columns", names, "--separator", "tab", "--skip", "1"], {"sep": "\t"}),
            (["--missing-values", "?,NA,-1", "--separator", ";"], {"sep": ";"}),
        ]:
            with self.subTest(arguments):
                self.train_people(*arguments, **how)
                want, own = self.same_in_onnx()
                weights, rows = own["load"]("RUN", "people.csv")
                self.same(want, rows @ weights["linear.weight"][0] + weights["linear.bias"], own["decisions"])
                subprocess.run(["rm", "-r", "RUN"], check=True)

    @unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
    def test_network(self) -> None:
        """A network of a table, with missing numbers and categories, in ONNX Runtime and in PyTorch."""
        import torch

        self.train_people("--model", "mlp", "--hidden", "8,4", "--activation", "tanh")
        want, names = self.same_in_onnx()
        weights, rows = names["load"]("RUN", "people.csv")
        model = torch.nn.Sequential()
        hidden = torch.nn.Sequential(torch.nn.Linear(rows.shape[1], 8), torch.nn.Linear(8, 4)).double()
        output = torch.nn.Linear(4, 1).double()
        model.add_module("hidden", hidden)
        model.add_module("output", output)
        model.load_state_dict({name: torch.tensor(w) for name, w in weights.items()})
        x = torch.tensor(rows)
        for layer in hidden:
            x = torch.tanh(layer(x))
        score = output(x)[:, 0].detach().numpy()
        self.same(want, score, np.where(score > 0, "high", "low"))

    def test_codes(self) -> None:
        """Codes, words that YAML may read otherwise, numbers with decimal commas and missing values, in the page's loader."""
        rng, n = np.random.default_rng(2), 800
        words = ["yes", "no", "1e3", "2020-01-31", "1:30", "0o7", "1_000", "=", "null?", "~", "TRUE", "a: b", "#x"]
        table = pd.DataFrame({
            "zip": rng.choice(["02139", "2139", "501", ""], n), "code": rng.integers(1, 5, n), "word": rng.choice(words, n),
            "wage": [f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in rng.lognormal(7, 1, n)], "x": np.round(rng.normal(size=n), 3)})
        table["label"] = np.where(table["x"] + (table["code"] > 2) + rng.normal(size=n) > 0.5, 1, 0)
        table["x"] = [f"{v}".replace(".", ",") for v in table["x"]]
        table.loc[rng.random(n) < 0.1, "wage"] = "NA"
        table.to_csv("codes.csv", index=False, sep=";")
        train("--file", "codes.csv", "--separator", ";", "--label", "label=1", "--missing", "impute", "--categorical", "zip,code,word",
              "--subject-to", "gap(positive_rate, code) <= 0.2", "--iterations", "50")
        names: dict[str, object] = {}
        exec(blocks()[0], names)
        weights, rows = names["load"]("RUN", "codes.csv")
        score = rows @ weights["linear.weight"][0] + weights["linear.bias"]
        self.same(self.predictions("codes.csv"), score, np.where(score > 0, "1", "0"))
        table.loc[3, "code"] = 9
        table.to_csv("codes.csv", index=False, sep=";")
        with self.assertRaisesRegex(ValueError, "code"):
            names["load"]("RUN", "codes.csv")

    def test_unknown(self) -> None:
        """Unknown categories are refused, or have indicators of 0, as by ppal predict."""
        self.train_people()
        table = people(20)
        table.loc[3, "job"] = "pilot"
        table.to_csv("people.csv", index=False)
        loader, onnx = blocks()
        ppal("export", "RUN", "--onnx", "model.onnx")
        with self.assertRaisesRegex(Exception, "[Uu]nknown"):
            exec(loader + onnx, {})
        ppal("export", "RUN", "--onnx", "model.onnx", "--unknown", "ignore")
        names: dict[str, object] = {}
        exec(loader + onnx, names)
        ppal("predict", "RUN", "--input", "people.csv", "--output", "scores.csv", "--unknown", "ignore")
        self.same(scores(), names["score"], names["decisions"])

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
