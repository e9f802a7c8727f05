"""The tables of the measurements."""

from __future__ import annotations

from statistics import median

from .cases import FEASIBLE, TARGET, TITLES
from .search import SINGLE
from .settings import TITLES as SOLVERS
from .table import Table, number, signed, spread

OWN = ("ppal train --products int8x3", "ppal train --products float32")  # the first that ran


def tables(parts: dict[str, dict]) -> list[Table]:
    """The tables of the measured parts, in order."""
    shown: list[Table] = []
    for part, build in (("check", check), ("speed", speed), ("convergence", convergence), ("headline", headline)):
        if part in parts and parts[part]["units"]:
            shown += build(parts[part]["units"])
    return shown


def environment(parts: dict[str, dict]) -> list[str]:
    """One line for each property of the environment, with the parts that differ."""
    lines: list[str] = []
    for key in dict.fromkeys(k for p in parts.values() for k in p["environment"]):
        values: dict[str, list[str]] = {}
        for name, part in parts.items():
            values.setdefault(part["environment"].get(key, "-"), []).append(name)
        lines += [f"{key}: {v}" + (f" ({', '.join(names)})" if len(values) > 1 else "") for v, names in values.items()]
    lines += [f"{name}: started {p['started']} at a load of {p['load_average']}" for name, p in parts.items()]
    return lines


def check(units: dict[str, dict]) -> list[Table]:
    """Errors against the reference."""
    shown = []
    for name, unit in units.items():
        table = Table(
            f"Same problem: {TITLES[name]}", ("contender", "losses off by", "gradient off by (relative)", "at most", "same")
        )
        for of in dict.fromkeys(c["of"] for c in unit["comparisons"]):
            found = {c["what"]: c for c in unit["comparisons"] if c["of"] == of}
            pair = [found[what] for what in ("losses", "gradients") if what in found]
            if not pair:
                (only,) = found.values()
                table.add(f"{of}: {only['what']}", number(only["error"]), "-", number(only["tolerance"]), _yes(only["met"]))
                continue
            bounds = ", ".join(number(c["tolerance"]) for c in pair)
            table.add(of, *(number(c["error"]) for c in pair), bounds, _yes(all(c["met"] for c in pair)))
        table.notes += [
            "Against numpy in float64. ppal's gradient is (x_0 - x_1)/eta of one plain gradient step.",
            *_random(unit),
        ]
        shown.append(table)
    return shown


def speed(units: dict[str, dict]) -> list[Table]:
    """Milliseconds of the products and of iterations, and how many times ppal's iteration each takes."""
    return [_speed(TITLES[name], unit) for name, unit in units.items()]


def _speed(title: str, unit: dict) -> Table:
    times = unit["times"]
    own = next((times[name]["median"] for name in OWN if name in times), None)
    floor = min((t["median"] for name, t in times.items() if name.startswith("numpy products")), default=None)
    n, d, _ = unit["shape"]
    table = Table(
        f"Speed: {title}: {n:,} x {d:,}, float32",
        ("contender", "ms (median)", "quartiles", "shortest", "over numpy's products", "over ppal"),
    )

    def add(name: str, ms: float, quartiles: str = "-", best: float | None = None) -> None:
        table.add(
            name, number(ms), quartiles, number(best), number(ms / floor) if floor else "-", number(ms / own) if own else "-"
        )

    for name, t in _products(times) + [(k, t) for k, t in times.items() if " products " not in k]:
        add(name, t["median"], spread(t["low"], t["high"]), t["best"])
    for name, case in unit["bench"].items():
        if "not_run" in case:
            table.notes.append(f"ppal bench {name}: {case['not_run']}")
            continue
        add(f"ppal bench {name}: two bare products", case["floor_ms"])
        add(f"ppal bench {name}: iteration", case["iteration_ms"])
    table.notes += [f"{name}: not run: {why}" for name, why in unit["not_run"].items()]
    table.notes.append("An iteration is forward, backward and step; ppal's is training time over iterations, all that it does.")
    if "torch eager, medium" in times:
        table.notes.append("torch eager, medium: the factors of products may be rounded to bfloat16; all others compute in float32.")
    table.notes += ["; ".join(f"{k} {v}" for k, v in unit["versions"].items()) + ".", *_random(unit)]
    return table


def _products(times: dict[str, dict]) -> list[tuple[str, dict]]:
    """The faster of the two layouts of each library."""
    best: dict[str, tuple[str, dict]] = {}
    for name, t in times.items():
        library, _, kind = name.partition(" ")
        if kind.startswith("products") and (library not in best or t["median"] < best[library][1]["median"]):
            best[library] = (f"{library}: two bare products", t)
    return list(best.values())


def convergence(units: dict[str, dict]) -> list[Table]:
    """ppal and every rival at its best after each mark, then each rival's search."""
    shown = []
    for name, unit in units.items():
        if name in TITLES:
            shown.append(Table(f"Convergence: {TITLES[name]}", ("contender",), notes=[f"not run: {unit['not_run']}"]))
    for case in dict.fromkeys(name.rsplit(" ", 1)[0] for name in units if name not in TITLES):
        own = units.get(f"{case} ppal", {}).get("runs", {})
        rivals = {name: units[f"{case} {name}"] for name in SOLVERS if f"{case} {name}" in units}
        measured = {name: unit for name, unit in rivals.items() if "not_run" not in unit}
        summary = _winners(case, own, measured)
        summary.notes += [f"{SOLVERS[n]}: not run: {u['not_run']}" for n, u in rivals.items() if "not_run" in u]
        shown += [summary, *(_searched(case, name, unit) for name, unit in measured.items())]
    return shown


