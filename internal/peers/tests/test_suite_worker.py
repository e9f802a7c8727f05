"""Tests of the process that runs contenders of the suite."""

import io
import json
import unittest
from contextlib import redirect_stderr
from unittest import mock

from peers.suite import worker


class Answer(unittest.TestCase):
    """What the process answers."""

    def answer(self, **run: object) -> dict:
        line = json.dumps(["--oracle", "true", "--contender", "ipopt"])
        with redirect_stderr(io.StringIO()), mock.patch.object(worker, "run", **run):
            return worker.answer(line)

    def test_done(self) -> None:
        self.assertEqual(self.answer(return_value={"best": 1}), {})

    def test_missing_package(self) -> None:
        self.assertEqual(self.answer(side_effect=ModuleNotFoundError("no", name="ipyopt")), {"missing": "ipyopt"})

    def test_failure(self) -> None:
        self.assertEqual(self.answer(side_effect=RuntimeError("no luck\nmore")), {"error": "RuntimeError: no luck"})

    def test_bad_arguments(self) -> None:
        with redirect_stderr(io.StringIO()):
            self.assertEqual(worker.answer('["--contender", "mars"]'), {"error": "SystemExit: 2"})


if __name__ == "__main__":
    unittest.main()
