"""PyTorch with all pairs in memory: torch_rank.py DATA FOLD BOUND reads settings, a JSON line each, and writes results.

The scorer is linear and sees all pairs in each step. Adam descends on the mean sigmoid of s_j - s_i over all pairs plus the multipliers times
the two differences of the sigmoid means, and the multipliers ascend on the counted differences: gradient descent and ascent.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import torch

from .rows import Best, load


def fit(rows, bound: float, rate: float, dual: float, steps: int) -> dict:
    """Train, and return the best record. The time is that of the steps."""
    train = rows[0]
    x, i, j, cell = (torch.from_numpy(v) for v in (train.x, train.i, train.j, train.cell))
    pairs = torch.bincount(cell, minlength=4).float()
    w, multipliers = torch.zeros(x.shape[1], requires_grad=True), torch.zeros(2)
    optimizer = torch.optim.Adam([w], lr=rate, fused=True)
    best, seconds = Best(rows, bound), 0.0

    def gaps(wrong):
        share = torch.zeros(4).index_add(0, cell, wrong) / pairs
        return torch.stack([share[1] - share[2], share[2] - share[1]]) - bound

    for step in range(steps):
        began = time.process_time()
        s = x @ w
        margin = s[j] - s[i]
        wrong = torch.sigmoid(margin)
        optimizer.zero_grad()
        (wrong.mean() + multipliers @ gaps(wrong)).backward()
        optimizer.step()
        with torch.no_grad():
            multipliers = (multipliers + dual * gaps((margin > 0).float() + 0.5 * (margin == 0))).clamp(min=0)
        seconds += time.process_time() - began
        if step % 10 == 9:
            best.record([r.x @ w.detach().numpy() for r in rows], step=step + 1)
    return {**best.found, "seconds": seconds}


def main() -> None:
    """Answer the settings of the standard input."""
    torch.set_num_threads(1)
    rows, bound = load(Path(sys.argv[1]), int(sys.argv[2])), float(sys.argv[3])
    for line in sys.stdin:
        print(json.dumps(fit(rows, bound, **json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
