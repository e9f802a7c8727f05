"""The data, the start, the folders and the processes that all parts share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from . import data
from .cases import Case
from .client import Client
from .ppal import Ppal
from .problem import Problem, moments
from .results import Results

TITLES = {"fashion-mnist": "Fashion-MNIST", "cifar10": "CIFAR-10"}


@dataclass
class Context:
    """One run of the comparison."""

    work: Path  # for files that processes exchange
    data_dir: Path
    binary: Path
    threads: int
    seed: int
    results: Results
    device: str = "cpu"  # the device on which ppal and the headline's rivals train: cpu or cuda
    matmul: str = "highest"  # the precision of products of the rivals of the headline
    say: Callable[[str], None] = print
    _folders: dict[str, Path] = field(default_factory=dict)  # the folder of each data set's files
    _random: set[str] = field(default_factory=set)  # the random data sets

    @property
    def ppal(self) -> Ppal:
        """The binary; its commands are recorded with the part."""
        return Ppal(self.binary, self.threads, self.folder, self.results.command, self.device)

    def client(self, peer: str, *options: str) -> Client:
        """Start a peer's process with its options."""
        self.work.mkdir(parents=True, exist_ok=True)
        return Client(peer, self.threads, self.work / "peers.log", *options)

    def folder(self, dataset: str) -> Path:
        """Return the folder of the data set: the user's files, or random files of the same shape if they are absent."""
        if dataset not in self._folders:
            self._folders[dataset] = self._find(dataset)
        return self._folders[dataset]

    def is_random(self, dataset: str) -> bool:
        """Whether the data set's files are absent and replaced by random pixels."""
        self.folder(dataset)
        return dataset in self._random

    @staticmethod
    def not_run(dataset: str) -> dict:
        """The result that replaces a measurement that needs the files."""
        return {"not_run": f"needs the files of {TITLES[dataset]}: random pixels have no classes to learn"}

    def problem(self, case: Case, seed: int | None = None) -> tuple[Problem, Path]:
        """The case's rows and ppal's start from the run's seed, in memory and in a folder for the peers."""
        seed = self.seed if seed is None else seed
        start = self.ppal.train(case, "--iterations", "0", "--dtype", "float64", "--seed", str(seed)).weights
        pixels, counts = data.select(*data.read(case.dataset, self.folder(case.dataset)), case.rows_per_class)
        center, deviation = moments(pixels)
        problem = Problem(pixels, counts, center, deviation, case.heads, case.kappa, case.theta or inf, start)
        folder = self.work / "cases" / case.name
        problem.save(folder)
        return problem, folder

    def _find(self, dataset: str) -> Path:
        try:
            data.read(dataset, self.data_dir)
            return self.data_dir
        except data.DataError as error:
            self.say(f"{error}; random 8-bit pixels of {TITLES[dataset]}'s shape take its place")
        self._random.add(dataset)
        folder = self.work / "random"
        data.synthesise(dataset, folder, seed=1)
        return folder
