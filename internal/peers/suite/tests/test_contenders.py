"""The contenders on the fake oracle's problems: the solutions, the counts, and what each of them sees."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import unittest
from pathlib import Path

import numpy as np

from peers.settings import CooperSetting, IpoptSetting, LagrangianSetting, Setting
from peers.suite import __main__ as command
from peers.suite import augmented_lagrangian, cooper_contender, ipopt
from peers.suite.evaluations import Evaluations, Exhausted
from peers.suite.oracle import Oracle, OracleError
from peers.suite.sets import WeightSet

SOLUTIONS = {"quadratic": 1.5, "ball": 8.0, "box": 1.6875}
TOLERANCE = 2e-3  # the best feasible f may be below the solution's by the tolerance of feasibility

EXACT = [
    (augmented_lagrangian, LagrangianSetting(cap=None)),
    (augmented_lagrangian, LagrangianSetting(cap=0.1, inner=5)),
    (augmented_lagrangian, LagrangianSetting(solver="scipy")),
    (ipopt, IpoptSetting()),
    (ipopt, IpoptSetting(strategy="monotone", barrier=1e-3)),
]
# Adam with projection does not converge to the solution on an active sphere: its step has another direction than the gradient.
FIRST_ORDER = [
    (cooper_contender, CooperSetting("Adam", 0.05, 0.1, "nuPI", 10, beta2=0.9)),
    (cooper_contender, CooperSetting("Adam", 0.02, 0.3, "nuPI", 10, beta2=0.9, decay="cosine")),
    (cooper_contender, CooperSetting("momentum", 0.05, 0.1, "nuPI", 10)),
    (cooper_contender, CooperSetting("SGD", 0.2, 0.1, "nuPI", 3)),
]
CONTENDERS = EXACT + FIRST_ORDER


def fake(problem: str) -> str:
    """The command of the fake oracle."""
    return f"{sys.executable} {Path(__file__).with_name('fake_oracle.py')} {problem}"


def solved(module, setting: Setting, problem: str, budget: int = 400) -> tuple[Evaluations, np.ndarray]:
    """Run a contender."""
    with Oracle(fake(problem)) as oracle:
        evaluations = Evaluations(oracle, budget)
        returned = module.run(evaluations, setting)
        oracle.give(returned)
        return evaluations, returned


class Solutions(unittest.TestCase):
    def test_every_contender_finds_the_solution(self) -> None:
        for problem, objective in SOLUTIONS.items():
            for module, setting in CONTENDERS:
                if problem == "ball" and isinstance(setting, CooperSetting) and setting.optimizer == "Adam":
                    continue
                tolerance = TOLERANCE if (module, setting) in EXACT else 10 * TOLERANCE
                with self.subTest(problem=problem, setting=str(setting)):
                    evaluations, returned = solved(module, setting, problem)
                    best = evaluations.best(400)
                    assert best is not None
                    self.assertAlmostEqual(best, objective, delta=tolerance)
                    self.assertLess(evaluations.source.weights.outside(returned), 1e-9)

    def test_cooper_may_have_the_ball_as_a_constraint(self) -> None:
        evaluations, returned = solved(cooper_contender, CooperSetting("SGD", 0.05, 0.03, project=False), "ball")
        self.assertGreater(max(seen.violation for seen in evaluations.seen), 1.0)  # no projection on the way
        self.assertAlmostEqual(evaluations.seen[-1].objective, 8.0, delta=0.5)
        self.assertLess(evaluations.source.weights.outside(returned), 1e-9)

    def test_a_run_ends_at_its_budget(self) -> None:
        for module, setting in CONTENDERS:
            for budget in (1, 2, 6):
                evaluations, returned = solved(module, setting, "quadratic", budget)
                self.assertLessEqual(evaluations.count, budget, str(setting))
                self.assertTrue(np.all(np.isfinite(returned)), str(setting))

    def test_a_gradient_of_each_constraint_counts(self) -> None:
        evaluations, _ = solved(ipopt, IpoptSetting(), "quadratic", 100)
        self.assertGreaterEqual(evaluations.backwards, 3 * (evaluations.forwards // 2))
        self.assertEqual(evaluations.count, evaluations.backwards)

    def test_the_same_setting_gives_the_same_points(self) -> None:
        for module, setting in CONTENDERS[::3]:
            runs = [solved(module, setting, "ball", 40) for _ in range(2)]
            self.assertEqual(runs[0][0].seen, runs[1][0].seen, str(setting))


class Counting(unittest.TestCase):
    def test_points_outside_the_set_are_not_feasible(self) -> None:
        with Oracle(fake("ball")) as oracle:
            evaluations = Evaluations(oracle, 3)
            evaluations.forward(np.array([3.0, 4.0, 0.0]))
            self.assertIsNone(evaluations.best(3))
            self.assertAlmostEqual(evaluations.seen[0].violation, 4.0)
            evaluations.forward(evaluations.project(np.array([3.0, 4.0, 0.0])))
            self.assertAlmostEqual(evaluations.best(3), 8.0)  # type: ignore[arg-type]
            self.assertIsNone(evaluations.best(1))

    def test_the_budget_bounds_both_passes(self) -> None:
        with Oracle(fake("quadratic")) as oracle:
            evaluations = Evaluations(oracle, 2)
            evaluations.forward(evaluations.start)
            for _ in range(2):
                np.testing.assert_allclose(evaluations.backward(np.array([1.0, 2.0, 3.0])), [-1.5, 0.1, -0.8])
            with self.assertRaises(Exhausted):
                evaluations.backward(np.array([1.0, 0.0, 0.0]))


class Sets(unittest.TestCase):
    def test_the_face_of_the_ball(self) -> None:
        ball, x = WeightSet(radius=1.0), np.array([0.6, 0.8])
        outward, inward = ball.face(x, np.array([-1.0, -1.0])), ball.face(x, np.array([1.0, 1.0]))
        np.testing.assert_allclose(outward.tangent(np.array([3.0, 4.0])), [0, 0], atol=1e-15)
        self.assertAlmostEqual(outward.curvature, 1.4)
        np.testing.assert_allclose(inward.tangent(np.array([3.0, 4.0])), [3, 4])

    def test_the_face_of_the_box(self) -> None:
        box = WeightSet(lower=0.0, upper=2.0)
        face = box.face(np.array([0.0, 0.0, 1.0, 2.0]), np.array([1.0, -1.0, 1.0, 1.0]))
        np.testing.assert_allclose(face.tangent(np.ones(4)), [0, 1, 1, 1])
        np.testing.assert_allclose(box.project(np.array([-1.0, 3.0])), [0, 2])
        self.assertAlmostEqual(box.outside(np.array([-1.0, 3.5])), 1.5)


class Command(unittest.TestCase):
    def test_a_run_reports_its_counts(self) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = command.main(["--oracle", fake("quadratic"), "--contender", "augmented-lagrangian", "--evaluations", "200",
                                   "--setting", '{"cap": null}'])  # fmt: skip
        result = json.loads(out.getvalue())
        self.assertEqual((status, result["problem"], result["evaluations"]), (0, "quadratic", 200))
        self.assertAlmostEqual(result["best"]["200"], 1.5, delta=TOLERANCE)

    def test_an_oracle_that_fails_is_an_error(self) -> None:
        for oracle in ("no-such-program", f"{sys.executable} -c pass", f"{sys.executable} -c print(1)"):
            with self.assertRaises(OracleError, msg=oracle):
                Oracle(oracle)


if __name__ == "__main__":
    unittest.main()
