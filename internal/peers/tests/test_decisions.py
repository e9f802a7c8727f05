"""The contenders of `ppal reproduce decisions`, on small rows. A test is skipped if its packages are not installed."""

import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

HAVE_NUMPY = find_spec("numpy") is not None
HAVE_SCIPY = HAVE_NUMPY and find_spec("scipy") is not None
HAVE_FAIRLEARN = find_spec("fairlearn") is not None
HAVE_SKLEARN = HAVE_NUMPY and find_spec("sklearn") is not None
HAVE_COOPER = find_spec("cooper") is not None

if HAVE_NUMPY:
    import numpy as np

    from peers.decisions.rows import Problem, Rows


def rows(n: int = 400) -> "Rows":
    """The second feature depends on the group; three quarters of the rows are training rows."""
    rng = np.random.default_rng(1)
    groups = np.arange(n) % 2
    features = rng.normal(size=(n, 2)) + np.outer(groups, [0.0, 1.0])
    labels = (features.sum(1) + rng.normal(size=n) > 0.5).astype(np.int64)
    splits = np.where(np.arange(n) < 3 * n // 4, 0, np.where(np.arange(n) < 7 * n // 8, 1, 2))
    return Rows(features, labels, groups, splits)


@contextmanager
def stored() -> Iterator[Path]:
    """A folder with the files of the rows."""
    with TemporaryDirectory() as folder:
        for name in ("features", "labels", "groups", "splits"):
            np.save(Path(folder) / f"{name}.npy", getattr(rows(), name))
        yield Path(folder)


@unittest.skipUnless(HAVE_NUMPY, "needs NumPy")
class Counted(unittest.TestCase):
    def test_accepted_rows_are_counted_by_split_group_and_label(self) -> None:
        r = rows()
        accepted = np.array(r.accepted(np.full(400, 0.5)))
        self.assertEqual(accepted.shape, (3, 2, 2))
        self.assertEqual(accepted.sum(), 200)
        at = (r.splits == 1) & (r.groups == 1) & (r.labels == 0)
        self.assertEqual(accepted[1, 1, 0], at.sum() / 2)

    def test_constraints_are_the_signed_gaps(self) -> None:
        r = rows().train
        accept = r.labels == 1
        gap = accept[r.groups == 1].mean() - accept[r.groups == 0].mean()
        np.testing.assert_allclose(Problem("dp", 0.01).constraints(r) @ accept, [gap, -gap])
        np.testing.assert_allclose(Problem("eo", 0.01).constraints(r) @ accept, np.zeros(4), atol=1e-12)
        np.testing.assert_allclose(Problem("np", 0.01).constraints(r) @ np.ones(len(accept)), [1.0])

    def test_errors(self) -> None:
        r = rows().train
        nobody = np.zeros(len(r.labels), bool)
        self.assertAlmostEqual(Problem("dp", 0.01).error(r, nobody), r.labels.mean())
        self.assertAlmostEqual(Problem("np", 0.01).error(r, nobody), 1.0)


@unittest.skipUnless(HAVE_SKLEARN, "needs scikit-learn")
class Thresholds(unittest.TestCase):
    def test_the_best_threshold_is_that_of_a_search_over_all(self) -> None:
        from peers.decisions.thresholds import best_threshold

        r = rows().train
        scores = np.round(r.features.sum(1), 1)  # with ties
        for kind, bound in (("dp", 0.05), ("eo", 0.1), ("np", 0.2)):
            problem = Problem(kind, bound)
            decided = scores > best_threshold(problem, r, scores)
            limit = bound + problem.slack(r) + 1e-9
            errors = [
                problem.error(r, scores > t)
                for t in [*np.unique(scores), -np.inf]
                if (problem.constraints(r) @ (scores > t)).max() <= limit
            ]
            self.assertLessEqual((problem.constraints(r) @ decided).max(), limit)
            self.assertAlmostEqual(problem.error(r, decided), min(errors))


@unittest.skipUnless(HAVE_SCIPY, "needs SciPy")
class Games(unittest.TestCase):
    def test_the_best_index_has_the_smallest_larger_rank(self) -> None:
        from peers.decisions.games import best_index

        self.assertEqual(best_index(np.array([0.1, 0.2, 0.3]), np.array([[0.5], [0.0], [-0.1]])), 1)
        self.assertEqual(best_index(np.array([0.3, 0.2, 0.1]), np.array([[0.0], [-0.2], [-0.1]])), 2)

    def test_the_best_distribution_mixes_up_to_the_bound(self) -> None:
        from peers.decisions.games import best_distribution

        np.testing.assert_allclose(best_distribution(np.array([0.1, 0.3]), np.array([[0.1], [-0.3]])), [0.75, 0.25], atol=1e-9)
        shares = best_distribution(np.array([0.1, 0.3]), np.array([[0.2], [0.1]]))  # infeasible: the least violation
        np.testing.assert_allclose(shares, [0, 1], atol=1e-4)

    def test_the_stationary_distribution_is_kept(self) -> None:
        from peers.decisions.games import stationary

        matrix = np.array([[0.9, 0.2], [0.1, 0.8]])
        np.testing.assert_allclose(stationary(matrix), [2 / 3, 1 / 3], atol=1e-4)

    def test_the_gradient_is_that_of_the_surrogate(self) -> None:
        from peers.decisions.games import BATCH, Game

        r = rows().train
        problem = Problem("np", 0.1)
        game = Game(problem, r, {"surrogate": "sigmoid", "rate": 1.0})
        batch, m = np.arange(BATCH), len(problem.constraints(r))
        share, n = problem.objective(r)[batch], len(r.labels)
        effect = problem.constraints(r)[:, batch]
        weights = np.append(1 - 1e-3 * m / (m + 1), np.full(m, 1e-3 / (m + 1)))

        def lagrangian(w: "np.ndarray") -> float:
            s = game.x[batch] @ w
            p = 1 / (1 + np.exp(-s))
            cost = np.where(r.labels[batch] == 1, 1 - p, p)
            return n / BATCH * (weights[0] * share @ cost + weights[1:] @ (effect @ p))

        seen = []
        game.primal.step = lambda g: seen.append(g) or np.zeros_like(g)  # type: ignore[method-assign]
        game.step(batch)
        at, h = np.zeros(3), 1e-6
        difference = [(lagrangian(at + h * e) - lagrangian(at - h * e)) / (2 * h) for e in np.eye(3)]
        np.testing.assert_allclose(seen[0], difference, rtol=1e-4, atol=1e-8)


class Fits(unittest.TestCase):
    """Every contender fits the small rows and keeps about its bound."""

    def fit(self, peer: object, contender: str, kind: str, bound: float, **setting: object) -> dict:
        with stored() as folder:
            result = peer.fit(contender, str(folder), kind, bound, setting)  # type: ignore[attr-defined]
        self.assertGreater(result["seconds"], 0)
        return result

    def gap(self, accepted: list) -> float:
        totals, train = np.array(rows().accepted(np.ones(400)))[0], np.array(accepted)[0]
        rate = train.sum(1) / totals.sum(1)
        return abs(rate[1] - rate[0])

    @unittest.skipUnless(HAVE_FAIRLEARN, "needs fairlearn")
    def test_fairlearn(self) -> None:
        from peers.decisions.fairness import FairlearnPeer

        peer = FairlearnPeer(1)
        learner = {"solver": "liblinear"}
        mixture = self.fit(peer, "exponentiated-gradient", "dp", 0.1, difference_bound=0.05, eps=0.01, max_iter=50, **learner)["points"]
        self.assertLessEqual(self.gap(mixture[0]["accepted"]), 0.11)
        grid = self.fit(peer, "grid-search", "eo", 0.1, grid_size=21, grid_limit=1.0, **learner)["points"]
        self.assertEqual(len(grid), 21)
        self.assertIn("edge", {p["name"] for p in grid})
        optimized = self.fit(peer, "threshold-optimizer", "dp", 0.1, grid_size=1000, tol=0.1, **learner)["points"]
        self.assertLessEqual(self.gap(optimized[0]["accepted"]), 0.1 + 1e-6)

    @unittest.skipUnless(HAVE_FAIRLEARN, "needs fairlearn")
    def test_thresholds_on_scores_of_trees(self) -> None:
        from peers.decisions.fairness import FairlearnPeer
        from peers.decisions.trees import TreesPeer

        with stored() as folder:
            TreesPeer(1).score(str(folder))
            r = Rows.load(folder, "scores")
            result = FairlearnPeer(1).fit("threshold-optimizer", str(folder), "dp", 0.1, {"scores": True, "grid_size": 1000, "tol": 0.1})
        self.assertLessEqual(self.gap(result["points"][0]["accepted"]), 0.1 + 1e-6)
        wrong = ((r.features[:, 0] > 0.5) != (r.labels == 1))
        own, held = wrong[r.splits == 0].mean(), wrong[r.splits > 0].mean()
        self.assertLess(abs(own - held), 0.1)  # trees fit the rows that they saw nearly without errors
        self.assertGreater(own, 0.1)

    @unittest.skipUnless(HAVE_SCIPY, "needs SciPy")
    def test_proxy_lagrangian(self) -> None:
        from peers.decisions.games import ProxyLagrangianPeer

        points = self.fit(ProxyLagrangianPeer(1), "proxy-lagrangian", "dp", 0.1, surrogate="sigmoid", rate=0.03, epochs=400)["points"]
        self.assertEqual([p["name"] for p in points], ["last", "best", "distribution"])
        self.assertLessEqual(self.gap(points[2]["accepted"]), 0.11)

    @unittest.skipUnless(HAVE_COOPER, "needs Cooper")
    def test_cooper(self) -> None:
        from peers.decisions.proxies import CooperProxyPeer

        points = self.fit(CooperProxyPeer(1), "cooper", "dp", 0.1, objective="sigmoid", rate=0.1, dual_rate=0.1, iterations=300)["points"]
        self.assertLessEqual(self.gap(points[1]["accepted"]), 0.1 + 1 / 150 + 1e-6)


if __name__ == "__main__":
    unittest.main()
