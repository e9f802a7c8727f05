"""Part 3: objective and worst constraint after 100, 300, 1,000 iterations: ppal's defaults and Cooper over a grid of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from .cases import Case
from .choose import Point, Setting, best_until, finalists
from .client import Client
from .context import Context
from .problem import class_losses


def run(context: Context, cases: list[Case], marks: Sequence[int], settings: Sequence[Setting]) -> None:
    """Measure ppal and every setting on every case."""
    for case in cases:
        if context.is_random(case.dataset):
            context.results.unit(case.name, partial(context.not_run, case.dataset))
            continue
        context.results.unit(f"{case.name} ppal", partial(_ppal, context, case, marks))
        context.results.unit(f"{case.name} cooper", partial(_cooper, context, case, marks, settings))


def _ppal(context: Context, case: Case, marks: Sequence[int]) -> dict:
    """One run for each mark, whose weights are evaluated. The records of the last run show every earlier iterate."""
    context.say(f"convergence: {case.name}: ppal")
    problem, _ = context.problem(case)
    seed = ["--seed", str(context.seed)]
    rows = {}
    for mark in marks:
        run_k = context.ppal.train(case, "--iterations", str(mark), "--record-every", str(mark), *seed)
        rows[mark] = {"seconds": run_k.summary["seconds"]} | _values(class_losses(problem, run_k.weights).tolist(), case)
    every = context.ppal.train(case, "--iterations", str(marks[-1]), "--record-every", "1", *seed)
    points = [Point(r["iteration"], r["seconds"], r["objective"], max(r["constraints"])) for r in every.records]
    return {"marks": {k: row | _best(points, k) for k, row in rows.items()}}


def _cooper(context: Context, case: Case, marks: Sequence[int], settings: Sequence[Setting]) -> dict:
    """All settings up to the second-last mark, and the best settings of each optimizer to the end."""
    _, folder = context.problem(case)
    points: dict[Setting, list[Point]] = {s: [] for s in settings}
    with context.client("cooper") as client:
        client.call("load", folder=str(folder))
        client.call("warm_up", setting=asdict(settings[0]))
        for setting in settings:
            client.call("start", name=str(setting), setting=asdict(setting))
            _advance(context, client, case, setting, marks[:-1], points)
        for setting in finalists(points, marks[-2] if len(marks) > 1 else 0):
            _advance(context, client, case, setting, marks[-1:], points)
        return {"runs": [_report(client, case, setting, marks, seen) for setting, seen in points.items()]}


def _advance(
    context: Context, client: Client, case: Case, setting: Setting, marks: Sequence[int], points: dict[Setting, list[Point]]
) -> None:
    if marks:
        context.say(f"convergence: {case.name}: Cooper {setting}, to {marks[-1]}")
        points[setting] += [
            Point(int(p[0]), *p[1:]) for p in client.call("advance", name=str(setting), until=marks[-1], keep=list(marks))
        ]


def _report(client: Client, case: Case, setting: Setting, marks: Sequence[int], points: list[Point]) -> dict:
    evaluated = client.call("losses", name=str(setting))
    rows = {}
    for mark in marks:
        if str(mark) in evaluated:
            seconds = next(p.seconds for p in points if p.iteration == mark)
            rows[mark] = {"seconds": seconds} | _values(evaluated[str(mark)], case) | _best(points, mark)
    return {"setting": asdict(setting), "marks": rows, "multipliers": client.call("multipliers", name=str(setting))}


def _values(losses: Sequence[float], case: Case) -> dict:
    """f and max g of the classes' losses."""
    return {"objective": losses[0], "worst": max(losses[1:]) - case.kappa}


def _best(points: Sequence[Point], mark: int) -> dict:
    """The smallest objective of a feasible iterate up to mark, from the training passes."""
    best = best_until(points, mark)
    return {"best_feasible": None if best is None else {"iteration": best.iteration, "objective": best.objective}}
