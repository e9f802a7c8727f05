"""The multi-class Neyman-Pearson problem with a two-layer network, and its gradient by hand: the reference of all contenders.

With X the standardised rows, S [n, C] the scores, c_i the class of row i, sigma the logistic function:

    A = sigma(X W1' + b1),   S = A V' + c (shared), S_h = A_h . V_h + c_h (separate: head h has units A_h of its own)
    l_i = sum_{j != c_i} 1/(1 + exp(S[i, c_i] - S[i, j])),    L_k = mean of l over class k
    f = L_0,   g_k = L_k - kappa,   k = 1..C-1
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

BLOCK = 4096  # rows that are converted at a time


@dataclass(frozen=True)
class Weights:
    """W1 [units, d], b1 [units], V [C, units] (separate: [C, units of a head]), c [C], for standardised rows."""

    hidden: np.ndarray
    hidden_bias: np.ndarray
    output: np.ndarray
    output_bias: np.ndarray

    def arrays(self) -> list[np.ndarray]:
        """The four arrays in the fields' order."""
        return [self.hidden, self.hidden_bias, self.output, self.output_bias]

    def vector(self) -> np.ndarray:
        """All weights in one float64 vector."""
        return np.concatenate([a.ravel() for a in self.arrays()]).astype(np.float64)

    def save(self, path: Path) -> None:
        """Write the arrays as .npz."""
        np.savez(path, *self.arrays())

    @staticmethod
    def load(path: Path) -> Weights:
        """Read a file that save wrote."""
        with np.load(path) as stored:
            return Weights(*(stored[name] for name in stored.files))


@dataclass(frozen=True)
class Problem:
    """8-bit rows grouped by class, their standardisation, the shape of the network, the bounds and the start."""

    pixels: np.ndarray  # uint8 [n, d]
    counts: tuple[int, ...]  # rows of each class
    center: np.ndarray  # c [d], of pixels/255
    deviation: float  # s
    heads: str
    kappa: float
    theta: float
    start: Weights

    @property
    def labels(self) -> np.ndarray:
        """The class of each row, as an index."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def rows(self, dtype: str) -> np.ndarray:
        """(pixels/255 - c)/s, computed in float64 and rounded once: a new contiguous array."""
        standard = np.empty(self.pixels.shape, dtype)
        for low in range(0, len(standard), BLOCK):
            block = self.pixels[low : low + BLOCK]
            standard[low : low + BLOCK] = (block / 255.0 - self.center) / self.deviation
        return standard

    def save(self, folder: Path) -> None:
        """Write everything to a folder for the worker processes."""
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "pixels.npy", self.pixels)
        np.save(folder / "center.npy", self.center)
        self.start.save(folder / "start.npz")
        settings = {
            "counts": self.counts,
            "deviation": self.deviation,
            "heads": self.heads,
            "kappa": self.kappa,
            "theta": self.theta,
        }
        (folder / "problem.json").write_text(json.dumps(settings))

    @staticmethod
    def load(folder: Path) -> Problem:
        """Read a file that save wrote."""
        settings = json.loads((folder / "problem.json").read_text())
        return Problem(
            pixels=np.load(folder / "pixels.npy"), counts=tuple(settings["counts"]), center=np.load(folder / "center.npy"),
            deviation=settings["deviation"], heads=settings["heads"], kappa=settings["kappa"], theta=settings["theta"],
            start=Weights.load(folder / "start.npz"),
        )  # fmt: skip


def moments(pixels: np.ndarray) -> tuple[np.ndarray, float]:
    """c_j, the mean of pixels/255 in column j, and s, one standard deviation of the whole centred matrix. Sums are exact."""
    n, d = pixels.shape
    total = np.zeros(d, np.int64)
    square = np.zeros(d, np.int64)
    for low in range(0, n, BLOCK):
        block = pixels[low : low + BLOCK].astype(np.int64)
        total += block.sum(0)
        square += (block * block).sum(0)
    spread = int((n * square - total * total).sum())  # n times the sum of squared deviations, exact
    return total / n / 255.0, (spread / d) ** 0.5 / n / 255.0


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1/(1 + exp(-x)) without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


def output_matrix(output: np.ndarray, heads: str) -> np.ndarray:
    """The second layer as one [C, units] matrix: block-diagonal for separate heads."""
    if heads == "shared":
        return output
    classes, units = output.shape
    full = np.zeros((classes, classes * units), output.dtype)
    for k in range(classes):
        full[k, k * units : (k + 1) * units] = output[k]
    return full


def class_losses(problem: Problem, weights: Weights) -> np.ndarray:
    """L [C] in float64."""
    return losses_and_gradient(problem, weights, None)[0]


def losses_and_gradient(problem: Problem, weights: Weights, w: np.ndarray | None) -> tuple[np.ndarray, Weights | None]:
    """L [C], and grad f + sum_k w_k grad g_k if w [C-1] is given, all in float64."""
    w1, b1, v, c = (a.astype(np.float64) for a in weights.arrays())
    v = output_matrix(v, problem.heads)
    x = problem.rows("float64")
    labels, counts = problem.labels, np.array(problem.counts)
    everyone = np.arange(len(labels))

    a = sigmoid(x @ w1.T + b1)
    scores = a @ v.T + c
    p = sigmoid(scores - scores[everyone, labels][:, None])  # 1/(1 + exp(own - other))
    p[everyone, labels] = 0.0
    losses = np.bincount(labels, p.sum(1)) / counts
    if w is None:
        return losses, None

    slope = p * (1.0 - p) * (np.concatenate([[1.0], w]) / counts)[labels][:, None]
    slope[everyone, labels] = -slope.sum(1)
    dv = slope.T @ a
    dz = (slope @ v) * a * (1.0 - a)
    if problem.heads == "separate":
        units = weights.output.shape[1]
        dv = np.stack([dv[k, k * units : (k + 1) * units] for k in range(len(counts))])
    return losses, Weights(dz.T @ x, dz.sum(0), dv, slope.sum(0))
