"""Part 3: the best feasible objective after some evaluations: ppal's defaults, and every rival at its best.

A rival's settings are searched from one start until the best are inside the grid (search). The best single setting then runs from
the other starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from .cases import Case
from .choose import Point, best_until
from .client import Client, PeerError
from .context import Context
from .search import SINGLE, best, edges, scores, search
from .settings import TITLES, Setting


@dataclass(frozen=True)
class Effort:
    """The extent of the measurements: where each search starts and its largest number of settings, the evaluations of the marks,
    and the starts (seeds).
    """

    coarse: Mapping[str, Sequence[Setting]]
    limits: Mapping[str, int]
    marks: Sequence[int] = (50, 100, 200, 300)
    seeds: int = 3


def run(context: Context, cases: list[Case], effort: Effort) -> None:
    """Measure ppal and every rival on every case."""
    for case in cases:
        if context.is_random(case.dataset):
            context.results.unit(case.name, partial(context.not_run, case.dataset))
            continue
        context.results.unit(f"{case.name} ppal", partial(_ppal, context, case, effort))
        for contender in effort.coarse:
            context.results.unit(f"{case.name} {contender}", partial(_rival, context, case, contender, effort))


def _ppal(context: Context, case: Case, effort: Effort) -> dict:
    """The iterates of one run from every start. The second run, without records, measures the time."""
    runs, last = {}, effort.marks[-1]
    for seed in _seeds(context, effort):
        context.say(f"convergence: {case.name}: ppal, start {seed}")
        flags = ["--iterations", str(last), "--seed", str(seed)]
        every = context.ppal.train(case, *flags, "--record-every", "1")
        points = [Point(r["iteration"], r["seconds"], r["objective"], max(r["constraints"])) for r in every.records]
        timed = context.ppal.train(case, *flags, "--record-every", str(last))
        runs[seed] = _marks(points, effort.marks) | {"seconds": timed.summary["seconds"]}
    return {"runs": runs}


def _rival(context: Context, case: Case, contender: str, effort: Effort) -> dict:
    """The search from the first start, and the best single setting from every start."""
    first, *others = _seeds(context, effort)
    wanted = scores(effort.marks)
    try:
        with context.client(contender) as client:
            _load(context, client, case, first)
            measure = partial(_points, context, client, case, effort)
            points = search(effort.coarse[contender], measure, wanted, effort.limits[contender])
            chosen = {score.name: best(points, score) for score in wanted}
            single = chosen[SINGLE]
            runs = {first: _marks(points[single], effort.marks)}
            for seed in others:
                _load(context, client, case, seed)
                runs[seed] = _marks(measure(single), effort.marks)
    except PeerError as error:
        return {"not_run": str(error)}
    return {
        "settings": [{"setting": str(s), "values": asdict(s)} | _marks(p, effort.marks) for s, p in points.items()],
        "chosen": {name: {"setting": str(s), "edges": edges(s, points)} for name, s in chosen.items()},
        "limited": len(points) >= effort.limits[contender],
        "runs": runs,
    }


def _seeds(context: Context, effort: Effort) -> range:
    return range(context.seed, context.seed + effort.seeds)


def _load(context: Context, client: Client, case: Case, seed: int) -> None:
    _, folder = context.problem(case, seed)
    client.call("load", folder=str(folder))


def _points(context: Context, client: Client, case: Case, effort: Effort, setting: Setting) -> list[Point]:
    context.say(f"convergence: {case.name}: {TITLES[client.name]}: {setting}")
    run = client.call("run", setting=asdict(setting), until=effort.marks[-1])
    return [Point(int(p[0]), *p[1:]) for p in run["points"]]


def _marks(points: Sequence[Point], marks: Sequence[int]) -> dict:
    """The best feasible objective at each mark, the time, and the worst constraint of the last quarter of the run."""
    found = {mark: best_until(points, mark) for mark in marks}
    late = [p.worst for p in points if p.iteration > 0.75 * marks[-1]]
    return {
        "best": {mark: None if p is None else p.objective for mark, p in found.items()},
        "seconds": points[-1].seconds,
        "worst_late": max(late, default=None),
    }
