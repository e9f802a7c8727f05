"""ppal's problem in another process: ``ppal reproduce suite --oracle PROBLEM``.

The process speaks on its stdin and stdout, in binary, little-endian:

    it writes   a line of JSON: problem, n, m, radius, lower, upper (or null), dtype; then x_0, n float64
    'F' x       f and g_1..g_m at x, 1 + m float64
    'B' w       w_0 grad f + sum_j w_j grad g_j at the x of the last F, n float64
    'R' x       nothing: x is the point that the contender returns
    'Q'         nothing: the end
"""

from __future__ import annotations

import json
import shlex
import subprocess
from contextlib import suppress
from types import TracebackType

import numpy as np

from .sets import WeightSet

NUMBER = np.dtype("<f8")


class OracleError(RuntimeError):
    """The oracle's process failed. Its stderr says why."""


class Oracle:
    """The client. Use as a context: the process ends with it."""

    def __init__(self, command: str) -> None:
        """Start the process and read the problem."""
        self.command = command
        try:
            self._process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise OracleError(f"{command}: {error.strerror}") from error
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        try:
            stated = json.loads(line)
            self.name: str = stated["problem"]
            self.dtype: str = stated["dtype"]
            self.constraints = int(stated["m"])
            self.weights = WeightSet(stated["radius"], stated["lower"], stated["upper"])
            n = int(stated["n"])
        except (ValueError, KeyError, TypeError) as error:
            self.close()
            why = f"bad first line: {error}" if line else f"ended with status {self._process.returncode}"
            raise OracleError(f"{command}: {why}") from error
        self.start = self._read(n)

    def forward(self, x: np.ndarray) -> np.ndarray:
        """f and g at x."""
        self._write(b"F", x)
        return self._read(1 + self.constraints)

    def backward(self, w: np.ndarray) -> np.ndarray:
        """w_0 grad f + sum_j w_j grad g_j at the x of the last forward call."""
        self._write(b"B", w)
        return self._read(len(self.start))

    def give(self, x: np.ndarray) -> None:
        """State the point that the contender returns."""
        self._write(b"R", x)

    def close(self) -> None:
        """End the process, and wait until its trace is written."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(b"Q")
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _write(self, request: bytes, numbers: np.ndarray) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the missing answer reports it
            self._process.stdin.write(request + np.ascontiguousarray(numbers, NUMBER).tobytes())
            self._process.stdin.flush()

    def _read(self, count: int) -> np.ndarray:
        assert self._process.stdout is not None
        data = self._process.stdout.read(NUMBER.itemsize * count)
        if len(data) != NUMBER.itemsize * count:
            raise OracleError(f"{self.command}: ended with status {self._process.wait()}")
        return np.frombuffer(data, NUMBER).astype(np.float64)

