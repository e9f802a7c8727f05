"""oneDNN: the two bare products of an iteration, if the library is installed.

Debian's package is ``libdnnl2``; PPAL_ONEDNN names the library's file where it is elsewhere. It is called directly (its C interface's
``dnnl_sgemm``, row-major), so no wrapper's copies count.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os

import numpy as np

from .products import ProductsPeer

SONAMES = ("libdnnl.so.3", "libdnnl.so.2")


class _Version(ctypes.Structure):
    """dnnl_version_t; the fields after the three numbers differ between versions and are not read."""

    _fields_ = [("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int)]


def _library() -> ctypes.CDLL:
    named = os.environ.get("PPAL_ONEDNN") or ctypes.util.find_library("dnnl")
    for name in [named] if named else SONAMES:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reason = error
    raise RuntimeError(f"oneDNN is not installed (Debian's libdnnl2, or its file in PPAL_ONEDNN): {reason}")


class OneDNNPeer(ProductsPeer):
    """dnnl_sgemm."""

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

    def _multiply(self, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        rows, cols = out.shape
        (trans_a, step_a), (trans_b, step_b) = _stored(a), _stored(b)
        status = self._library.dnnl_sgemm(
            trans_a, trans_b, rows, cols, a.shape[1], 1.0, a.ctypes.data, step_a, b.ctypes.data, step_b, 0.0, out.ctypes.data, cols
        )
        if status:
            raise RuntimeError(f"dnnl_sgemm answered {status}")


def _stored(a: np.ndarray) -> tuple[bytes, int]:
    """Whether a matrix is stored by rows or transposed, and the length of a stored row."""
    return (b"N", a.shape[1]) if a.flags.c_contiguous else (b"T", a.shape[0])
