"""The JSON file: parts, units, resuming."""

import json
import tempfile
import unittest
from math import inf, nan
from pathlib import Path

from peers.results import Results, finite

HERE, SETTINGS = {"CPU": "one"}, {"seed": 1}


class File(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "build" / "peers.json"

    def measured(self, resume: bool, environment: dict, settings: dict) -> bool:
        """Whether a second run measures the unit again."""
        results = Results(self.path, resume)
        results.begin("speed", environment, settings)
        return results.unit("a", lambda: {"ms": 2.0}) == {"ms": 2.0}

    def write(self) -> None:
        results = Results(self.path)
        for part in ("headline", "speed"):
            results.begin(part, HERE, SETTINGS)
            results.command("ppal train")
            results.unit("a", lambda: {"ms": 1.0})

    def test_parts_come_back_in_their_order(self) -> None:
        self.write()
        parts = Results(self.path).parts
        self.assertEqual(list(parts), ["speed", "headline"])
        self.assertEqual(parts["speed"]["units"], {"a": {"ms": 1.0}})
        self.assertEqual(parts["speed"]["commands"], ["ppal train"])

    def test_a_unit_is_kept_only_when_resumed_in_the_same_place_with_the_same_settings(self) -> None:
        for resume, environment, settings, again in (
            (True, HERE, SETTINGS, False),
            (False, HERE, SETTINGS, True),
            (True, {"CPU": "other"}, SETTINGS, True),
            (True, HERE, {"seed": 2}, True),
        ):
            self.write()
            self.assertEqual(self.measured(resume, environment, settings), again, (resume, environment, settings))
            self.assertEqual(set(Results(self.path).parts), {"speed", "headline"})

    def test_a_file_of_another_format_is_not_read(self) -> None:
        self.write()
        self.path.write_text(self.path.read_text().replace('"format": 2', '"format": 1'))
        self.assertEqual(Results(self.path, resume=True).parts, {})

    def test_a_measurement_that_fails_leaves_the_file_as_it_was(self) -> None:
        self.write()
        before = self.path.read_text()
        results = Results(self.path)
        results.begin("speed", HERE, SETTINGS)
        with self.assertRaises(ZeroDivisionError):
            results.unit("a", lambda: {"ms": 1 / 0})
        self.assertEqual(self.path.read_text(), before)

    def test_numbers_that_are_not_finite_become_null(self) -> None:
        self.assertEqual(json.dumps(finite({1: (nan, inf, 2.5), "b": {"c": -inf}})), '{"1": [null, null, 2.5], "b": {"c": null}}')


if __name__ == "__main__":
    unittest.main()
