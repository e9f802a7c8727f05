"""The search: neighbours, edges, scores, and a best setting inside the grid."""

import unittest
from math import log10

from peers.choose import Point
from peers.search import LADDERS, best, edges, scores, search, steps_around
from peers.settings import CooperSetting, IpoptSetting, LagrangianSetting, Setting

ADAM = CooperSetting("Adam", 0.1, 0.1, "nuPI", 10.0, 0.99)


def run(objective: float, worst: float = 0.0) -> list[Point]:
    """A run with two points: the start, and one after 100 evaluations."""
    return [Point(0, 0.0, 1.0, 1.0), Point(100, 1.0, objective, worst)]


class Neighbours(unittest.TestCase):
    def names(self, setting: Setting) -> list[str]:
        return list(dict.fromkeys(name for name, _ in steps_around(setting)))

    def test_only_what_a_setting_uses_changes(self) -> None:
        self.assertEqual(self.names(ADAM), ["step", "dual_step", "kp", "beta2", "decay"])
        self.assertEqual(self.names(CooperSetting("SGD", 1.0, 0.1)), ["step", "dual_step", "decay"])
        self.assertEqual(self.names(LagrangianSetting()), ["penalty", "cap", "inner"])
        self.assertEqual(self.names(LagrangianSetting(cap=None)), ["penalty", "inner"])
        self.assertEqual(self.names(LagrangianSetting(solver="scipy")), ["penalty", "inner"])
        self.assertEqual(self.names(IpoptSetting()), ["history", "strategy"])

    def test_one_step_on_a_ladder(self) -> None:
        self.assertEqual([s.step for name, s in steps_around(ADAM) if name == "step"], [0.07, 0.15])  # type: ignore[union-attr]

    def test_ladders_rise(self) -> None:
        for name, values in LADDERS.items():
            self.assertEqual(list(values), sorted(set(values)), name)


class Edges(unittest.TestCase):
    def test_inside_once_all_neighbours_are_measured(self) -> None:
        around = [other for _, other in steps_around(ADAM)]
        self.assertEqual(edges(ADAM, around), [])
        self.assertEqual(edges(ADAM, around[1:]), ["step"])

    def test_the_end_of_a_ladder_is_an_edge(self) -> None:
        last = CooperSetting("SGD", LADDERS["step"][-1], 0.1)
        self.assertEqual(edges(last, [other for _, other in steps_around(last)]), ["step"])


class Search(unittest.TestCase):
    def measure(self, setting: Setting) -> list[Point]:
        """Best at step 0.3 and dual step 0.01, which the coarse grid is far from."""
        assert isinstance(setting, CooperSetting)
        self.measured.append(setting)
        return run(10 ** (-4 + abs(log10(setting.step / 0.3)) + 0.5 * abs(log10(setting.dual_step / 0.01))))

    def setUp(self) -> None:
        self.measured: list[Setting] = []

    def test_it_ends_inside_and_measures_nothing_twice(self) -> None:
        wanted = scores([100])
        points = search([CooperSetting("SGD", 0.1, 0.1)], self.measure, wanted, limit=100)
        found = best(points, wanted[0])
        self.assertEqual((found.step, found.dual_step), (0.3, 0.01))  # type: ignore[union-attr]
        self.assertEqual(edges(found, points), [])
        self.assertEqual(len(self.measured), len(set(self.measured)))

    def test_a_limit_leaves_the_best_at_an_edge(self) -> None:
        points = search([CooperSetting("SGD", 0.1, 0.1)], self.measure, scores([100]), limit=4)
        self.assertEqual(len(points), 4)
        self.assertIn("step", edges(best(points, scores([100])[0]), points))


class Scores(unittest.TestCase):
    def test_the_single_setting_has_the_best_mean_over_the_marks(self) -> None:
        early = [Point(50, 0.0, 0.01, 0.0)]
        late = [Point(100, 0.0, 1e-6, 0.0)]
        single, at_50, at_100 = scores([50, 100])
        self.assertAlmostEqual(single.of(early), -2.0)
        self.assertAlmostEqual(single.of(late), -3.0)
        points = {ADAM: early, CooperSetting("SGD", 1.0, 0.1): late}
        self.assertEqual([best(points, s).optimizer for s in (single, at_50, at_100)], ["SGD", "Adam", "SGD"])  # type: ignore[union-attr]

    def test_an_infeasible_run_has_no_score(self) -> None:
        self.assertEqual(scores([100])[0].of(run(1e-6, worst=0.01)), 0.0)

    def test_differences_below_the_floor_do_not_count(self) -> None:
        self.assertEqual(scores([100])[0].of(run(1e-12)), scores([100])[0].of(run(1e-10)))


if __name__ == "__main__":
    unittest.main()
