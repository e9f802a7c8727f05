"""The event files of `ppal train --tensorboard` in TensorBoard's own reader."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

ROOT = Path(__file__).resolve().parents[3]
PPAL = Path(os.environ.get("PPAL", ROOT / "bin" / "ppal")).resolve()


def rows(number: int) -> str:
    """A table of two groups, as text."""
    rng = random.Random(1)
    lines = ["x,z,sex,hired"]
    for _ in range(number):
        x, z, sex = rng.gauss(0, 1), rng.gauss(0, 1), rng.choice("fm")
        lines.append(f"{x:.3f},{z:.3f},{sex},{int(x + 0.5 * z + (sex == 'm') + rng.gauss(0, 1) > 0.5)}")
    return "\n".join(lines) + "\n"


class TensorBoard(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.enterContext(contextlib.chdir(folder.name))
        Path("rows.csv").write_text(rows(2000))

    def command(self, *arguments: str) -> list[str]:
        return [str(PPAL), "train", "--quiet", "--allow-violation", "--threads", "1", *arguments]

    def train(self, *arguments: str) -> list[str]:
        return self.command("--file", "rows.csv", "--label", "hired=1", "--subject-to", "gap(positive_rate, sex) <= 0.05", "--bounds-on", "surrogate",
                            "--method", "ppala", "--record-every", "20", "--tensorboard", "--out", "RUN", *arguments)

    def same(self) -> None:
        """The scalars are the numbers of metrics.jsonl, at every iteration once."""
        events = EventAccumulator("RUN", size_guidance={"scalars": 0, "tensors": 0}).Reload()
        records = [json.loads(line) for line in Path("RUN/metrics.jsonl").read_text().splitlines()]
        names = [tag.removeprefix("constraints/") for tag in events.Tags()["scalars"] if tag.startswith("constraints/")]
        self.assertEqual(len(records[0]["constraints"]), len(names))
        self.assertTrue(all(name.startswith("gap(positive_rate, sex) <= 0.05") for name in names), names)

        def check(tag: str, value) -> None:
            got = events.Scalars(tag)
            want = [r for r in records if value(r) is not None]
            self.assertEqual([r["iteration"] for r in want], [e.step for e in got], tag)
            for event, r in zip(got, want):
                self.assertTrue(math.isclose(event.value, value(r), rel_tol=1e-6, abs_tol=1e-30), (tag, event, value(r)))
            self.assertEqual(sorted(e.wall_time for e in got), [e.wall_time for e in got], tag)
            self.assertLess(abs(got[-1].wall_time - time.time()), 600, tag)

        for key, tag in {"objective": "objective", "max_violation": "max_violation", "stationarity": "residuals/stationarity", "feasibility": "residuals/feasibility",
                         "complementarity": "residuals/complementarity", "step_size": "step/step_size", "delta": "step/delta", "seconds": "run/seconds",
                         "train_error": "train/error", "test_error": "test/error", "validation_error": "validation/error"}.items():
            check(tag, lambda r, key=key: r[key])
        for key in "constraints", "multipliers", "auxiliary_multipliers", "slack":
            for j, name in enumerate(names):
                check(f"{key}/{name}", lambda r, key=key, j=j: r[key][j])
        settings = events.Tensors("settings")
        self.assertIn("subject-to: ['gap(positive_rate, sex) <= 0.05']", settings[-1].tensor_proto.string_val[0].decode())
        self.assertEqual("text", events.SummaryMetadata("settings").plugin_data.plugin_name)

    def test_run(self) -> None:
        subprocess.run(self.train("--iterations", "500"), check=True, capture_output=True)
        self.same()

    def test_killed(self) -> None:
        """A run that was killed twice: TensorBoard drops the events after the checkpoints."""
        command = self.train("--iterations", "30000", "--checkpoint-every", "100ms")
        for kill in range(1, 3):
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                metrics = Path("RUN/metrics.jsonl")
                before = len(metrics.read_text().splitlines()) if metrics.exists() else 0
                for _ in range(3000):
                    if Path("RUN/checkpoint").exists() and len(metrics.read_text().splitlines()) > before + 20:
                        break
                    time.sleep(0.01)
                process.kill()
            self.assertFalse(Path("RUN/summary.json").exists(), "the run has ended too early")
            command = self.command("--resume", "RUN", "--checkpoint-every", "100ms")
        subprocess.run(command, check=True, capture_output=True)
        self.assertEqual(3, len(list(Path("RUN").glob("events.out.tfevents.*"))))
        self.same()


if __name__ == "__main__":
    unittest.main()
