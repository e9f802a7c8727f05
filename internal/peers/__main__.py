"""Compares ppal with PyTorch, JAX, numpy and Cooper on this machine. See README.md."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from . import environment, report
from .results import PARTS, Results

EXAMPLES = """examples:
  make bench-peers                                        all parts, about an hour on 2 cores
  make bench-peers PEERS_FLAGS="--quick"                  a few minutes: fewer turns, problems and settings
  make bench-peers PEERS_FLAGS="--parts check,speed"      these parts; results of other parts are kept
  make bench-peers PEERS_FLAGS="--resume"                 goes on after an interruption
  make bench-peers PEERS_FLAGS="--show"                   prints what was measured, measures nothing
  make bench-peers PEERS_FLAGS="--threads 1 --markdown peers.md"
  make gpu bench-peers PEERS_FLAGS="--device cuda --ppal bin/ppal-gpu"    the headline on a GPU
"""


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="make bench-peers PEERS_FLAGS=...", description=__doc__, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--parts", metavar="P,...", help=f"of {', '.join(PARTS)} (default: all; with --device cuda, headline)")
    effort = parser.add_mutually_exclusive_group()
    effort.add_argument("--quick", action="store_true", help="a shorter look: fewer turns, problems and settings of the rivals")
    effort.add_argument(
        "--full", action="store_true", help="also convergence on CIFAR-10, speed with separate heads, the headline from 3 starts"
    )
    parser.add_argument("--resume", action="store_true", help="keep what was measured with the same settings, binary and machine")
    parser.add_argument("--show", action="store_true", help="print the tables of the JSON file and measure nothing")
    parser.add_argument(
        "--data-dir", metavar="DIR", help="the data sets' files (default $PPAL_DATA, else the user's cache directory)"
    )
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="cores for every contender; 0 is all (default 0)")
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu",
        help="train ppal and the rivals on this device; cuda needs --ppal bin/ppal-gpu and measures only the headline "
        "(default cpu)",
    )  # fmt: skip
    parser.add_argument(
        "--matmul", choices=("highest", "high", "medium"), metavar="P",
        help="precision of PyTorch's float32 products in the headline: highest, high (TF32 on a GPU) or medium (bfloat16) (default "
        "highest; with --device cuda, high)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="of ppal's initial weights, the start of all (default 1)"
    )
    parser.add_argument("--ppal", type=Path, default=Path("bin/ppal"), metavar="FILE", help="the binary (default bin/ppal)")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="results (default build/peers.json; with --device cuda, build/peers-cuda.json)"
    )
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="tables (default: beside the results, with the ending .md)"
    )
    parser.add_argument(
        "--work", type=Path, default=Path("build/peers"), metavar="DIR", help="working files (default build/peers)"
    )
    options = parser.parse_args(arguments)
    every = PARTS if options.device == "cpu" else ["headline"]
    options.parts = list(every) if options.parts is None else options.parts.split(",")
    unknown = [p for p in options.parts if p not in PARTS]
    if unknown:
        parser.error(f"argument --parts: no part {unknown[0]!r}: take some of {', '.join(PARTS)}")
    if off := [p for p in options.parts if p not in every]:
        parser.error(f"argument --parts: the part {off[0]} runs on the CPU only (leave it out, or leave out --device cuda)")
    if options.matmul and "headline" not in options.parts:
        parser.error("argument --matmul: only the part headline uses it")
    options.matmul = options.matmul or ("highest" if options.device == "cpu" else "high")
    options.json = options.json or Path("build/peers.json" if options.device == "cpu" else "build/peers-cuda.json")
    options.markdown = options.markdown or options.json.with_suffix(".md")
    if options.threads < 0:
        parser.error(f"argument --threads: {options.threads} is negative")
    return options


def measure(options: argparse.Namespace, results: Results) -> None:
    """Run the requested parts."""
    from . import check, convergence, data, headline, speed  # they need numpy; --help and --show do not
    from .context import Context
    from .plans import plan

    threads = environment.restrict(options.threads)
    context = Context(
        options.work, data.directory(options.data_dir), options.ppal.resolve(), threads, options.seed, results,
        options.device, options.matmul,
    )  # fmt: skip
    facts = environment.describe(threads, context.ppal.version(), context.binary, options.device)
    chosen = plan(options.quick, options.full)
    settings = {"effort": chosen.name, "seed": options.seed}
    trained = facts | {"device": options.device, "products of PyTorch": options.matmul}
    runs = {
        "check": lambda: check.run(context, chosen.check),
        "speed": lambda: speed.run(context, chosen.speed, chosen.speed_effort),
        "convergence": lambda: convergence.run(context, chosen.convergence, chosen.convergence_effort),
        "headline": lambda: headline.run(context, chosen.headline, chosen.headline_effort),
    }
    for part in PARTS:
        if part in options.parts:
            results.begin(part, trained if part == "headline" else facts, settings)
            runs[part]()


def show(options: argparse.Namespace, results: Results) -> None:
    """Print the tables and write them as Markdown."""
    tables = report.tables(results.parts)
    if not tables:
        print(f"nothing measured yet: {options.json} has no results; leave out --show")
        return
    facts = report.environment(results.parts)
    print("\n\n".join(["", *(t.text() for t in tables), "\n".join(facts)]))
    options.markdown.parent.mkdir(parents=True, exist_ok=True)
    body = "\n\n".join([*(t.markdown() for t in tables), "### Where\n\n" + "\n".join(f"- {line}" for line in facts)])
    options.markdown.write_text(body + "\n")
    print(f"\nresults {options.json}, tables {options.markdown}")


def measured(options: argparse.Namespace, results: Results) -> int:
    """Measure, and report an error in one line. Return the exit status."""
    from .check import CheckError
    from .client import PeerError
    from .data import DataError
    from .ppal import PpalError

    try:
        measure(options, results)
    except CheckError as error:
        show(options, results)
        print(f"peers: {error}", file=sys.stderr)
    except (DataError, PeerError, PpalError) as error:
        print(f"peers: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("peers: interrupted; --resume goes on", file=sys.stderr)
        return 130
    else:
        return 0
    return 1


def main(arguments: list[str]) -> int:
    """Exit status: 0 done, 1 failed or a contender has different results, 2 bad usage, 130 interrupted."""
    options = parse(arguments)
    results = Results(options.json, options.resume)
    if not options.show:
        start = time.monotonic()
        status = measured(options, results)
        if status != 0:
            return status
        print(f"measured in {time.monotonic() - start:.0f} s")
    show(options, results)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
