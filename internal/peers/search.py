"""The search for a contender's best settings: a coarse grid, then neighbours of the best until none is better.

Each number of a setting has a ladder of values. A setting is inside the grid if the values next to its own on every ladder were
measured too. The search ends when the best setting of every mark, and the best single setting, are inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import inf, log10

from .choose import Point, best_until
from .settings import CooperSetting, IpoptSetting, LagrangianSetting, Setting

SINGLE = "all marks"  # the name of the score of the best single setting
FLOOR, CEILING = 1e-9, 1.0  # of f in a score: below FLOOR a difference does not count

STEPS = (0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0)
FORMS: Mapping[str, Sequence] = {"decay": ("constant", "cosine"), "strategy": ("adaptive", "monotone")}  # without an order
LADDERS: Mapping[str, Sequence] = {
    "step": STEPS,
    "dual_step": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    "kp": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0),
    "beta2": (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999),
    "penalty": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0),
    "cap": (0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5),
    "inner": (2, 3, 5, 10, 20, 30, 50, 100),
    "history": (3, 6, 10, 20, 50, 100),
    "barrier": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0),
}


@dataclass(frozen=True)
class Score:
    """What a setting is chosen by: the mean of log10 of the best feasible f over some marks. Smaller is better."""

    name: str
    marks: tuple[int, ...]

    def of(self, points: Sequence[Point]) -> float:
        """The score of a run. A mark without a feasible point counts as f = CEILING."""
        best = [best_until(points, mark) for mark in self.marks]
        return sum(log10(min(max(p.objective, FLOOR), CEILING)) if p else 0.0 for p in best) / len(best)


def scores(marks: Sequence[int]) -> list[Score]:
    """The best single setting for all marks, then the best at each mark."""
    return [Score(SINGLE, tuple(marks)), *(Score(f"{mark}", (mark,)) for mark in marks)]


def steps_around(setting: Setting) -> list[tuple[str, Setting]]:
    """The settings that differ by one step on one ladder or by another form, with the name of the changed field.

    A field that the setting does not use has no neighbours.
    """
    around = []
    for field in fields(setting):
        name, value = field.name, getattr(setting, field.name)
        if not _used(setting, name):
            continue
        values = LADDERS.get(name, ())
        if value in values:
            at = values.index(value)
            near = [values[k] for k in (at - 1, at + 1) if 0 <= k < len(values)]
        else:
            near = [v for v in FORMS.get(name, ()) if v != value]
        around += [(name, replace(setting, **{name: v})) for v in near]
    return around


def edges(setting: Setting, measured: Iterable[Setting]) -> list[str]:
    """The fields on whose ladder the setting is at an end, or a neighbour was not measured: empty inside the grid."""
    known = set(measured)
    open_fields = [name for name, other in steps_around(setting) if other not in known]
    for field in fields(setting):
        values = LADDERS.get(field.name, ())
        if _used(setting, field.name) and getattr(setting, field.name) in (*values[:1], *values[-1:]):
            open_fields.append(field.name)
    return list(dict.fromkeys(open_fields))


def search(
    coarse: Sequence[Setting], measure: Callable[[Setting], Sequence[Point]], wanted: Sequence[Score], limit: int
) -> dict[Setting, Sequence[Point]]:
    """Measure the coarse grid, then the neighbours of the best settings, at most limit settings in all."""
    points: dict[Setting, Sequence[Point]] = {}
    queue = list(dict.fromkeys(coarse))
    while queue:
        for setting in queue[: limit - len(points)]:
            points[setting] = measure(setting)
        if len(points) >= limit:
            break
        found = [best(points, score) for score in wanted]
        queue = list(dict.fromkeys(other for s in found for _, other in steps_around(s) if other not in points))
    return points


def best(points: Mapping[Setting, Sequence[Point]], score: Score) -> Setting:
    """The setting with the smallest score; of equals, the one with the smallest f at the last mark."""

    def key(setting: Setting) -> tuple[float, float]:
        last = best_until(points[setting], score.marks[-1])
        return score.of(points[setting]), last.objective if last else inf

    return min(points, key=key)


def _used(setting: Setting, name: str) -> bool:
    """Whether a field changes the run."""
    if isinstance(setting, CooperSetting):
        return {"kp": setting.dual == "nuPI", "beta2": setting.optimizer == "Adam"}.get(name, True)
    if isinstance(setting, LagrangianSetting):
        return name != "cap" or (setting.solver == "own" and setting.cap is not None)
    assert isinstance(setting, IpoptSetting)
    return name != "barrier" or setting.strategy == "monotone"
