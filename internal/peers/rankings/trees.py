"""LightGBM's lambdarank, which has no bound: trees.py DATA FOLD BOUND reads settings, a JSON line each, and writes results."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import lightgbm
import numpy as np

from .rows import load


def fit(rows, rate: float, leaves: int, trees: int) -> dict:
    """Train on the grades, and return the measures of the number of trees with the least validation error. The time is that of the fit."""
    train = rows[0]
    order = np.argsort(train.query, kind="stable")
    model = lightgbm.LGBMRanker(n_estimators=trees, learning_rate=rate, num_leaves=leaves, n_jobs=1, verbose=-1, random_state=1, label_gain=[0, 1, 3])
    began = time.process_time()
    model.fit(train.x[order], train.grade[order], group=np.bincount(train.query))
    seconds = time.process_time() - began
    found = []
    for n in range(5, trees + 1, 5):
        measured = [r.measure(model.predict(r.x, num_iteration=n)) for r in rows]
        found.append({**dict(zip(("train", "validation", "test"), measured)), "trees": n, "seconds": seconds})
    return min(found, key=lambda f: f["validation"]["error"])


def main() -> None:
    """Answer the settings of the standard input."""
    rows = load(Path(sys.argv[1]), int(sys.argv[2]))
    for line in sys.stdin:
        print(json.dumps(fit(rows, **json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
