"""The parent's side of a worker process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class PeerError(Exception):
    """A call to a peer failed. The message gives the reason."""


class Client:
    """A peer in its own process, which ends with the context."""

    def __init__(self, name: str, threads: int, log: Path, *options: str) -> None:
        """Start the process; raise PeerError if the library cannot be loaded. The stderr of the process is appended to log. The options
        are the device and the precision of products, for the peers that have them. On the CPU, the process does not see any GPU.
        The process also gets the caller's PYTHONPATH.
        """
        self.name = name
        path = os.pathsep.join(filter(None, (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"))))
        environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads)) | {"PYTHONPATH": path}
        if "cuda" not in options:
            environment |= {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
        with log.open("a") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.worker", name, str(threads), *options],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment,
            )  # fmt: skip
        self.description: dict = self._reply()

    def call(self, method: str, **arguments: Any) -> Any:
        """Call a method of the peer and wait for its result."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the missing reply reports it
            self._process.stdin.write(json.dumps({"call": method, "arguments": arguments}) + "\n")
            self._process.stdin.flush()
        return self._reply()

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _reply(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"{self.name}: its process ended with status {self._process.wait()}")
        reply = json.loads(line)
        if "error" in reply:
            raise PeerError(f"{self.name}: {reply['error']}")
        return reply["result"]
