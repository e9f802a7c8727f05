"""Demographic parity on the five splits of `ppal reproduce decisions`, by `PpalClassifier` and by fairlearn with its defaults.

    PPAL_DATA=... python splits.py [compas bank adult]

Prints for each model the means over the splits: error and gap of positive rates on training and test rows, CPU seconds of `fit`, with the program's.
"""

import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import DemographicParity, ExponentiatedGradient
from ppal import PpalClassifier, evaluate
from ppal._program import program
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression

DATA = Path(os.environ["PPAL_DATA"])
BOUND = 0.01
MODELS = {
    "ppal": lambda: PpalClassifier(f"gap(positive_rate, group) <= {BOUND}", n_jobs=1),
    "ExponentiatedGradient": lambda: ExponentiatedGradient(LogisticRegression(max_iter=1000), DemographicParity(difference_bound=BOUND / 2)),
    "ThresholdOptimizer": lambda: ThresholdOptimizer(
        estimator=LogisticRegression(max_iter=1000), constraints="demographic_parity", predict_method="predict_proba"
    ),
}


def table(name: str) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, pd.Series]:
    """Return numbers, labels, groups, and the key of each row in rows.csv."""
    if name == "adult":
        parts = [load_svmlight_file(str(DATA / "adult" / file), n_features=123) for file in ("a9a", "a9a.t")]
        x = np.vstack([x.toarray() for x, _ in parts])
        keys = [f"adult/{file} {i + 1}" for file, (rows, _) in zip(("a9a", "a9a.t"), parts) for i in range(rows.shape[0])]
        return pd.DataFrame(x), (np.concatenate([y for _, y in parts]) > 0).astype(int), x[:, 71], pd.Series(keys)
    if name == "bank":
        raw = pd.read_csv(DATA / "bank" / "bank-additional-full.csv", sep=";").drop(columns="duration")
        y, group = (raw.pop("y") == "yes").astype(int), raw["age"].between(25, 59).astype(int)
    else:
        raw = pd.read_csv(DATA / "compas" / "compas-scores-two-years.csv")
        y, group = raw["two_year_recid"], (raw["race"] == "African-American").astype(int)
        numbers = ["age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"]
        raw = raw[["sex", "age_cat", "race", "c_charge_degree", *numbers]]
    x = pd.get_dummies(raw, dtype=float)
    return (x - x.mean()) / x.std(), y.to_numpy(), group.to_numpy(), pd.Series([str(i + 1) for i in range(len(raw))])


def splits(name: str, seed: int) -> pd.Series:
    """Return the split of each key, from a run of the command with this seed."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--dataset", name, "--data-dir", DATA, "--problem", "dp", "--iterations", "1", "--seed", str(seed), "--quiet", "--out", f"{folder}/run"]
        subprocess.run([program(), "train", *flags, "--allow-violation"], check=True, capture_output=True)
        rows = pd.read_csv(f"{folder}/run/rows.csv", dtype=str)
    keys = rows["file"] + " " + rows["row"] if "file" in rows else rows["row"]
    return pd.Series(rows["split"].to_numpy(), index=keys)


warnings.simplefilter("ignore")
for name in sys.argv[1:] or ["compas", "bank", "adult"]:
    x, y, group, keys = table(name)
    found = []
    for seed in range(1, 6):
        split = keys.map(splits(name, seed)).to_numpy()
        train = split == "train"
        for model_name, new in MODELS.items():
            start = sum(os.times()[:4])
            model = new().fit(x[train], y[train], sensitive_features=pd.Series(group[train], name="group"))
            seconds = sum(os.times()[:4]) - start
            for part in ("train", "test"):
                rows = split == part
                more = {} if model_name == "ppal" else {"random_state": 0}
                if model_name == "ThresholdOptimizer":
                    more["sensitive_features"] = group[rows]
                rates = evaluate(y[rows], model.predict(x[rows], **more), sensitive_features=group[rows])
                found.append((model_name, part, 100 * rates.overall.loc["error", "value"], 100 * rates.difference()["positive_rate"], seconds))
    results = pd.DataFrame(found, columns=["model", "rows", "error", "gap", "seconds"])
    print(name, results.groupby(["model", "rows"]).mean().round(3), sep="\n", flush=True)
