"""A table of 20,000 texts and 2,000 words, and scikit-learn's LogisticRegressionCV on it: python -m peers.text FILE.npz"""
import itertools
import random
import sys

import numpy as np
from sklearn.linear_model import LogisticRegressionCV

TEXTS, WORDS, DRAWS = 20_000, 2_000, 65
STRENGTH = 1.3  # deviation of the log odds


def texts():
    """The words of each text (0 or 1), its label, group and part: 14,000 training, 3,000 validation and 3,000 test rows."""
    r = random.Random(5)
    frequencies = list(itertools.accumulate(1 / j**0.9 for j in range(1, WORDS + 1)))
    w = np.array([r.gauss(0, 1) if r.random() < 0.3 else 0 for _ in range(WORDS)])
    x = np.zeros((TEXTS, WORDS), np.uint8)
    for row in x:
        row[r.choices(range(WORDS), cum_weights=frequencies, k=DRAWS)] = 1
    s = x @ w
    group = np.array([r.random() < 0.5 for _ in range(TEXTS)])
    odds = np.exp((s - s.mean()) / s.std() * STRENGTH + 0.4 * (group - 0.5))
    label = np.array([r.random() for _ in range(TEXTS)]) < odds / (1 + odds)
    part = np.repeat(["train", "validation", "test"], [14_000, 3_000, 3_000])
    return x, np.where(label, "yes", "no"), np.where(group, "a", "b"), part


def main(path):
    x, y, g, part = texts()
    np.savez(path, X=x, y=y, g=g, part=part)
    test = part == "test"
    for scoring in ("accuracy", "neg_log_loss"):
        m = LogisticRegressionCV(Cs=np.logspace(-4, 1, 11), cv=5, scoring=scoring, max_iter=300, use_legacy_attributes=False)
        m.fit(x[~test].astype(np.float32), y[~test])
        print(f"chosen by {scoring}: C {m.C_:.2g}, test error {np.mean(m.predict(x[test]) != y[test]):.4f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
