"""Part 4: seconds from the start to a model with f at most TARGET and every bound met, all rows of four classes.

Every rival is timed with the setting of its grid that is there first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

from .cases import FASHION, TARGET
from .choose import Point, best_of, best_until, first_hit, worst_after
from .client import Client
from .context import Context
from .ppal import Run
from .settings import KINDS, TITLES, Setting

CASE = FASHION


@dataclass(frozen=True)
class Effort:
    """The extent of the measurements: starts (seeds), timed runs from each start, the interval of ppal's records, the
    iterations after which a run gives up, and the iterations after the target.
    """

    starts: int = 1
    repeats: int = 3
    record_every: int = 1
    limit: int = 800
    after: int = 50


def run(context: Context, settings: Sequence[Setting], effort: Effort) -> None:
    """From each start, find ppal's first iterate that meets the target, and the setting of each rival that meets it first. Then
    time them in turns.
    """
    if context.is_random(CASE.dataset):
        context.results.unit(CASE.name, partial(context.not_run, CASE.dataset))
        return
    grids = {name: [s for s in settings if isinstance(s, kind)] for name, kind in KINDS.items()}
    for seed in range(context.seed, context.seed + effort.starts):
        _, folder = context.problem(CASE, seed)
        ppal = context.results.unit(f"{seed} ppal", partial(_find, context, seed, effort))
        for name, grid in grids.items():
            if grid:
                rival = context.results.unit(f"{seed} {name}", partial(_screen, context, name, folder, seed, grid, effort))
                context.results.unit(f"{seed} times {name}", partial(_times, context, name, folder, seed, ppal, rival, effort))


def _find(context: Context, seed: int, effort: Effort) -> dict:
    """One run with every iterate recorded, longer until the target is met."""
    iterations = 100 + effort.after
    while True:
        context.say(f"headline: start {seed}: ppal, {iterations} iterations, every {effort.record_every} recorded")
        points = _points(_train(context, seed, iterations, effort.record_every))
        hit = first_hit(points, TARGET)
        if (hit and hit.iteration + effort.after <= iterations) or iterations >= effort.limit:
            return _outcome(points, hit)
        iterations = min(2 * iterations, effort.limit)


def _screen(context: Context, name: str, folder: Path, seed: int, settings: Sequence[Setting], effort: Effort) -> dict:
    """Run every setting once, until it meets the target or exceeds the time of the fastest setting so far."""
    seconds, outcomes = None, []
    with context.client(name, context.device, context.matmul) as client:
        client.call("load", folder=str(folder))
        client.call("warm_up", setting=asdict(settings[0]))
        for setting in settings:
            within = "" if seconds is None else f", at most {seconds:.1f} s"
            context.say(f"headline: start {seed}: {TITLES[name]}: {setting}{within}")
            points = _advance(client, asdict(setting), effort, seconds=seconds, after=0)
            hit = first_hit(points, TARGET)
            if hit:
                seconds = min(seconds or hit.seconds, hit.seconds)
            outcomes.append({"setting": str(setting), "values": asdict(setting)} | _outcome(points, hit))
        best = best_of((o for o in outcomes if o["hit"]), lambda o: Point(0, 0.0, o["hit"]["seconds"], 0.0))
        if best is None:
            return {"runs": outcomes, "best": None}
        context.say(f"headline: start {seed}: {TITLES[name]}: {best['setting']} again, {effort.after} iterations beyond the target")
        points = _advance(client, best["values"], effort, seconds=None, after=effort.after)
    return {"runs": outcomes, "best": best["setting"], "values": best["values"]} | _outcome(points, first_hit(points, TARGET))


def _times(context: Context, name: str, folder: Path, seed: int, ppal: dict, rival: dict, effort: Effort) -> dict:
    """Time both in turns: ppal without records up to the iterate found, the rival until its forward pass meets the target."""
    seconds: dict[str, list[float]] = {"ppal": [], "rival": []}
    with context.client(name, context.device, context.matmul) as client:
        client.call("load", folder=str(folder))
        for turn in range(effort.repeats):
            context.say(f"headline: start {seed}: {TITLES[name]}: turn {turn + 1} of {effort.repeats}")
            hits: dict[str, Point | None] = {"ppal": None, "rival": None}
            if ppal["hit"]:
                count = ppal["hit"]["iteration"]
                hits["ppal"] = first_hit(_points(_train(context, seed, count, record_every=count)), TARGET)
            if rival["best"]:
                if turn == 0:
                    client.call("warm_up", setting=rival["values"])
                hits["rival"] = first_hit(_advance(client, rival["values"], effort, seconds=None, after=0), TARGET)
            for side, hit in hits.items():
                if hit:
                    seconds[side].append(hit.seconds)
    medians = {side: median(s) for side, s in seconds.items() if s}
    ratio = medians["rival"] / medians["ppal"] if len(medians) == len(seconds) else None
    return {"seconds": seconds, "median": medians, "ratio": ratio}


def _train(context: Context, seed: int, iterations: int, record_every: int) -> Run:
    flags = ["--iterations", str(iterations), "--record-every", str(record_every), "--seed", str(seed)]
    return context.ppal.train(CASE, *flags)


def _points(trained: Run) -> list[Point]:
    return [Point(r["iteration"], r["seconds"], r["objective"], max(r["constraints"])) for r in trained.records]


def _advance(client: Client, setting: dict, effort: Effort, seconds: float | None, after: int) -> list[Point]:
    """Run the setting from the start."""
    run = client.call("run", setting=setting, until=effort.limit, target=TARGET, after=after, seconds=seconds)
    return [Point(int(p[0]), *p[1:]) for p in run["points"]]


def _outcome(points: Sequence[Point], hit: Point | None) -> dict:
    """When the target was met and whether the bounds were exceeded afterwards, or the best point of the run."""
    best = best_until(points, points[-1].iteration)
    return {
        "hit": asdict(hit) if hit else None,
        "worst_after": worst_after(points, hit) if hit else None,
        "iterations": points[-1].iteration, "seconds": points[-1].seconds,
        "best_feasible": asdict(best) if best else None,
    }  # fmt: skip
