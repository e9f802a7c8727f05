"""numpy: the two bare products of an iteration, by the BLAS in its wheel."""

from __future__ import annotations

import numpy as np

from .peer import Peer, Step


class NumpyPeer(Peer):
    """Contenders: the products X W and X'D with W and D's product stored by feature, or by unit."""

    def describe(self) -> dict[str, str]:
        blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return {"numpy": np.__version__, "BLAS of numpy": f"{blas['name']} {blas['version']}"}

    def _step(self, contender: str) -> Step:
        x = self.problem.rows("float32")
        n, d = x.shape
        units = self.problem.start.hidden.shape[0]
        rng = np.random.default_rng(1)
        delta = rng.standard_normal((n, units), dtype=np.float32)
        scores = np.empty((n, units), np.float32)
        if contender == "products by feature":
            weights = rng.standard_normal((d, units), dtype=np.float32)
            gradient = np.empty((d, units), np.float32)

            def step() -> None:
                np.matmul(x, weights, out=scores)
                np.matmul(x.T, delta, out=gradient)
        else:
            weights = rng.standard_normal((units, d), dtype=np.float32)
            gradient = np.empty((units, d), np.float32)

            def step() -> None:
                np.matmul(x, weights.T, out=scores)
                np.matmul(delta.T, x, out=gradient)

        return step
