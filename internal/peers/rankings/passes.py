"""The time of PyTorch's passes of a linear ranking with all pairs in memory: the shapes of BenchmarkPairsOverBare (internal/cpu)."""

from __future__ import annotations

import resource
import time

import torch

SHAPES = {"57,000 documents": (1000, 10, 47), "1.2 million documents": (10000, 16, 104)}  # queries, relevant and other documents


def main() -> None:
    """Print the least CPU time of ten passes: the mean over all pairs, the gap of the cross pairs, and the gradient of their sum."""
    torch.set_num_threads(1)
    for name, (queries, relevant, others) in SHAPES.items():
        size = relevant + others
        x = torch.rand(queries * size, 136) - 0.5
        first = torch.arange(queries)[:, None, None] * size
        i = (first + torch.arange(relevant)[None, :, None]).expand(-1, -1, others).reshape(-1)
        j = (first + relevant + torch.arange(others)[None, None, :]).expand(-1, relevant, -1).reshape(-1)
        cell, w = 2 * (i % 2) + j % 2, torch.zeros(136, requires_grad=True)
        pairs, seconds = torch.bincount(cell, minlength=4).float(), []
        for _ in range(10):
            began = time.process_time()
            s = x @ w
            wrong = torch.sigmoid(s[j] - s[i])
            share = torch.zeros(4).index_add(0, cell, wrong) / pairs
            w.grad = None
            (wrong.mean() + 0.1 * (share[1] - share[2])).backward()
            seconds.append(time.process_time() - began)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"{name}, {len(i)} pairs: {1000 * min(seconds):.1f} ms, {peak:.2f} GB at most", flush=True)


if __name__ == "__main__":
    main()
