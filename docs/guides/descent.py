"""Gradient descent-ascent as a contender of ppal: ppal compare --contender "python3 docs/guides/descent.py".

ppal gives the problem and the start on standard input, counts the evaluations, keeps the records, and
ends the program with its budget. Requests: F x gets f and g(x); B w gets w_0 grad f + sum_j w_j grad g_j
at the last x; R x names the result; Q ends. All numbers are little-endian float64.
"""

import json
import sys

import numpy as np

STEP, DUAL_STEP = 0.1, 0.5


def read(count: int) -> np.ndarray:
    """The numbers of an answer. ppal has ended the run if there are none."""
    data = sys.stdin.buffer.read(8 * count)
    if len(data) < 8 * count:
        sys.exit()
    return np.frombuffer(data, "<f8").copy()


def ask(request: bytes, numbers: np.ndarray, count: int) -> np.ndarray:
    """Send a request and read its answer."""
    sys.stdout.buffer.write(request + numbers.astype("<f8").tobytes())
    sys.stdout.buffer.flush()
    return read(count)


problem = json.loads(sys.stdin.buffer.readline())
n, m = problem["n"], problem["m"]
x = read(n)
multipliers = np.zeros(m)
while True:
    values = ask(b"F", x, 1 + m)  # f, g_1 ... g_m
    multipliers = np.maximum(0, multipliers + DUAL_STEP * values[1:])
    x -= STEP * ask(b"B", np.concatenate(([1], multipliers)), n)
    if problem["radius"] is not None:  # the weights lie in a ball
        x *= min(1, problem["radius"] / np.linalg.norm(x))
