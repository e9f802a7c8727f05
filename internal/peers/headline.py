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
    """How much to measure: starts (seeds), timed runs from each, iterations until a run gives up, and after the target."""

    starts: int = 1
    repeats: int = 3
    limit: int = 800
    after: int = 50


def run(context: Context, settings: Sequence[Setting], effort: Effort) -> None:
    """From each start: find ppal's first iterate that meets the target and the setting of Cooper that is the first to; then
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
        context.say(f"headline: start {seed}: ppal, {iterations} iterations, all recorded")
        records = _train(context, seed, iterations, record_every=1).records
        points = [Point(r["iteration"], r["seconds"], r["objective"], max(r["constraints"])) for r in records]
        hit = first_hit(points, TARGET)
        if (hit and hit.iteration + effort.after <= iterations) or iterations >= effort.limit:
            return _outcome(points, hit)
        iterations = min(2 * iterations, effort.limit)


def _screen(context: Context, client: Client, seed: int, settings: Sequence[Setting], effort: Effort) -> dict:
    """Every setting once, until it meets the target or has trained for longer than the fastest one so far took to."""
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
    """Both in turns: ppal without records up to the iterate that was found, Cooper until its forward pass shows the target."""
    seconds: dict[str, list[float]] = {"ppal": [], "cooper": []}
    for turn in range(effort.repeats):
        context.say(f"headline: start {seed}: turn {turn + 1} of {effort.repeats}")
        if ppal["hit"]:
            count = ppal["hit"]["iteration"]
            seconds["ppal"].append(_train(context, seed, count, record_every=count).summary["seconds"])
        if cooper["best"]:
            hit = first_hit(_advance(client, Setting(**cooper["best"]), effort, seconds=None, after=0), TARGET)
            if hit:
                seconds["cooper"].append(hit.seconds)
    medians = {side: median(s) for side, s in seconds.items() if s}
    ratio = medians["cooper"] / medians["ppal"] if len(medians) == len(seconds) else None
    return {"seconds": seconds, "median": medians, "ratio": ratio}


def _train(context: Context, seed: int, iterations: int, record_every: int) -> Run:
    flags = ["--iterations", str(iterations), "--record-every", str(record_every), "--seed", str(seed)]
    return context.ppal.train(CASE, *flags)


def _advance(client: Client, setting: Setting, effort: Effort, seconds: float | None, after: int) -> list[Point]:
    """A run of its own from the start."""
    client.call("start", name="headline", setting=asdict(setting))
    points = client.call("advance", name="headline", until=effort.limit, target=TARGET, after=after, seconds=seconds)
    client.call("drop", name="headline")
    return [Point(int(p[0]), *p[1:]) for p in points]


def _outcome(points: Sequence[Point], hit: Point | None) -> dict:
    """When the target was met and what became of the bounds after it, or how far the run came."""
    best = best_until(points, points[-1].iteration)
    return {
        "hit": asdict(hit) if hit else None,
        "worst_after": worst_after(points, hit) if hit else None,
        "iterations": points[-1].iteration, "seconds": points[-1].seconds,
        "best_feasible": asdict(best) if best else None,
    }  # fmt: skip
