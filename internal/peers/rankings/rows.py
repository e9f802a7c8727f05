"""The documents of a fold of MQ2008, their pairs, and the measures of scores.

A pair (i, j) has documents of one query, of which i is relevant and j is not. It is wrong if s_i < s_j, and half wrong if the scores are
equal. The gap is |err(0>1) - err(1>0)|, where err(a>b) is the share of wrong pairs with i in group a and j in group b.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

FEATURES, QUALITY = 40, 41  # columns 1 to 40 are features; the group is column 41 above its 40th percentile in the training rows


class Rows(NamedTuple):
    """Documents, in the order of the files, and all pairs of relevant and other documents of a query."""

    x: np.ndarray  # (documents, 81), float32: columns, group, means of the columns over the query
    grade: np.ndarray
    query: np.ndarray  # consecutive numbers from 0
    group: np.ndarray
    i: np.ndarray
    j: np.ndarray

    @property
    def cell(self) -> np.ndarray:
        """The cell of each pair: 2 group(i) + group(j)."""
        return 2 * self.group[self.i] + self.group[self.j]

    def measure(self, scores: np.ndarray) -> dict[str, float]:
        """Return the error of all pairs, the gap, the excess of the gap over a pair of the smaller cell, and NDCG@10."""
        s = np.asarray(scores, float)
        wrong = (s[self.i] < s[self.j]) + 0.5 * (s[self.i] == s[self.j])
        pairs = np.bincount(self.cell, minlength=4)
        share = np.bincount(self.cell, wrong, 4) / pairs
        return {"error": float(wrong.mean()), "gap": float(abs(share[1] - share[2])), "pair": 1 / float(min(pairs[1:3])), "ndcg": self._ndcg(s)}

    def _ndcg(self, scores: np.ndarray, places: int = 10) -> float:
        """The mean over the queries with a relevant document; equal scores are in the order of the file."""
        found = []
        for q in np.unique(self.query):
            s, gain = scores[self.query == q], 2.0 ** self.grade[self.query == q] - 1
            weight = 1 / np.log2(np.arange(2, 2 + min(places, len(s))))
            best = np.sort(gain)[::-1][:places] @ weight
            if best:
                found.append(gain[np.argsort(-s, kind="stable")][:places] @ weight / best)
        return float(np.mean(found))


def load(data: Path, fold: int) -> tuple[Rows, Rows, Rows]:
    """Return the training, validation and test rows. Means and deviations are those of the training rows."""
    parts = [_read([data / f"mq2008/S{(fold - 1 + k) % 5 + 1}.txt" for k in files]) for files in ([0, 1, 2], [3], [4])]
    cut = np.percentile(parts[0][2][:, QUALITY - 1], 40)
    ready = []
    for grade, query, x in parts:
        group = (x[:, QUALITY - 1] > cut).astype(np.int64)
        columns, count = x[:, :FEATURES], np.bincount(query)[:, None]
        means = np.stack([np.bincount(query, c) for c in columns.T], axis=1) / count
        ready.append((np.column_stack([columns, group, means[query]]), grade, query, group))
    center, scale = ready[0][0].mean(axis=0), ready[0][0].std(axis=0)
    scale[scale < 1e-9] = np.inf  # constant columns
    return tuple(Rows(((x - center) / scale).astype(np.float32), grade, query, group, *_pairs(grade, query)) for x, grade, query, group in ready)  # type: ignore[return-value]


def _read(files: list[Path]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    lines = [line.partition("#")[0].split() for file in files for line in file.read_text().splitlines()]
    query = np.unique([int(t[1][4:]) for t in lines], return_inverse=True)[1]
    return np.array([int(t[0]) for t in lines]), query, np.array([[float(v.partition(":")[2]) for v in t[2:]] for t in lines])


def _pairs(grade: np.ndarray, query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    i, j = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for q in range(query.max() + 1):
        a, b = np.flatnonzero((query == q) & (grade > 0)), np.flatnonzero((query == q) & (grade == 0))
        i.append(np.repeat(a, len(b)))
        j.append(np.tile(b, len(a)))
    return np.concatenate(i), np.concatenate(j)


class Best:
    """The scorer of the records that a user would keep: the least training error within the bound, else the least gap."""

    def __init__(self, rows: tuple[Rows, Rows, Rows], bound: float) -> None:
        self.rows, self.bound = rows, bound
        self.found: dict | None = None

    def record(self, scores: tuple[np.ndarray, np.ndarray, np.ndarray], **more: float) -> None:
        """Measure scores of the three splits, and keep them if they are the best."""
        new = {part: r.measure(s) for part, r, s in zip(("train", "validation", "test"), self.rows, scores)} | more
        if self.found is None or key(new, self.bound) < key(self.found, self.bound):
            self.found = new


def key(measured: dict, bound: float) -> tuple[float, float]:
    """Order results: those that meet the bound on counted training pairs, to one pair, by their error, then the others by their gap."""
    t = measured["train"]
    return (0.0, t["error"]) if t["gap"] <= bound + t["pair"] else (1.0, t["gap"])
