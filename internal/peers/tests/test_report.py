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


def mark(objective: float, worst: float, best: float | None) -> dict:
    feasible = None if best is None else {"iteration": 1, "objective": best}
    return {"seconds": 1.0, "objective": objective, "worst": worst, "best_feasible": feasible}


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
        times = {"numpy products by feature": 40.0, "numpy products by unit": 50.0, "torch eager": 100.0, "ppal train --products auto": 20.0}
        bench = {"a": {"not_run": "not available"}, "b": {"iteration_ms": 10.0, "floor_ms": 40.0, "ratio": 0.25}}
        unit = {
            "shape": [24000, 784, 256], "random_data": False, "versions": {"numpy": "2"}, "not_run": {"jax": "no jax"},
            "times": {name: sample(ms) for name, ms in times.items()}, "bench": bench,
        }  # fmt: skip
        (table,) = report.speed({"mnpc-fashion-mnist": unit})
        self.assertEqual([(r[0], r[4], r[5]) for r in table.rows], [
            ("numpy: two bare products", "1.00", "2.00"), ("torch eager", "2.50", "5.00"), ("ppal train --products auto", "0.500", "1.00"),
            ("ppal bench b: two bare products", "1.00", "2.00"), ("ppal bench b: iteration", "0.250", "0.500"),
        ])  # fmt: skip
        self.assertTrue({"jax: not run: no jax", "ppal bench a: not available"} <= set(table.notes))

    def test_convergence_takes_cooper_best_by_feasibility_first(self) -> None:
        runs = [
            {"setting": {"optimizer": "Adam", "step": step, "dual_step": 0.1}, "marks": {"100": row}}
            for step, row in ((0.1, mark(0.001, 0.3, None)), (0.01, mark(0.5, -0.1, 0.4)), (0.03, mark(0.2, 0.1, 0.3)))
        ]
        units: dict[str, dict] = {
            "fashion-mnist-1000 ppal": {"marks": {"100": mark(0.01, 0.0, 0.01)}},
            "fashion-mnist-1000 cooper": {"runs": runs},
        }
        winners, everything = report.convergence(units)
        self.assertEqual(winners.rows, [
            ("ppal", "100", "0.0100", "0.0100", "+0.0e+00", "1.00", "automatic"),
            ("Cooper, Adam", "100", "0.300", "0.200", "+1.0e-01", "1.00", "0.03, 0.1"),
        ])  # fmt: skip
        self.assertEqual(
            [r[:2] for r in everything.rows],
            [("Adam 0.1, 0.1", "none"), ("Adam 0.01, 0.1", "0.400"), ("Adam 0.03, 0.1", "0.300")],
        )

    def test_headline_shows_the_ratio_and_what_was_not_met(self) -> None:
        hit = {"iteration": 100, "seconds": 4.0, "objective": 0.012, "worst": 0.0}
        lost = {
            "setting": {"optimizer": "SGD", "step": 1.0, "dual_step": 0.1},
            "hit": None,
            "iterations": 150,
            "seconds": 12.5,
            "best_feasible": None,
        }
        units: dict[str, dict] = {
            "1 ppal": {"hit": hit, "worst_after": -0.001},
            "1 cooper": {"runs": [lost], "best": None},
            "1 times": {"seconds": {"ppal": [4.0], "cooper": []}, "median": {"ppal": 4.0}, "ratio": None},
        }
        summary, screening = report.headline(units)
        self.assertEqual(summary.rows[0], ("start 1: ppal", "4.00", "4.00", "100", "-1.0e-03", "1.00"))
        self.assertEqual(summary.rows[1][3], "not met")
        self.assertEqual(screening.rows, [("SGD 1, 0.1", "12.5", "150", "NO", "none")])

    def test_only_parts_with_results_are_shown(self) -> None:
        self.assertEqual(report.tables({"check": {"units": {}}}), [])


if __name__ == "__main__":
    unittest.main()
