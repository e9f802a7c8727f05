"""The settings of the suite's contenders and the command line that lists them."""

import contextlib
import io
import json
import unittest
from dataclasses import asdict

from peers.settings import KINDS
from peers.suite import __main__ as command
from peers.suite.grids import settings


class Settings(unittest.TestCase):
    def test_every_contender_has_a_small_grid_without_repetitions(self) -> None:
        self.assertEqual(list(settings()), list(KINDS))
        for name, grid in settings().items():
            self.assertTrue(1 <= len(grid) <= 40, name)
            self.assertEqual(len(set(map(str, grid))), len(grid), name)

    def test_settings_come_back_from_json(self) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(command.main(["--list"]), 0)
        listed = json.loads(out.getvalue())
        for name, grid in settings().items():
            self.assertEqual([KINDS[name](**s) for s in listed[name]], grid)
            self.assertEqual(listed[name], [asdict(s) for s in grid])

    def test_bad_usage_is_said_by_name(self) -> None:
        for arguments, why in (
            (["--contender", "ipopt"], "--oracle and --contender are required"),
            (["--oracle", "x", "--contender", "ipopt", "--setting", '{"cap": 1}'], "'cap'"),
            (["--oracle", "x", "--contender", "ipopt", "--evaluations", "0"], "0 is below 1"),
        ):
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit):
                command.main(arguments)
            self.assertIn(why, errors.getvalue())


if __name__ == "__main__":
    unittest.main()
