"""The commands and the Python of docs/guides/from-fairlearn.md and from-cooper.md."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PPAL = Path(os.environ.get("PPAL", ROOT / "bin" / "ppal")).resolve()
TABLE = Path(os.environ.get("PPAL_DATA", "none")).resolve() / "compas" / "compas-scores-two-years.csv"
GUIDES = ROOT / "docs" / "guides"


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d\.\d{4}", text)]


@unittest.skipUnless(TABLE.exists(), "PPAL_DATA has no COMPAS")
class Guides(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        old = os.getcwd()
        self.addCleanup(os.chdir, old)
        os.chdir(self.folder.name)
        os.symlink(TABLE.parent, "compas")
        self.python("from-fairlearn.md", 0)

    def python(self, page: str, block: int) -> str:
        """Runs a block of the page and returns what it prints."""
        code = re.findall(r"```python\n(.*?)```", (GUIDES / page).read_text(), re.DOTALL)[block]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, page, "exec"), {"__name__": "guide"})  # noqa: S102
        return out.getvalue()

    def train(self, page: str) -> None:
        """Runs the page's training. TestReadmeOutput of package cmd compares its table with the page."""
        command = re.search(r"(?m)^    bin/ppal (train .*)$", (GUIDES / page).read_text())
        done = subprocess.run([str(PPAL), *shlex.split(command[1])], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def compare(self, page: str, printed: str, first: str, tolerance: float) -> None:
        """Compares the numbers that the page shows, from the line that begins with first, with those printed."""
        shown = re.search(rf"(?m)^    {first}.*\n((    .*)\n)*", (GUIDES / page).read_text())[0]
        self.assertEqual(len(numbers(shown)), len(numbers(printed)), printed)
        for a, b in zip(numbers(shown), numbers(printed)):
            self.assertAlmostEqual(a, b, delta=tolerance, msg=f"{page} shows\n{shown}\nand the code prints\n{printed}")

    def test_fairlearn(self) -> None:
        self.train("from-fairlearn.md")

    @unittest.skipUnless(importlib.util.find_spec("cooper"), "no cooper")
    def test_cooper(self) -> None:
        self.train("from-cooper.md")
        self.compare("from-cooper.md", self.python("from-cooper.md", 0), "fpr 0", 0.02)


if __name__ == "__main__":
    unittest.main()
