"""The tables of the measurements."""

from __future__ import annotations

from .cases import FEASIBLE, TARGET, TITLES
from .table import Table, number, signed, spread

OWN = "ppal train --products auto"


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
    own = times[OWN]["median"] if OWN in times else None
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
    """ppal and the best of each optimizer of Cooper at each mark, then the whole grid."""
    shown = []
    for name, unit in units.items():
        if "not_run" in unit:
            shown.append(Table(f"Convergence: {TITLES[name]}", ("contender",), notes=[f"not run: {unit['not_run']}"]))
    for case in dict.fromkeys(name.rsplit(" ", 1)[0] for name, unit in units.items() if "not_run" not in unit):
        runs = units.get(f"{case} cooper", {}).get("runs", [])
        shown += [_winners(case, units[f"{case} ppal"]["marks"], runs), _grid(case, runs)]
    return shown


def _winners(case: str, own: dict[str, dict], runs: list[dict]) -> Table:
    table = Table(
        f"Convergence: {TITLES[case]}",
        ("contender", "iterations", "best feasible f", "f at the end", "worst g there", "seconds", "step, dual step"),
    )
    for mark, row in own.items():
        table.add("ppal", *_cells(mark, row), "automatic")
        for optimizer in dict.fromkeys(r["setting"]["optimizer"] for r in runs):
            reached = [r for r in runs if r["setting"]["optimizer"] == optimizer and mark in r["marks"]]
            if reached:
                best = min(reached, key=lambda r: _merit(r["marks"][mark]))
                table.add(f"Cooper, {optimizer}", *_cells(mark, best["marks"][mark]), _steps(best["setting"]))
    table.notes += [
        f"best feasible f: the smallest of all iterates so far with every g <= {FEASIBLE:g}, as the float32 passes saw them.",
        "f at the end and worst g there: of the iterate itself, in float64 from its weights.",
        "Cooper: at each mark the setting with the best feasible f (else the smallest violation), chosen afterwards.",
    ]
    return table


def _cells(mark: str, row: dict) -> list[str]:
    best = row["best_feasible"]
    return [mark, number(best["objective"]) if best else "none", number(row["objective"]), signed(row["worst"]),
            number(row["seconds"])]  # fmt: skip


def _merit(row: dict) -> tuple[int, float]:
    """Sorts by the best feasible objective, else by the violation."""
    if row["best_feasible"]:
        return (0, row["best_feasible"]["objective"])
    return (1, float("inf") if row["worst"] is None else row["worst"])


def _grid(case: str, runs: list[dict]) -> Table:
    marks = list(dict.fromkeys(k for r in runs for k in r["marks"]))
    header = [f"best feasible f after {k}" for k in marks]
    table = Table(f"Cooper's grid: {TITLES[case]}", ("optimizer, step, dual step", *header, "worst g at the end"))
    for r in runs:
        rows = [r["marks"].get(k) for k in marks]
        best = [row and (number(row["best_feasible"]["objective"]) if row["best_feasible"] else "none") for row in rows]
        last = [row for row in rows if row][-1]
        table.add(_name(r["setting"]), *(cell or "-" for cell in best), signed(last["worst"]))
    table.notes.append("-: not continued, others of the same optimizer were ahead at the mark before.")
    return table


def _steps(setting: dict) -> str:
    return f"{setting['step']:g}, {setting['dual_step']:g}"


def _name(setting: dict) -> str:
    return f"{setting['optimizer']} {_steps(setting)}"


def headline(units: dict[str, dict]) -> list[Table]:
    """Seconds to the target from each start, and the screening of Cooper's grid."""
    table = Table(
        f"Seconds to f <= {TARGET:g} with every g <= {FEASIBLE:g}: {TITLES['mnpc-fashion-mnist']}, kappa 0.2",
        ("contender", "seconds (median)", "all turns", "iterations", "worst g after it", "over ppal"),
    )
    for unit in units.values():
        if "not_run" in unit:
            table.notes.append(f"not run: {unit['not_run']}")
            return [table]
    screenings = []
    for seed in dict.fromkeys(name.split(" ")[0] for name in units):
        times, cooper = units.get(f"{seed} times", {}), units.get(f"{seed} cooper", {})
        best = f" {_name(cooper['best'])}" if cooper.get("best") else ""
        for side, title in (("ppal", f"start {seed}: ppal"), ("cooper", f"start {seed}: Cooper{best}")):
            unit = units.get(f"{seed} {side}", {})
            seconds = times.get("seconds", {}).get(side, [])
            over = times.get("ratio") if side == "cooper" else 1.0
            table.add(title, number(times.get("median", {}).get(side)), ", ".join(map(number, seconds)) or "-",
                      _iterations(unit), signed(unit.get("worst_after")), number(over))  # fmt: skip
        screenings.append(_screening(seed, cooper.get("runs", [])))
    table.notes += [
        "Cooper: the setting of the grid that was there first. Seconds are training time only, without evaluation or records.",
        "worst g after it: the largest constraint in later iterations; above 0 a bound that was met is left again.",
    ]
    return [table, *screenings]


def _iterations(unit: dict) -> str:
    if not unit:
        return "-"
    return str(unit["hit"]["iteration"]) if unit.get("hit") else "not met"


def _screening(seed: str, runs: list[dict]) -> Table:
    table = Table(
        f"Cooper's grid: to the same target from start {seed}, in this order",
        ("optimizer, step, dual step", "seconds", "iterations", "met", "best feasible f"),
    )
    for r in runs:
        end, best = r["hit"] or r, r["best_feasible"]
        count = end["iteration"] if r["hit"] else end["iterations"]
        table.add(_name(r["setting"]), number(end["seconds"]), str(count), _yes(bool(r["hit"])),
                  number(best["objective"]) if best else "none")  # fmt: skip
    table.notes.append("A run ends once it has trained for longer than the fastest one before it: it cannot win any more.")
    return table


def _yes(met: bool) -> str:
    return "yes" if met else "NO"


def _random(unit: dict) -> list[str]:
    return ["Random 8-bit pixels of the data set's shape: its files are absent."] if unit["random_data"] else []
