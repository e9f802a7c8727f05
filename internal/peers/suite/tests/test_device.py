"""The augmented Lagrangian takes the same path with PyTorch's vectors (on the CPU) as with NumPy's, up to rounding."""

from __future__ import annotations

import unittest

import numpy as np
import torch

from peers.problem import Problem, Weights, moments
from peers.solver_peer import CapturedSource, DeviceSource, LagrangianPeer, TorchSource
from peers.suite.augmented_lagrangian import MatrixPairs, Pairs
from peers.torch_peer import Network

COUNTS, FEATURES, UNITS = (40, 30, 50), 12, 5


def problem(theta: float) -> Problem:
    """Three classes of random pixels around different means."""
    rng = np.random.default_rng(1)
    pixels = np.concatenate([rng.integers(40 * k, 120 + 40 * k, (n, FEATURES), np.uint8) for k, n in enumerate(COUNTS)])
    center, deviation = moments(pixels)
    sizes = (UNITS, FEATURES), (UNITS,), (len(COUNTS), UNITS), (len(COUNTS),)
    start = Weights(*(rng.standard_normal(s).astype(np.float32) / 2 for s in sizes))
    return Problem(pixels, COUNTS, center, deviation, "shared", 0.2, theta, start)


class Vectors(unittest.TestCase):
    def test_the_augmented_lagrangian_takes_the_same_path(self) -> None:
        paths = []
        for theta in (40.0, 3.0):  # the ball is inactive, and active
            runs = []
            for source in (TorchSource, DeviceSource):
                peer = LagrangianPeer(1)
                peer.problem = problem(theta)
                peer._source = source(peer.problem, Network.of(peer.problem, "float32"))
                runs.append(peer.run({"penalty": 1.0, "cap": 0.05, "inner": 5}, until=25))
            numpy, torch = ([(p[0], p[2], p[3]) for p in run["points"]] for run in runs)
            self.assertGreater(len(numpy), 20)
            paths.append(numpy)
            np.testing.assert_allclose(torch, numpy, rtol=2e-4, atol=1e-6)
            np.testing.assert_allclose(runs[1]["losses"], runs[0]["losses"], rtol=2e-4, atol=1e-6)
        self.assertNotEqual(*paths)

    def test_pairs_in_a_matrix_are_the_same_pairs(self) -> None:
        """Also after pairs of negative curvature, pairs that are not finite, and more pairs than the memory holds."""
        for memory in (1, 4):
            rng = np.random.default_rng(1)
            plain, matrix = Pairs(memory), MatrixPairs(memory)
            for k in range(12):
                s, v = rng.standard_normal(50), rng.standard_normal(50)
                y = (1 + rng.random(50)) * s * {2: -1.0, 5: np.nan, 6: np.inf}.get(k, 1.0)
                plain.add(s, y)
                matrix.add(torch.from_numpy(s), torch.from_numpy(y))
                np.testing.assert_allclose(matrix.times(torch.from_numpy(v)), plain.times(v), rtol=1e-12, atol=1e-14)
                self.assertEqual(len(matrix._order), len(plain._pairs))
                self.assertLessEqual(len(plain._pairs), memory)
            matrix.clear()
            self.assertFalse(matrix)

    @unittest.skipUnless(torch.cuda.is_available(), "needs a GPU")
    def test_captured_passes_are_the_passes(self) -> None:
        given = problem(40.0)
        network = Network.of(given, "float32", "cuda")
        eager, captured = DeviceSource(given, network), CapturedSource(given, network)
        for scale in (1.0, 0.5):
            x = scale * eager.start
            np.testing.assert_allclose(captured.forward(x), eager.forward(x), rtol=1e-5)
            for w in (np.array([1.0, 0.0, 2.0]), np.array([1.0, 3.0, 0.5])):
                np.testing.assert_allclose(captured.backward(w).cpu(), eager.backward(w).cpu(), rtol=1e-3, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
