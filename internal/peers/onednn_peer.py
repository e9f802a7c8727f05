"""oneDNN: the two bare products of an iteration, where the library is installed.

Debian's package is ``libdnnl2``; PPAL_ONEDNN names the library's file where it is elsewhere. It is called directly (its C interface's
``dnnl_sgemm``, row-major), so no wrapper's copies count.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os

import numpy as np

from .peer import Peer, Step

SONAMES = ("libdnnl.so.3", "libdnnl.so.2")
PLAIN, TRANSPOSED = b"N", b"T"


class _Version(ctypes.Structure):
    """dnnl_version_t; what follows the three numbers differs between versions and is not read."""

    _fields_ = [("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int)]


def _library() -> ctypes.CDLL:
    named = os.environ.get("PPAL_ONEDNN") or ctypes.util.find_library("dnnl")
    for name in [named] if named else SONAMES:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reason = error
    raise RuntimeError(f"oneDNN is not installed (Debian's libdnnl2, or its file in PPAL_ONEDNN): {reason}")


class OneDNNPeer(Peer):
    """Contenders: the products X W and X'D with W and D's product stored by feature, or by unit."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        library = _library()
        library.dnnl_version.restype = ctypes.POINTER(_Version)
        size, matrix = ctypes.c_int64, ctypes.c_void_p
        library.dnnl_sgemm.argtypes = [
            ctypes.c_char, ctypes.c_char, size, size, size, ctypes.c_float, matrix, size, matrix, size, ctypes.c_float, matrix, size,
        ]  # fmt: skip
        self._library = library

    def describe(self) -> dict[str, str]:
        version = self._library.dnnl_version().contents
        return {"oneDNN": f"{version.major}.{version.minor}.{version.patch}"}

    def _multiply(self, trans_a: bytes, trans_b: bytes, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        """out = op(a) op(b), all of them row-major without gaps."""
        rows, cols = out.shape
        inner = a.shape[0] if trans_a == TRANSPOSED else a.shape[1]
        status = self._library.dnnl_sgemm(
            trans_a, trans_b, rows, cols, inner, 1.0, a.ctypes.data, a.shape[1], b.ctypes.data, b.shape[1], 0.0, out.ctypes.data, cols
        )
        if status:
            raise RuntimeError(f"dnnl_sgemm answered {status}")

    def _step(self, contender: str) -> Step:
        x = np.ascontiguousarray(self.problem.rows("float32"))
        n, d = x.shape
        units = self.problem.start.hidden.shape[0]
        rng = np.random.default_rng(1)
        delta = rng.standard_normal((n, units), dtype=np.float32)
        scores = np.empty((n, units), np.float32)
        if contender == "products by feature":
            weights = rng.standard_normal((d, units), dtype=np.float32)
            gradient = np.empty((d, units), np.float32)

            def step() -> None:
                self._multiply(PLAIN, PLAIN, x, weights, scores)
                self._multiply(TRANSPOSED, PLAIN, x, delta, gradient)
        else:
            weights = rng.standard_normal((units, d), dtype=np.float32)
            gradient = np.empty((units, d), np.float32)

            def step() -> None:
                self._multiply(PLAIN, TRANSPOSED, x, weights, scores)
                self._multiply(TRANSPOSED, PLAIN, delta, x, gradient)

        self._check(step, x, weights, delta, scores, gradient, contender)
        return step

    def _check(self, step: Step, x, weights, delta, scores, gradient, contender: str) -> None:
        """Called by way of pointers: refuse to time what does not equal numpy's products (some rows and columns of them)."""
        step()
        by_feature = contender == "products by feature"
        forward = x[:5] @ (weights if by_feature else weights.T)
        backward = x[:, :5].T @ delta
        got = gradient[:5] if by_feature else gradient[:, :5].T
        for name, a, b in (("X W", scores[:5], forward), ("X'D", got, backward)):
            error = np.linalg.norm(a - b) / np.linalg.norm(b)
            if not error < 1e-5:
                raise RuntimeError(f"{name} differs from numpy's by {error:.1e}")
