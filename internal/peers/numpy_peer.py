"""numpy: the two bare products of an iteration, by the BLAS in its wheel."""

from __future__ import annotations

import numpy as np

from .products import ProductsPeer


class NumpyPeer(ProductsPeer):
    """numpy.matmul."""

    def describe(self) -> dict[str, str]:
        blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return {"numpy": np.__version__, "BLAS of numpy": f"{blas['name']} {blas['version']}"}

    def _multiply(self, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        np.matmul(a, b, out=out)
