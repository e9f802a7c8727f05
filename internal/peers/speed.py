"""Part 2: times of the two bare products and of whole iterations, all contenders in turns on the same threads, float32.

An iteration is a forward pass, a backward pass and a step on f + w.g with given weights. ppal's is that of ``ppal train``
(training time over iterations: with its multipliers, its step size rule and the projection), and that of ``ppal bench``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

from .cases import CIFAR, FASHION, FASHION_SEPARATE, Case
from .client import Client, PeerError
from .context import Context
from .ppal import PpalError
from .timing import alternate

PRODUCTS = ("products by feature", "products by unit")  # W stored as [d, units], or as [units, d]
CONTENDERS = {
    "numpy": PRODUCTS,
    "onednn": PRODUCTS,
    "torch": (*PRODUCTS, "eager", "eager, medium", "compiled", "compiled, max-autotune"),
    "jax": (*PRODUCTS, "jit"),
}
BENCH = {  # the cases of ppal bench for each case
    FASHION.name: ["mnpc-fashion-mnist", "mnpc-fashion-mnist-float32", "mnpc-fashion-mnist-int8x2"],
    FASHION_SEPARATE.name: ["mnpc-fashion-mnist-separate"],
    CIFAR.name: ["mnpc-cifar10"],
}


@dataclass(frozen=True)
class Effort:
    """The length of the measurements: rounds of turns, seconds of a turn, iterations of a run of ppal train."""

    rounds: int = 5
    seconds: float = 0.6
    ppal_iterations: int = 15


def run(context: Context, cases: list[Case], effort: Effort) -> None:
    """Measure every case."""
    for case in cases:
        context.results.unit(case.name, partial(_measure, context, case, effort))


@dataclass
class Lineup:
    """The prepared contenders, and the reasons why others are missing."""

    turns: dict[str, Callable[[], list[float]]] = field(default_factory=dict)
    prepared: dict[str, float] = field(default_factory=dict)  # seconds of compilation and warm-up
    missing: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def add(self, client: Client, contender: str, seconds: float) -> None:
        """Compile and warm up the contenders. Record the reason if one fails."""
        name = f"{client.name} {contender}"
        try:
            self.prepared[name] = client.call("prepare", contender=contender)
            self.turns[name] = partial(client.call, "time", contender=contender, seconds=seconds)
        except PeerError as error:
            self.missing[name] = str(error)


def _measure(context: Context, case: Case, effort: Effort) -> dict:
    problem, folder = context.problem(case)
    lineup = Lineup()
    with ExitStack() as stack:
        for peer, contenders in CONTENDERS.items():
            context.say(f"speed: {case.name}: preparing {peer}")
            try:
                client = stack.enter_context(context.client(peer))
                client.call("load", folder=str(folder))
            except PeerError as error:
                lineup.missing[peer] = str(error)
                continue
            lineup.versions |= client.description
            for contender in contenders:
                lineup.add(client, contender, effort.seconds)
        for name, flags in _ppal_modes(context).items():
            seed = ["--seed", str(context.seed)]
            lineup.turns[name] = partial(context.ppal.milliseconds, case, effort.ppal_iterations, *seed, *flags)
        context.say(f"speed: {case.name}: {len(lineup.turns)} contenders in turns, {effort.rounds} rounds")
        samples = alternate(lineup.turns, effort.rounds)
    return {
        "shape": [*problem.pixels.shape, case.width], "random_data": context.is_random(case.dataset),
        "times": {name: sample.record() for name, sample in samples.items()}, "prepare_seconds": lineup.prepared,
        "not_run": lineup.missing, "versions": lineup.versions, "bench": _bench(context, case),
    }  # fmt: skip


def _ppal_modes(context: Context) -> dict[str, list[str]]:
    """ppal's contenders: the kinds of products that it supports on this machine."""
    return {f"ppal train --products {kind}": ["--products", kind] for kind in context.ppal.products()}


def _bench(context: Context, case: Case) -> dict:
    """ppal bench's own numbers for the case by name: iteration_ms, floor_ms and ratio, or the reason why there are none."""
    if not context.ppal.has("bench"):
        return {name: {"not_run": "not available: this ppal has no bench command"} for name in BENCH.get(case.name, [])}
    found: dict[str, dict] = {}
    for name in BENCH.get(case.name, []):
        context.say(f"speed: ppal bench {name}")
        try:
            report = context.ppal.bench(name, case.dataset)
            found[name] = {key: report[key] for key in ("iteration_ms", "floor_ms", "ratio")}
        except PpalError as error:
            found[name] = {"not_run": error.reason}
    return found
