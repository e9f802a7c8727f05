"""Part 4: seconds from the start to a model with f at most TARGET and every bound met, all rows of four classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median

from .cases import FASHION, TARGET
from .choose import Point, Setting, best_of, best_until, first_hit, worst_after
from .client import Client
from .context import Context
from .ppal import Run

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
    """From each start, find ppal's first iterate that meets the target, and the setting of Cooper that meets it first. Then
    time both in turns.
    """
    if context.is_random(CASE.dataset):
        context.results.unit(CASE.name, partial(context.not_run, CASE.dataset))
        return
    with context.client("cooper") as client:
        for seed in range(context.seed, context.seed + effort.starts):
            _, folder = context.problem(CASE, seed)
            client.call("load", folder=str(folder))
            client.call("warm_up", setting=asdict(settings[0]))
            ppal = context.results.unit(f"{seed} ppal", partial(_find, context, seed, effort))
            cooper = context.results.unit(f"{seed} cooper", partial(_screen, context, client, seed, settings, effort))
            context.results.unit(f"{seed} times", partial(_times, context, client, seed, ppal, cooper, effort))


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


def _screen(context: Context, client: Client, seed: int, settings: Sequence[Setting], effort: Effort) -> dict:
    """Run every setting once, until it meets the target or exceeds the time of the fastest setting so far."""
    seconds, outcomes = None, []
    for setting in settings:
        within = "" if seconds is None else f", at most {seconds:.1f} s"
        context.say(f"headline: start {seed}: Cooper {setting}{within}")
        points = _advance(client, setting, effort, seconds=seconds, after=0)
        hit = first_hit(points, TARGET)
        if hit:
            seconds = min(seconds or hit.seconds, hit.seconds)
        outcomes.append({"setting": asdict(setting)} | _outcome(points, hit))
    best = best_of((o for o in outcomes if o["hit"]), lambda o: Point(0, 0.0, o["hit"]["seconds"], 0.0))
    if best is None:
        return {"runs": outcomes, "best": None}
    setting = Setting(**best["setting"])
    context.say(f"headline: start {seed}: Cooper {setting} again, {effort.after} iterations beyond the target")
    points = _advance(client, setting, effort, seconds=None, after=effort.after)
    return {"runs": outcomes, "best": best["setting"]} | _outcome(points, first_hit(points, TARGET))


def _times(context: Context, client: Client, seed: int, ppal: dict, cooper: dict, effort: Effort) -> dict:
    """Time both in turns: ppal without records up to the iterate found, Cooper until its forward pass meets the target."""
    seconds: dict[str, list[float]] = {"ppal": [], "cooper": []}
    for turn in range(effort.repeats):
        context.say(f"headline: start {seed}: turn {turn + 1} of {effort.repeats}")
        hits: dict[str, Point | None] = {"ppal": None, "cooper": None}
        if ppal["hit"]:
            count = ppal["hit"]["iteration"]
            hits["ppal"] = first_hit(_points(_train(context, seed, count, record_every=count)), TARGET)
        if cooper["best"]:
            points = _advance(client, Setting(**cooper["best"]), effort, seconds=None, after=0)
            hits["cooper"] = first_hit(points, TARGET)
        for side, hit in hits.items():
            if hit:
                seconds[side].append(hit.seconds)
    medians = {side: median(s) for side, s in seconds.items() if s}
    ratio = medians["cooper"] / medians["ppal"] if len(medians) == len(seconds) else None
    return {"seconds": seconds, "median": medians, "ratio": ratio}


def _train(context: Context, seed: int, iterations: int, record_every: int) -> Run:
    flags = ["--iterations", str(iterations), "--record-every", str(record_every), "--seed", str(seed)]
    return context.ppal.train(CASE, *flags)


def _points(trained: Run) -> list[Point]:
    return [Point(r["iteration"], r["seconds"], r["objective"], max(r["constraints"])) for r in trained.records]


def _advance(client: Client, setting: Setting, effort: Effort, seconds: float | None, after: int) -> list[Point]:
    """Run the setting from the start."""
    client.call("start", name="headline", setting=asdict(setting))
    points = client.call("advance", name="headline", until=effort.limit, target=TARGET, after=after, seconds=seconds)
    client.call("drop", name="headline")
    return [Point(int(p[0]), *p[1:]) for p in points]


def _outcome(points: Sequence[Point], hit: Point | None) -> dict:
    """When the target was met and whether the bounds were exceeded afterwards, or the best point of the run."""
    best = best_until(points, points[-1].iteration)
    return {
        "hit": asdict(hit) if hit else None,
        "worst_after": worst_after(points, hit) if hit else None,
        "iterations": points[-1].iteration, "seconds": points[-1].seconds,
        "best_feasible": asdict(best) if best else None,
    }  # fmt: skip
