"""The ppal binary: runs of ``ppal train``, their weights as trained, and ``ppal bench``."""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import safe_open

from .cases import CLASSES, Case
from .problem import Weights


class PpalError(Exception):
    """The program failed. The message has the command line and the program's error."""

    def __init__(self, command: str, reason: str) -> None:
        super().__init__(f"{command}: {reason}")
        self.reason = reason


@dataclass(frozen=True)
class Run:
    """The model, records and summary of a finished run."""

    summary: dict
    records: list[dict]
    weights: Weights  # as trained, without the normalisation that the file folds in
    normalization: dict
    command: str


@dataclass(frozen=True)
class Ppal:
    """The binary with the settings that all its runs share."""

    binary: Path
    threads: int
    data_dir: Callable[[str], Path]  # returns the folder of a data set
    log: Callable[[str], None]  # called with each command
    device: str = "cpu"

    def version(self) -> str:
        """The first line of ``ppal version``."""
        return self._run(["version"]).stdout.splitlines()[0]

    def train(self, case: Case, *flags: str) -> Run:
        """Train the case on the device with the practical preset and these flags. Read and remove the run's files."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            shared = ["--data-dir", str(self.data_dir(case.dataset)), "--threads", str(self.threads), "--device", self.device]
            result = self._run(["train", "--allow-violation", *case.flags(), *flags, *shared, "--out", str(out), "--quiet"])
            weights, normalization = load_model(out / "model.safetensors", case)
            records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
            return Run(json.loads((out / "summary.json").read_text()), records, weights, normalization, result.args)

    def milliseconds(self, case: Case, iterations: int, *flags: str) -> list[float]:
        """Training time of an iteration on all rows, in a run that records only the first and the last iteration."""
        run = self.train(case, "--iterations", str(iterations), "--record-every", str(iterations), "--samples", "none", *flags)
        return [1e3 * run.summary["seconds"] / iterations]

    def has(self, words: str, *command: str) -> bool:
        """Whether a line in the help of a command starts with these words."""
        usage = self._run([*command, "--help"]).stdout
        return any(line.strip().startswith(words) for line in usage.splitlines())

    def products(self) -> list[str]:
        """The kinds of products with the data that this binary supports on this machine."""
        if "with two" in self._run(["devices"]).stdout:  # of 8-bit data
            return ["int8x3", "float32", "int8x2"]
        return ["float32"]

    def bench(self, name: str, dataset: str) -> dict:
        """The case of that name in ``ppal bench --json``. Raise PpalError if this binary or machine cannot run it."""
        shared = ["--data-dir", str(self.data_dir(dataset)), "--threads", str(self.threads)]
        report = json.loads(self._run(["bench", "--json", "--cases", name, *shared]).stdout)
        return next(case for case in report["cases"] if case["name"] == name)

    def _run(self, arguments: list[str]) -> subprocess.CompletedProcess:
        command = [str(self.binary), *arguments]
        line = shlex.join(command)
        if arguments[0] in ("train", "bench"):
            self.log(line)
        try:
            result = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise PpalError(str(self.binary), f"{error.strerror}; build it with: make build") from error
        if result.returncode != 0:
            raise PpalError(line, result.stderr.strip().removeprefix("ppal: ") or f"exit status {result.returncode}")
        result.args = line
        return result


def load_model(path: Path, case: Case) -> tuple[Weights, dict]:
    """The weights that act on standardised rows, b = b_raw + W_raw c and W = s W_raw, and the normalisation's c and s."""
    with safe_open(path, "numpy") as file:
        tensors = {name: file.get_tensor(name).astype(np.float64) for name in file.keys()}
        normalization = json.loads(file.metadata()["normalization"])
    center, deviation = np.array(normalization["center"]), normalization["deviation"]
    if case.heads == "shared":
        raw = [tensors[f"{layer}.{kind}"] for layer in ("hidden", "output") for kind in ("weight", "bias")]
    else:
        heads = range(len(CLASSES))
        raw = [np.concatenate([tensors[f"head.{i}.{layer}.{kind}"] for i in heads])
               for layer in ("hidden", "output") for kind in ("weight", "bias")]  # fmt: skip
    hidden, bias, output, output_bias = raw
    return Weights(hidden * deviation, bias + hidden @ center, output, output_bias), {"center": center, "deviation": deviation}
