"""TensorFlow Constrained Optimization (TFCO) on pairs: tfco_rank.py DATA FOLD BOUND reads settings, a JSON line each, and writes results.

The scorer is linear. The objective is TFCO's error rate with the softmax loss (for pairs log(1 + e^-(s_i - s_j))), the constraints are two
differences of false negative rates with TFCO's default proxies (hinge), and one multiplier each moves by the counted rates. The Lagrangian of
`create_lagrangian_loss` is minimised by Adagrad, as in the public code of Narasimhan et al. (2020).
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

os.environ.update(TF_USE_LEGACY_KERAS="1", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import numpy as np
import tensorflow as tf
import tensorflow_constrained_optimization as tfco

from .rows import Best, load


def fit(rows, bound: float, rate: float, dual: float, queries: int, epochs: int) -> dict:
    """Train with mini-batches of whole queries; 0 queries: all. The time is that of the steps; a record has the scores of all rows."""
    train = rows[0]
    tf.random.set_seed(1)
    w, x = tf.Variable(tf.zeros([train.x.shape[1], 1])), tf.constant(train.x)
    documents = tf.Variable(np.arange(len(train.x)), shape=[None])
    i, j, cells = (tf.Variable(v, shape=[None]) for v in (train.i, train.j, train.cell))

    def margin():
        s = tf.squeeze(tf.matmul(tf.gather(x, documents), w), -1)
        return tf.gather(s, i) - tf.gather(s, j)

    def context(cell: int):
        of = lambda: tf.boolean_mask(margin(), tf.equal(cells, cell))
        return tfco.rate_context(of, lambda: tf.ones_like(of()))

    low, high = tfco.false_negative_rate(context(1)), tfco.false_negative_rate(context(2))
    error = tfco.error_rate(tfco.rate_context(margin, lambda: tf.ones_like(margin())), penalty_loss=tfco.SoftmaxCrossEntropyLoss())
    problem = tfco.RateMinimizationProblem(error, [low - high <= bound, high - low <= bound])
    loss, update, multipliers = tfco.create_lagrangian_loss(problem, dual_scale=dual)
    optimizer = tf.keras.optimizers.Adagrad(rate)
    variables = [w, *problem.trainable_variables, multipliers]

    def step():
        update()
        optimizer.minimize(loss, var_list=variables)

    step()  # makes the variables of the optimizer; the weights then begin at 0 again
    compiled = tf.function(step)
    compiled()
    for v in [*variables, *optimizer.variables()]:
        v.assign(tf.zeros_like(v))
    for v in optimizer.variables()[1:]:
        v.assign(tf.fill(v.shape, 0.1))  # Adagrad's default
    best, seconds = Best(rows, bound), 0.0
    of_query = [np.flatnonzero(train.query[train.i] == q) for q in range(train.query.max() + 1)]
    of_query = [p for p in of_query if len(p)]
    rng = np.random.default_rng(1)
    for epoch in range(epochs):
        began = time.process_time()
        order = rng.permutation(len(of_query)) if queries else []
        for first in range(0, len(order), queries or 1):
            pairs = np.concatenate([of_query[q] for q in order[first : first + queries]])
            if not {1, 2} <= set(train.cell[pairs]):
                continue  # TFCO would count the empty cell as error 0
            used, places = np.unique(np.concatenate([train.i[pairs], train.j[pairs]]), return_inverse=True)
            documents.assign(used), i.assign(places[: len(pairs)]), j.assign(places[len(pairs) :]), cells.assign(train.cell[pairs])
            compiled()
        if not queries:
            compiled()
        seconds += time.process_time() - began
        if queries or epoch % 10 == 9:
            best.record([r.x @ w.numpy()[:, 0] for r in rows], epoch=epoch + 1)
    return {**best.found, "seconds": seconds}


def main() -> None:
    """Answer the settings of the standard input."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    rows, bound = load(Path(sys.argv[1]), int(sys.argv[2])), float(sys.argv[3])
    for line in sys.stdin:
        print(json.dumps(fit(rows, bound, **json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
