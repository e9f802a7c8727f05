"""The measures and the choice of the comparison of rankings."""

import unittest

try:
    import numpy as np

    from peers.rankings import __main__ as command
    from peers.rankings.rows import Rows, _pairs, key
except ImportError:
    raise unittest.SkipTest("numpy is not installed") from None


class Rankings(unittest.TestCase):
    def test_measures_equal_loops(self) -> None:
        rng = np.random.default_rng(1)
        n = 60
        query, grade, group, s = np.sort(rng.integers(0, 5, n)), rng.integers(0, 3, n), rng.integers(0, 2, n), rng.normal(size=n).round(1)
        wrong: dict = {}
        for a in range(n):
            for b in range(n):
                if query[a] == query[b] and grade[a] > 0 == grade[b]:
                    wrong.setdefault((group[a], group[b]), []).append(1.0 if s[a] < s[b] else 0.5 if s[a] == s[b] else 0.0)
        m = Rows(np.zeros((n, 1)), grade, query, group, *_pairs(grade, query)).measure(s)
        self.assertAlmostEqual(m["error"], np.mean(sum(wrong.values(), [])))
        self.assertAlmostEqual(m["gap"], abs(np.mean(wrong[0, 1]) - np.mean(wrong[1, 0])))
        self.assertAlmostEqual(m["pair"], 1 / min(len(wrong[0, 1]), len(wrong[1, 0])))

    def test_choice(self) -> None:
        met = {"train": {"gap": 0.02, "error": 0.3, "pair": 1e-3}}
        better = {"train": {"gap": 0.0205, "error": 0.2, "pair": 1e-3}}
        missed = {"train": {"gap": 0.03, "error": 0.1, "pair": 1e-3}}
        self.assertEqual(sorted([missed, met, better], key=lambda m: key(m, 0.02)), [better, met, missed])
        for contender, grid in command.GRIDS.items():
            tried = command.settings(contender)
            self.assertEqual(len(tried), np.prod([len(v) for v in grid.values()]))
            self.assertTrue(command.at_edge(contender, tried[0]))


if __name__ == "__main__":
    unittest.main()
