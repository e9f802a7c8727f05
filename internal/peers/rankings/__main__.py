"""Compare ppal with TFCO, PyTorch and LightGBM on MQ2008: see README.md of the folder above."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from safetensors.numpy import load_file

from .rows import key, load

GRIDS = {
    "tfco_rank": {"rate": [0.03, 0.1, 0.3, 1.0], "dual": [1.0, 3.0, 10.0, 30.0, 100.0], "queries": [32], "epochs": [50]},
    "torch_rank": {"rate": [0.03, 0.1, 0.3, 1.0, 3.0], "dual": [0.001, 0.01, 0.1, 1.0], "steps": [1000]},
    "trees": {"rate": [0.02, 0.05, 0.1], "leaves": [4, 7, 15, 31], "trees": [300]},
}
NAMES = {"ppal": "ppal", "tfco_rank": "TFCO", "torch_rank": "PyTorch, all pairs", "trees": "LightGBM lambdarank"}


def settings(contender: str) -> list[dict]:
    """Return the grid of a contender."""
    grid = GRIDS[contender]
    return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


def at_edge(contender: str, best: dict) -> list[str]:
    """Return the settings at an end of the grid's numbers, where a neighbour might be better."""
    return [name for name, values in GRIDS[contender].items() if len(values) > 2 and best[name] in (values[0], values[-1])]


def rank(contender: str, measured: dict, bound: float) -> tuple[float, float]:
    """Order the results of a grid: without a bound by the validation error, else by the training pairs."""
    return (0.0, measured["validation"]["error"]) if contender == "trees" else key(measured, bound)


def run(python: str, contender: str, args: argparse.Namespace, fold: int, tried: list[dict]) -> list[dict]:
    """Run settings on a fold in a process of one thread."""
    command = ["taskset", "-c", args.core, python, "-m", f"{__package__}.{contender}", args.data, str(fold), str(args.bound)]
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, input="\n".join(map(json.dumps, tried)), capture_output=True, text=True, env=env)
    if done.returncode:
        raise SystemExit(done.stderr)
    return [json.loads(line) | {"settings": s} for line, s in zip(done.stdout.splitlines(), tried, strict=True)]


def ppal(args: argparse.Namespace, fold: int) -> dict:
    """Train with the defaults. The time is that of the whole process: reading, certificate and files, too."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        flags = ["--fold", str(fold), "--subject-to", f"gap(cross_pair_error, quality) <= {args.bound}", "--data-dir", args.data, "--quiet"]
        command = ["taskset", "-c", args.core, args.ppal, "train", "--dataset", "mq2008", *flags, "--out", f"{folder}/run"]
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        weights = load_file(Path(folder, "run", "model.safetensors"))["linear.weight"].astype(float)
        summary = json.loads(Path(folder, "run", "summary.json").read_text())
    measured = dict(zip(("train", "validation", "test"), (r.measure(r.x.astype(float) @ weights[0]) for r in load(Path(args.data), fold))))
    own = summary["decisions"][0]
    for part, m in measured.items():  # two programs count the pairs
        if max(abs(m["gap"] - own[part]), abs(m["error"] - summary["objective_on_decisions"][part])) > 1e-3:
            raise SystemExit(f"fold {fold}, {part}: ppal says {own[part]} and {summary['objective_on_decisions'][part]}, the measure {m}")
    return measured | {"seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, "settings": {}}


def main() -> None:
    """Search the settings on the first fold, run all folds, and print a table; --out keeps all results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("PPAL_DATA", "data"))
    parser.add_argument("--ppal", default="bin/ppal")
    parser.add_argument("--tfco", default=".venv-tfco/bin/python", help="Python of TFCO's environment")
    parser.add_argument("--core", default="0", help="the core of all processes")
    parser.add_argument("--bound", type=float, default=0.02)
    parser.add_argument("--parts", default=",".join(NAMES), help="the contenders that run; --out keeps earlier results of the others")
    parser.add_argument("--out", type=Path, default=Path("build/rankings.json"))
    args = parser.parse_args()
    results: dict = json.loads(args.out.read_text()) if args.out.exists() else {}
    for contender in args.parts.split(","):
        before = os.getloadavg()
        if contender == "ppal":
            found = {"folds": [ppal(args, fold) for fold in range(1, 6)]}
        else:
            python = args.tfco if contender == "tfco_rank" else sys.executable
            searched = run(python, contender, args, 1, settings(contender))
            best = min(searched, key=lambda m: rank(contender, m, args.bound))["settings"]
            print(f"{NAMES[contender]}: {best}; at an end of the grid: {', '.join(at_edge(contender, best)) or 'none'}", file=sys.stderr, flush=True)
            found = {"folds": [run(python, contender, args, fold, [best])[0] for fold in range(1, 6)], "grid on fold 1": searched}
        results[contender] = found | {"load": [before, os.getloadavg()]}
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(results, indent=1))
    names = [n for n in NAMES if n in results]
    print("| fold | " + " | ".join(NAMES[n] for n in names) + " |\n|---|" + "---|" * len(names))
    for fold in range(5):
        cells = []
        for contender in names:
            m = results[contender]["folds"][fold]
            train, test = m["train"], m["test"]
            errors = f"{100 * train['error']:.2f}, {100 * train['gap']:.2f}; {100 * test['error']:.2f}, {100 * test['gap']:.2f}"
            cells.append(f"{errors}; {100 * test['ndcg']:.1f}; {m['seconds']:.2f} s")
        print(f"| {fold + 1} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
