"""Tables: numbers, alignment, Markdown, and what is shown of each part."""

import unittest

from peers import report
from peers.table import Table, number, signed


class Numbers(unittest.TestCase):
    def test_three_digits(self) -> None:
        for x, want in ((0.0123456, "0.0123"), (123.4, "123"), (0.99951, "1.000"), (12345.6, "12346"),
                        (3e-6, "3.0e-06"), (0, "0"), (None, "-"), (float("nan"), "-")):  # fmt: skip
            self.assertEqual(number(x), want)
        self.assertEqual((signed(-0.0012), signed(0.5), signed(None)), ("-1.2e-03", "+5.0e-01", "-"))


class Tables(unittest.TestCase):
    def test_text_is_aligned_and_markdown_escapes_bars(self) -> None:
        table = Table("T", ("who", "ms"), notes=["note"])
        table.add("a|b", "1")
        table.add("c", "100")
        self.assertEqual(table.text(), "T\n--------\nwho   ms\n--------\na|b    1\nc    100\nnote")
        self.assertEqual(table.markdown(), "### T\n\n| who | ms |\n|---|---:|\n| a\\|b | 1 |\n| c | 100 |\n\nnote")

    def test_without_rows_the_notes_stand_alone(self) -> None:
        table = Table("T", ("who", "ms"), notes=["not run"])
        self.assertEqual((table.text(), table.markdown()), ("T\nnot run", "### T\n\nnot run"))

    def test_a_row_of_another_length_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            Table("T", ("who", "ms")).add("a")


def sample(ms: float) -> dict:
    return {"median": ms, "low": ms, "high": ms, "best": ms, "count": 1}


