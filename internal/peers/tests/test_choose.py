"""Selection by feasibility first, then objective; targets."""

import unittest
from math import inf, nan

from peers.choose import Point, best_of, best_until, first_hit, rank, worst_after


def point(iteration: int, objective: float, worst: float) -> Point:
    return Point(iteration, 0.1 * iteration, objective, worst)


def itself(p: Point | None) -> Point | None:
    return p


class Feasibility(unittest.TestCase):
    def test_a_bound_is_met_up_to_a_thousandth(self) -> None:
        self.assertTrue(point(1, 0.5, 1e-3).feasible)
        self.assertFalse(point(1, 0.5, 1.001e-3).feasible)

    def test_a_number_that_is_not_finite_is_never_feasible(self) -> None:
        for objective, worst in ((nan, 0.0), (0.1, nan), (inf, 0.0)):
            self.assertFalse(point(1, objective, worst).feasible, (objective, worst))

    def test_feasible_points_come_first_then_small_objectives_then_small_violations(self) -> None:
        points = [point(0, 0.1, nan), point(1, 0.0, 0.5), point(2, 0.3, 0.0), point(3, 0.2, -0.1), point(4, 0.1, 0.01)]
        self.assertEqual([p.iteration for p in sorted(points, key=rank)], [3, 2, 4, 1, 0])


class Runs(unittest.TestCase):
    history = (point(0, 1.0, 1.0), point(1, 0.4, -0.1), point(2, 0.1, 0.2), point(3, 0.2, 0.0), point(4, 0.05, 0.002))

    def test_best_until_takes_feasible_iterates_only(self) -> None:
        self.assertIsNone(best_until(self.history, 0))
        self.assertEqual(best_until(self.history, 2), self.history[1])
        self.assertEqual(best_until(self.history, 9), self.history[3])

    def test_first_hit_needs_objective_and_bounds_at_once(self) -> None:
        self.assertEqual(first_hit(self.history, 0.2), self.history[3])
        self.assertIsNone(first_hit(self.history, 0.1))

    def test_worst_after_tells_whether_a_met_bound_is_left_again(self) -> None:
        self.assertEqual(worst_after(self.history, self.history[1]), 0.2)
        self.assertIsNone(worst_after(self.history, self.history[-1]))

    def test_best_of_puts_runs_without_a_point_last(self) -> None:
        violates, meets = point(1, 0.0, 0.5), point(1, 0.9, 0.0)
        runs: list[Point | None] = [None, violates, meets]
        for count, want in ((3, meets), (2, violates), (1, None), (0, None)):
            best = best_of(runs[:count], itself)
            self.assertIs(best, want)


if __name__ == "__main__":
    unittest.main()
