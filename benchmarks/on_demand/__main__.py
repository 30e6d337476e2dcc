"""What reading on demand saves: bills of the same labels, by reading everything and by stopping at the label.

    FRUGALFOREST_DATA=folder python -m benchmarks.on_demand [--data spambase ...] [--seeds 5]

For each data set and seed: half of the rows (at most 20,000) fit the model, the other half (at most 2,000) is read.
Every feature costs 1. Rows go to results/on_demand.csv; those of other data sets stay.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np

import frugalforest as ff
from benchmarks.on_demand.models import MODELS, halves

RESULTS = Path(__file__).parent.parent / "results" / "on_demand.csv"
DATA = ["covtype", "miniboone_tiny", "miniboone_sub5044", "spambase", "mfeat_pix", "sensorless", "wdbc", "qsar_biodeg"]
FIELDS = ["data", "model", "seed", "n_features", "error", "read_all", "basic", "on_demand", "differing"]
MOST_TRAINING, MOST_READ = 20_000, 2_000
BASIC = ff.acquisition.Order(by="count", bounds="cursor", hope=1)  # a proof at the cursors needs no more hope


def measure(data: str, model_name: str, seed: int) -> dict:
    rows = ff.datasets.load(data)
    X, y = np.asarray(rows.X, dtype=np.float64), np.unique(np.asarray(rows.y), return_inverse=True)[1]
    fit, read = halves(len(X), seed)
    fit, read = fit[:MOST_TRAINING], read[:MOST_READ]
    model = MODELS[model_name](X[fit], y[fit], seed)
    labels, bill = ff.OnDemand(model, n_jobs=2).predict_with_cost(X[read])
    full = model.predict(X[read])
    return {
        "data": data,
        "model": model_name,
        "seed": seed,
        "n_features": X.shape[1],
        "error": np.mean(full != y[read]),
        "read_all": ff.OnDemand(model, stop="all", n_jobs=2).acquisition_cost(X[read]).mean(),
        "basic": ff.OnDemand(model, order=BASIC, n_jobs=2).acquisition_cost(X[read]).mean(),
        "on_demand": bill.mean(),
        "differing": int(np.sum(labels != full)),
    }


def store(rows: list[dict]) -> None:
    key = ("data", "model", "seed")
    repeated = {tuple(str(row[name]) for name in key) for row in rows}
    kept = []
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            kept = [row for row in csv.DictReader(file) if tuple(row[name] for name in key) not in repeated]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(kept + rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*valid feature names.*")
    for data in args.data:
        for name in args.models:
            rows = [measure(data, name, seed) for seed in range(args.seeds)]
            store(rows)
            everything, basic, ours = (np.mean([row[c] for row in rows]) for c in ("read_all", "basic", "on_demand"))
            print(
                f"{data:18} {name:20} {everything:7.2f} -> {basic:7.2f} basic, {ours:7.2f} on demand: "
                f"{100 * (1 - ours / everything):4.1f} % saved, {sum(row['differing'] for row in rows)} labels differ",
                flush=True,
            )


if __name__ == "__main__":
    main()
