"""The common base of the contenders."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from .rows import Problem, Rows

# A fitted classifier: a name, the number of models, and each row's probability to be accepted.
Candidate = tuple[str, int, np.ndarray]


class DecisionsPeer:
    """Fits problems. Public methods are called from ppal's process, with and for values that JSON can carry."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._loaded = ("", "")
        self._rows: Rows
        self._train: Rows

    def describe(self) -> dict[str, str]:
        """Versions."""
        raise NotImplementedError

    def fit(self, contender: str, folder: str, kind: str, bound: float, setting: dict) -> dict:
        """Fit a problem. The time is that of the fit on rows in memory; measuring the decisions of all rows is not timed."""
        features = "scores" if setting.get("scores") else "features"
        if (folder, features) != self._loaded:
            self._rows = Rows.load(Path(folder), features)
            self._train, self._loaded = self._rows.train, (folder, features)
        run = self._prepare(contender, Problem(kind, bound), setting)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            wall, cpu = time.perf_counter(), time.process_time()
            measure = run()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        points = [
            {"name": name, "models": models, "accepted": self._rows.accepted(probability)}
            for name, models, probability in measure(self._rows)
        ]
        notes = sorted({f"{w.category.__name__}: {str(w.message).splitlines()[0]}" for w in caught})
        return {"seconds": wall, "cpu": cpu, "points": points, "notes": notes}

    def _prepare(self, contender: str, problem: Problem, setting: dict) -> Callable[[], Callable[[Rows], Iterable[Candidate]]]:
        """Return the timed fit on self._train, which returns the untimed measurement."""
        raise NotImplementedError