class Parts(unittest.TestCase):
    def test_check_shows_what_differs(self) -> None:
        comparisons = [
            {"of": "jax float32", "what": what, "error": error, "tolerance": 1e-5, "met": error <= 1e-5}
            for what, error in (("losses", 1e-7), ("gradients", 0.5))
        ]
        (table,) = report.check({"mnpc-fashion-mnist": {"comparisons": comparisons, "random_data": True}})
        self.assertEqual(table.rows, [("jax float32", "1.0e-07", "0.500", "1.0e-05, 1.0e-05", "NO")])
        self.assertIn("Random", table.notes[-1])

    def test_speed_takes_each_librarys_faster_layout_and_both_ratios(self) -> None:
        times = {"numpy products by feature": 40.0, "numpy products by unit": 50.0, "torch eager": 100.0, "ppal train --products int8x3": 20.0}
        bench = {"a": {"not_run": "not available"}, "b": {"iteration_ms": 10.0, "floor_ms": 40.0, "ratio": 0.25}}
        unit = {
            "shape": [24000, 784, 256], "random_data": False, "versions": {"numpy": "2"}, "not_run": {"jax": "no jax"},
            "times": {name: sample(ms) for name, ms in times.items()}, "bench": bench,
        }  # fmt: skip
        (table,) = report.speed({"mnpc-fashion-mnist": unit})
        self.assertEqual([(r[0], r[4], r[5]) for r in table.rows], [
            ("numpy: two bare products", "1.00", "2.00"), ("torch eager", "2.50", "5.00"), ("ppal train --products int8x3", "0.500", "1.00"),
            ("ppal bench b: two bare products", "1.00", "2.00"), ("ppal bench b: iteration", "0.250", "0.500"),
        ])  # fmt: skip
        self.assertTrue({"jax: not run: no jax", "ppal bench a: not available"} <= set(table.notes))

    def test_convergence_shows_one_setting_from_all_starts_and_the_best_for_each_mark(self) -> None:
        def run(at_100: float | None, at_200: float) -> dict:
            return {"best": {"100": at_100, "200": at_200}, "seconds": 1.0, "worst_late": -0.001}

        searched = {
            "settings": [{"setting": name} | run(*best) for name, best in (("a", (0.02, 0.001)), ("b", (0.01, 0.002)), ("c", (None, 0.1)))],
            "chosen": {
                "all marks": {"setting": "a", "edges": []},
                "100": {"setting": "b", "edges": ["step", "kp"]},
                "200": {"setting": "a", "edges": []},
            },
            "limited": True,
            "runs": {"1": run(0.02, 0.001), "2": run(None, 0.003)},
        }
        units: dict[str, dict] = {
            "fashion-mnist-1000 ppal": {"runs": {"1": run(0.05, 0.002), "2": run(0.06, 0.002)}},
            "fashion-mnist-1000 cooper": searched,
            "fashion-mnist-1000 ipopt": {"not_run": "ipopt: ModuleNotFoundError: No module named 'ipyopt'"},
        }
        summary, grid = report.convergence(units)
        self.assertEqual([tuple(r) for r in summary.rows], [
            ("ppal", "0.0500 to 0.0600", "0.00200", "1.00", "-1.0e-03", "defaults"),
            ("Cooper: one setting", "0.0200-none", "0.00100 to 0.00300", "1.00", "-1.0e-03", "a"),
            ("Cooper: best for each mark", "0.0100", "0.00100", "-", "-", "each its own"),
        ])  # fmt: skip
        notes = " ".join(summary.notes)
        self.assertIn("the best after 100 (b) is on an EDGE of the measured grid: step, kp", notes)
        self.assertNotIn("one setting (a) is on an EDGE", notes)
        self.assertIn("IPOPT, limited memory: not run: ipopt: ModuleNotFoundError", notes)
        self.assertEqual([r[:2] for r in grid.rows], [("a", "0.0200"), ("b", "0.0100"), ("c", "none")])
        self.assertIn("limit", grid.notes[0])

    def test_without_data_convergence_says_why(self) -> None:
        (table,) = report.convergence({"cifar10-1000": {"not_run": "needs the files"}})
        self.assertEqual(table.notes, ["not run: needs the files"])

    def test_headline_shows_the_ratio_and_what_was_not_met(self) -> None:
        hit = {"iteration": 100, "seconds": 4.0, "objective": 0.012, "worst": 0.0}
        lost = {"setting": "SGD 1, SGD 0.1", "hit": None, "iterations": 150, "seconds": 12.5, "best_feasible": None}
        won = {"setting": "own", "hit": hit, "iterations": 100, "seconds": 4.0, "best_feasible": None}
        units: dict[str, dict] = {
            "1 ppal": {"hit": hit, "worst_after": -0.001},
            "1 cooper": {"runs": [lost], "best": None},
            "1 times cooper": {"seconds": {"ppal": [4.0], "rival": []}, "median": {"ppal": 4.0}, "ratio": None},
            "1 augmented-lagrangian": {"runs": [won], "best": "own", "hit": hit, "worst_after": 0.002},
            "1 times augmented-lagrangian": {
                "seconds": {"ppal": [6.0], "rival": [9.0]}, "median": {"ppal": 6.0, "rival": 9.0}, "ratio": 1.5,
            },
        }  # fmt: skip
        summary, screening, _ = report.headline(units)
        self.assertEqual(summary.rows, [
            ("start 1: ppal", "5.00", "4.00, 6.00", "100", "-1.0e-03", "1.00", "defaults"),
            ("start 1: Cooper", "-", "-", "not met", "-", "-", "-"),
            ("start 1: augmented Lagrangian, L-BFGS", "9.00", "9.00", "100", "+2.0e-03", "1.50", "own"),
        ])  # fmt: skip
        self.assertEqual(screening.rows, [("SGD 1, SGD 0.1", "12.5", "150", "NO", "none")])

    def test_only_parts_with_results_are_shown(self) -> None:
        self.assertEqual(report.tables({"check": {"units": {}}}), [])


if __name__ == "__main__":
    unittest.main()
