"""The common base of the array libraries: they time only the two bare products of an iteration."""

from __future__ import annotations

import numpy as np

from .peer import Peer, Step


class ProductsPeer(Peer):
    """Contenders: the products X W and X'D with W and D's product stored by feature, or by unit."""

    def _multiply(self, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        """out = a b; a or b may be a transposed view of an array without gaps, as the other and out are."""
        raise NotImplementedError

    def _step(self, contender: str) -> Step:
        by_feature = contender == "products by feature"
        x = self.problem.rows("float32")
        n, d = x.shape
        units = self.problem.start.hidden.shape[0]
        rng = np.random.default_rng(1)
        delta = rng.standard_normal((n, units), dtype=np.float32)
        weights = rng.standard_normal((d, units) if by_feature else (units, d), dtype=np.float32)
        scores, gradient = np.empty((n, units), np.float32), np.empty_like(weights)
        if by_feature:

            def step() -> None:
                self._multiply(x, weights, scores)
                self._multiply(x.T, delta, gradient)
        else:

            def step() -> None:
                self._multiply(x, weights.T, scores)
                self._multiply(delta.T, x, gradient)

        step()
        _check("X W", scores[:5], x[:5] @ (weights if by_feature else weights.T))
        _check("X'D", gradient[:5] if by_feature else gradient[:, :5].T, x[:, :5].T @ delta)
        return step


def _check(name: str, got: np.ndarray, want: np.ndarray) -> None:
    """Refuse to time a product whose result differs from numpy's in some rows or columns: libraries are called through pointers."""
    error = np.linalg.norm(got - want) / np.linalg.norm(want)
    if not error < 1e-5:
        raise RuntimeError(f"{name} differs from numpy's by {error:.1e}")
