"""Runs a contender on ppal's problem: ``python -m peers.suite --oracle "bin/ppal reproduce suite --oracle ..." ...``."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from dataclasses import asdict

from ..settings import KINDS
from .grids import settings

MODULES = {"cooper": "cooper_contender", "augmented-lagrangian": "augmented_lagrangian", "ipopt": "ipopt"}
MARKS = (50, 100, 200, 300, 1000)


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m peers.suite", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the settings of all contenders as JSON, and run nothing")
    parser.add_argument("--oracle", metavar="COMMAND", help="command of the oracle")
    parser.add_argument("--contender", choices=list(KINDS), help="the optimiser")
    parser.add_argument("--setting", default="{}", metavar="JSON", help="its setting, as --list prints it")
    parser.add_argument("--evaluations", type=int, default=1000, metavar="N", help="limit of evaluations (default 1000)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of the contender's own work (default 1)")
    options = parser.parse_args(arguments)
    if options.list:
        return options
    if not options.oracle or not options.contender:
        parser.error("--oracle and --contender are required, or --list")
    if options.evaluations < 1:
        parser.error(f"argument --evaluations: {options.evaluations} is below 1")
    try:
        options.setting = KINDS[options.contender](**json.loads(options.setting))
    except (ValueError, TypeError) as error:
        parser.error(f"argument --setting: {error}")
    return options


def run(options: argparse.Namespace) -> dict:
    """One run. The result states the evaluations and the best feasible f; the oracle's trace has the rest."""
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(options.threads))
    contender = importlib.import_module(f".{MODULES[options.contender]}", __package__)
    from .evaluations import Evaluations
    from .oracle import Oracle

    with Oracle(options.oracle) as oracle:
        problem = Evaluations(oracle, options.evaluations)
        oracle.give(contender.run(problem, options.setting))
    return {
        "problem": oracle.name, "contender": options.contender, "setting": asdict(options.setting),
        "evaluations": problem.count, "forwards": problem.forwards, "backwards": problem.backwards,
        "best": {str(k): problem.best(k) for k in MARKS if k <= options.evaluations},
    }  # fmt: skip


def main(arguments: list[str]) -> int:
    """Exit status: 0 done, 1 failed, 2 bad usage, 3 a package is not installed."""
    options = parse(arguments)
    if options.list:
        print(json.dumps({name: [asdict(s) for s in of] for name, of in settings().items()}))
        return 0
    try:
        print(json.dumps(run(options)))
    except ModuleNotFoundError as error:
        print(f"peers.suite: {options.contender}: the package {error.name} is not installed; run: make peers", file=sys.stderr)
        return 3
    except RuntimeError as error:  # OracleError too
        print(f"peers.suite: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
