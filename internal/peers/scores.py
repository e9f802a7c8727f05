"""Bounds on the scores of gradient-boosted trees: ppal's thresholds and fairlearn's ThresholdOptimizer on the same rows.

    PYTHONPATH=internal .venv-peers/bin/python -m peers.scores --ppal bin/ppal --data DIRECTORY

For each split, 40% of the rows train scikit-learn's HistGradientBoostingClassifier, 30% choose the thresholds, and 30% test them. Both programs see the
scores, the labels and the groups of the same rows. ThresholdOptimizer draws between two thresholds at random; its rates are the expected ones.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from fairlearn.postprocessing import ThresholdOptimizer
from sklearn.datasets import load_svmlight_file
from sklearn.ensemble import HistGradientBoostingClassifier

from .decisions.trees import Scores

RANDOM = 100_000  # random thresholds with three groups or more


def adult(data: Path):
    parts = [load_svmlight_file(str(data / "adult" / name), n_features=123) for name in ("a9a", "a9a.t")]
    x = np.vstack([p[0].toarray() for p in parts])
    return x, (np.concatenate([p[1] for p in parts]) > 0).astype(int), np.where(x[:, 72] > 0, "male", "female")


def bank(data: Path):
    table = pd.read_csv(data / "bank" / "bank-additional-full.csv", sep=";")
    table = table[table["marital"] != "unknown"]
    y, group = (table.pop("y") == "yes").astype(int), table["marital"]
    return pd.get_dummies(table.drop(columns="marital")).to_numpy(float), y.to_numpy(), group.to_numpy()


def compas(data: Path, *more: str):
    table = pd.read_csv(data / "compas" / "compas-scores-two-years.csv")
    table = table[table["race"].isin(["African-American", "Caucasian", *more])]
    x = table[["age", "priors_count", "juv_fel_count", "juv_misd_count", "juv_other_count"]].assign(felony=table["c_charge_degree"] == "F")
    return x.to_numpy(float), table["two_year_recid"].to_numpy(), table["race"].to_numpy()


def races(data: Path):
    return compas(data, "Hispanic", "Other")


def gap(accepted, y, group, kind) -> float:
    rows = np.ones(len(y), bool) if kind == "positive_rate" else y == 1
    rates = [accepted[rows & (group == g)].mean() for g in np.unique(group)]
    return max(rates) - min(rates)


def error(accepted, y) -> float:
    return float(np.where(y == 1, 1 - accepted, accepted).mean())


def ours(ppal, p, y, group, part, bound, *more):
    """Run ppal on the rows with a part, and return the decisions of all rows, the summary and the seconds."""
    with tempfile.TemporaryDirectory() as folder:
        file, run = Path(folder) / "scores.csv", Path(folder) / "run"
        table = pd.DataFrame({"score": p, "group": group, "label": y, "part": part})
        table.to_csv(file, index=False)
        began = time.perf_counter()
        subprocess.run([ppal, "train", "--file", file, "--label", "label=1", "--model", "scores", "--score", "score", "--thresholds", "by-group", "--subject-to",
                        bound, "--split-column", "part", "--allow-violation", "--quiet", "--out", run, *more], check=True, capture_output=True)  # fmt: skip
        seconds = time.perf_counter() - began
        out = subprocess.run([ppal, "predict", run, "--input", file], check=True, capture_output=True, text=True).stdout
        decisions = pd.read_csv(pd.io.common.StringIO(out))["decision"].to_numpy(float)
        return decisions, json.loads((run / "summary.json").read_text()), seconds


def drawn(p, y, group, kind, bound, seed) -> float:
    """Return the least error of random thresholds that meet the bound."""
    rng, n = np.random.default_rng(seed), len(y)
    rates, errors = [], np.zeros(RANDOM)
    for g in np.unique(group):
        own = group == g
        order = np.argsort(-p[own])
        labels = y[own][order]
        wrong = np.concatenate([[labels.sum()], labels.sum() - np.cumsum(labels) + np.cumsum(1 - labels)])
        counted = np.arange(len(labels) + 1) if kind == "positive_rate" else np.concatenate([[0], np.cumsum(labels)])
        cut = rng.integers(0, len(labels) + 1, RANDOM)
        errors += wrong[cut]
        rates.append(counted[cut] / counted[-1])
    feasible = np.ptp(rates, axis=0) <= bound
    return errors[feasible].min() / n if feasible.any() else np.inf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ppal", default="bin/ppal")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, promises = [], []
    for read, promised in ((adult, 0.05), (bank, 0.1), (compas, 0.15), (races, 0.25)):
        x, y, group = read(args.data)
        for seed in range(1, args.splits + 1):
            place = np.random.default_rng(seed).permutation(len(y)) / len(y)
            train, choose, test = place < 0.4, (place >= 0.4) & (place < 0.7), place >= 0.7
            p = HistGradientBoostingClassifier(random_state=seed).fit(x[train], y[train]).predict_proba(x)[:, 1]
            held = choose | test
            part = np.where(choose, "train", "test")[held]
            for kind, name in (("positive_rate", "demographic_parity"), ("tpr", "true_positive_rate_parity")):
                for bound in (0.01, 0.05):
                    decided, summary, seconds = ours(args.ppal, p[held], y[held], group[held], part, f"gap({kind}, group) <= {bound}")
                    began = time.perf_counter()
                    optimizer = ThresholdOptimizer(estimator=Scores().fit(None, None), constraints=name, predict_method="predict_proba", prefit=True, grid_size=1000, tol=bound)
                    optimizer.fit(p[choose, None], y[choose], sensitive_features=group[choose])
                    theirs = optimizer._pmf_predict(p[held, None], sensitive_features=group[held])[:, 1]
                    row = {"data": read.__name__, "rate": kind, "bound": bound, "seconds": seconds, "their seconds": time.perf_counter() - began}
                    for split, own in (("", part == "train"), (" test", part == "test")):
                        for who, accepted in (("ppal", decided), ("fairlearn", theirs)):
                            row[f"{who} error{split}"] = 100 * error(accepted[own], y[held][own])
                            row[f"{who} gap{split}"] = gap(accepted[own], y[held][own], group[held][own], kind)
                    if not summary["thresholds"]["all_compared"]:
                        row["random error"] = 100 * drawn(p[choose], y[choose], group[choose], kind, bound, seed)
                        row["least error"] = 100 * summary["thresholds"].get("least_objective", np.nan)
                    rows.append(row)
            part = np.where(choose, np.where(place < 0.55, "train", "validation"), "test")[held]
            decided, summary, _ = ours(args.ppal, p[held], y[held], group[held], part, f"gap(positive_rate, group) <= {promised}", "--confidence", "0.95")
            own, outcome = part == "test", summary["decisions"][0]
            promises.append({"data": read.__name__, "bound": promised, "promised": outcome["promise"]["holds"], "test gap": outcome["test"],
                             "beyond": outcome["test"] > promised, "beyond noise": outcome["interval"][0] > promised, "error test": 100 * error(decided[own], y[held][own])})  # fmt: skip
    pd.set_option("display.width", 250, "display.max_columns", 30)
    print(pd.DataFrame(rows).groupby(["data", "rate", "bound"]).mean().round(4).to_string())
    print(pd.DataFrame(promises).groupby(["data", "bound"]).mean().round(4).to_string())


if __name__ == "__main__":
    main()