def _winners(case: str, own: dict[str, dict], rivals: dict[str, dict]) -> Table:
    marks = list(next(iter(own.values()))["best"]) if own else []
    table = Table(
        f"Convergence: {TITLES[case]}: best feasible f after so many evaluations",
        ("contender", *marks, "seconds", "worst g in the last quarter", "setting"),
    )

    def single(name: str, runs: dict[str, dict], setting: str) -> None:
        best = [_range([r["best"][k] for r in runs.values()]) for k in marks]
        worst = max((r["worst_late"] for r in runs.values() if r["worst_late"] is not None), default=None)
        table.add(name, *best, _range([r["seconds"] for r in runs.values()]), signed(worst), setting)

    if own:
        single("ppal", own, "defaults")
    for name, unit in rivals.items():
        single(f"{SOLVERS[name]}: one setting", unit["runs"], unit["chosen"][SINGLE]["setting"])
        best = [min((s["best"][k] for s in unit["settings"] if s["best"][k] is not None), default=None) for k in marks]
        table.add(f"{SOLVERS[name]}: best for each mark", *(_feasible(b) for b in best), "-", "-", "each its own")
        table.notes += [_edge(SOLVERS[name], mark, c) for mark, c in unit["chosen"].items() if c["edges"]]
    seeds = ", ".join(own)
    table.notes += [
        f"best feasible f: the smallest f of the points so far with every g <= {FEASIBLE:g}. Starts {seeds}: smallest to largest.",
        "one setting: the best mean of log10 f over the marks, searched from the first start. best for each mark: first start only.",
        "An evaluation is one forward and one backward pass. IPOPT pays a backward pass for every gradient.",
    ]
    return table


def _edge(title: str, mark: str, chosen: dict) -> str:
    of = "one setting" if mark == SINGLE else f"the best after {mark}"
    return f"{title}: {of} ({chosen['setting']}) is on an EDGE of the measured grid: {', '.join(chosen['edges'])}."


def _searched(case: str, name: str, unit: dict) -> Table:
    marks = list(unit["settings"][0]["best"])
    table = Table(f"Search: {SOLVERS[name]}: {TITLES[case]}", ("setting", *marks, "worst g in the last quarter"))
    for s in unit["settings"]:
        table.add(s["setting"], *(_feasible(s["best"][k]) for k in marks), signed(s["worst_late"]))
    if unit["limited"]:
        table.notes.append("The search ended at its limit of settings.")
    return table


def _feasible(f: float | None) -> str:
    return "none" if f is None else number(f)


def _range(values: list[float | None]) -> str:
    """The smallest to the largest; none if a start has no feasible point."""
    known = [v for v in values if v is not None]
    if len(known) < len(values) or not known:
        return "none" if not known else f"{_feasible(min(known))}-none"
    low, high = number(min(known)), number(max(known))
    return low if low == high else f"{low} to {high}"


def headline(units: dict[str, dict]) -> list[Table]:
    """Seconds to the target from each start, and the screening of each rival's grid."""
    table = Table(
        f"Seconds to f <= {TARGET:g} with every g <= {FEASIBLE:g}: {TITLES['mnpc-fashion-mnist']}, kappa 0.2",
        ("contender", "seconds (median)", "all turns", "evaluations", "worst g after it", "over ppal", "setting"),
    )
    for unit in units.values():
        if "not_run" in unit:
            table.notes.append(f"not run: {unit['not_run']}")
            return [table]
    screenings = []
    for seed in dict.fromkeys(name.split(" ")[0] for name in units):
        own = units.get(f"{seed} ppal", {})
        turns = [units[f"{seed} times {name}"] for name in SOLVERS if f"{seed} times {name}" in units]
        seconds = [s for t in turns for s in t["seconds"]["ppal"]]
        table.add(f"start {seed}: ppal", number(median(seconds)) if seconds else "-", ", ".join(map(number, seconds)) or "-",
                  _iterations(own), signed(own.get("worst_after")), "1.00", "defaults")  # fmt: skip
        for name, title in SOLVERS.items():
            unit, times = units.get(f"{seed} {name}"), units.get(f"{seed} times {name}", {})
            if unit is None:
                continue
            seconds = times.get("seconds", {}).get("rival", [])
            table.add(f"start {seed}: {title}", number(times.get("median", {}).get("rival")), ", ".join(map(number, seconds)) or "-",
                      _iterations(unit), signed(unit.get("worst_after")), number(times.get("ratio")), unit["best"] or "-")  # fmt: skip
            screenings.append(_screening(seed, title, unit["runs"]))
    table.notes += [
        "A rival has the setting of its grid that was there first. Seconds are training time only, without evaluation or records.",
        "over ppal: the rival's median over ppal's median in the same turns.",
        "worst g after it: the largest constraint in later points; above 0 a bound that was met is left again.",
    ]
    return [table, *screenings]


def _iterations(unit: dict) -> str:
    if not unit:
        return "-"
    return str(unit["hit"]["iteration"]) if unit.get("hit") else "not met"


def _screening(seed: str, title: str, runs: list[dict]) -> Table:
    table = Table(
        f"{title}: to the same target from start {seed}, in this order",
        ("setting", "seconds", "evaluations", "met", "best feasible f"),
    )
    for r in runs:
        end, best = r["hit"] or r, r["best_feasible"]
        count = end["iteration"] if r["hit"] else end["iterations"]
        table.add(r["setting"], number(end["seconds"]), str(count), _yes(bool(r["hit"])),
                  number(best["objective"]) if best else "none")  # fmt: skip
    table.notes.append("A run ends once it has trained for longer than the fastest one before it: it cannot win any more.")
    return table


def _yes(met: bool) -> str:
    return "yes" if met else "NO"


def _random(unit: dict) -> list[str]:
    return ["Random 8-bit pixels of the data set's shape: its files are absent."] if unit["random_data"] else []
