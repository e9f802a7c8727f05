"""An oracle of two small problems, with nothing but Python: the protocol of ``ppal reproduce suite``.

    quadratic   minimise ||x - (1, 2, 3)||^2/2  subject to  x_1 + x_2 + x_3 <= 3,  -x_1 <= 0
                solution (0, 1, 2), f = 1.5, multipliers (1, 0): -x_1 <= 0 is active with multiplier 0
    ball        minimise ||x - (3, 4, 0)||^2/2  subject to  x_3 <= 0.5,  ||x|| <= 1
                solution (0.6, 0.8, 0), f = 8
    box         the quadratic, with 0 <= x_i <= 1.5 instead of -x_1 <= 0
                solution (0.25, 1.25, 1.5), f = 1.6875
"""

from __future__ import annotations

import json
import struct
import sys


def main(name: str) -> None:
    """Serve one problem."""
    target = [3.0, 4.0, 0.0] if name == "ball" else [1.0, 2.0, 3.0]
    rows = [([1.0, 1.0, 1.0], 3.0)] if name != "ball" else [([0.0, 0.0, 1.0], 0.5)]
    if name == "quadratic":
        rows.append(([-1.0, 0.0, 0.0], 0.0))
    lower, upper = (0.0, 1.5) if name == "box" else (None, None)
    head = {"problem": name, "n": 3, "m": len(rows), "radius": 1.0 if name == "ball" else None,
            "lower": lower, "upper": upper, "dtype": "float64"}  # fmt: skip
    start = [0.5, 0.1, 0.2]
    out, source = sys.stdout.buffer, sys.stdin.buffer
    out.write(json.dumps(head).encode() + b"\n" + struct.pack("<3d", *start))
    out.flush()
    x = start
    while (kind := source.read(1)) not in (b"", b"Q"):
        count = 1 + len(rows) if kind == b"B" else 3
        numbers = struct.unpack(f"<{count}d", source.read(8 * count))
        if kind == b"F":
            x = list(numbers)
            f = sum((a - b) ** 2 for a, b in zip(x, target)) / 2
            answer = [f, *(sum(a * b for a, b in zip(row, x)) - bound for row, bound in rows)]
        elif kind == b"B":
            answer = [numbers[0] * (x[i] - target[i]) + sum(w * row[i] for w, (row, _) in zip(numbers[1:], rows)) for i in range(3)]
        else:
            continue
        out.write(struct.pack(f"<{len(answer)}d", *answer))
        out.flush()


if __name__ == "__main__":
    main(sys.argv[1])
