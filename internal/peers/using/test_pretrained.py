"""The Python of docs/guides/pretrained.md: embeddings of a pretrained network, and its head in PyTorch against `ppal predict`."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[3]
PPAL = Path(os.environ.get("PPAL", ROOT / "bin" / "ppal")).resolve()
PAGE = (ROOT / "docs" / "guides" / "pretrained.md").read_text()
PICTURES = Path(os.environ.get("PPAL_DATA", "none")).resolve() / "cifar-10-batches-bin"


@unittest.skipUnless(PICTURES.exists(), "PPAL_DATA has no CIFAR-10")
@unittest.skipUnless(importlib.util.find_spec("efficientnet_lite_pytorch"), "no pretrained network")
class Pretrained(unittest.TestCase):
    def test_page(self) -> None:
        """Runs the page on fewer pictures. The head in PyTorch decides as ppal does."""
        write, back = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
        self.assertEqual((write.count(", 1000)"), write.count(", 250)")), (1, 1))
        command = re.search(r"(?ms)^    bin/ppal (train .*?)\n\n", PAGE)[1].replace("\\\n", "")
        old = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                os.symlink(PICTURES, PICTURES.name)
                names = {"__name__": "guide"}
                exec(compile(write.replace(", 1000)", ", 40)").replace(", 250)", ", 15)"), "write", "exec"), names)  # noqa: S102
                done = subprocess.run([str(PPAL), *shlex.split(command)], capture_output=True, text=True)
                self.assertIn(done.returncode, (0, 3), done.stderr)  # few pictures may miss a bound
                exec(compile(back, "back", "exec"), names)  # noqa: S102
                subprocess.run([str(PPAL), "predict", "runs/head", "--input", "test.npz", "--output", "scores.csv"], check=True, capture_output=True)
                want = pd.read_csv("scores.csv")["class"]
                raw = np.fromfile(f"{PICTURES.name}/test_batch.bin", np.uint8).reshape(-1, 3073)
                raw = np.concatenate([raw[raw[:, 0] == k][:15] for k in range(4)])
                self.assertEqual(list(names["classify"](raw[:, 1:].reshape(-1, 3, 32, 32))), list(want))
                self.assertGreater((names["names"][raw[:, 0]] == want).mean(), 0.5)
            finally:
                os.chdir(old)


if __name__ == "__main__":
    unittest.main()
