"""Turns and medians."""

import unittest
from collections.abc import Callable

from peers.timing import Sample, alternate, clock


class Samples(unittest.TestCase):
    def test_median_quartiles_and_shortest(self) -> None:
        s = Sample.of([5.0, 1.0, 4.0, 2.0])
        self.assertEqual((s.median, s.low, s.high, s.best, s.count), (3.0, 1.75, 4.25, 1.0, 4))
        self.assertEqual(Sample.of([7.0]), Sample(7.0, 7.0, 7.0, 7.0, 1))

    def test_no_times_are_refused(self) -> None:
        with self.assertRaises(ValueError):
            Sample.of([])


class Turns(unittest.TestCase):
    def test_every_other_round_goes_backwards_and_all_times_count(self) -> None:
        order: list[str] = []

        def contender(name: str, ms: float) -> Callable[[], list[float]]:
            def turn() -> list[float]:
                order.append(name)
                return [ms, 3 * ms]

            return turn

        samples = alternate({n: contender(n, k) for k, n in enumerate("abc", 1)}, rounds=2, pause=0.0)
        self.assertEqual(order, list("abccba"))
        self.assertEqual({n: (s.median, s.count) for n, s in samples.items()}, {"a": (2.0, 4), "b": (4.0, 4), "c": (6.0, 4)})

    def test_clock_calls_the_step_once_for_each_time(self) -> None:
        calls: list[int] = []
        times = clock(lambda: calls.append(1), 5)
        self.assertEqual((len(calls), len(times)), (5, 5))
        self.assertTrue(all(t >= 0 for t in times))


if __name__ == "__main__":
    unittest.main()
