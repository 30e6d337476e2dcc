"""Time of reading on demand against our own full prediction of the same rows, with the bill, in one run.

    FRUGALFOREST_DATA=folder python -m benchmarks.on_demand.speed [--rows 100000]

100 trees, two threads, bounds kept incrementally. Covertype with 7 classes and with 2 (the most frequent one against
the others), a forest with soft votes, one with hard votes, and LightGBM's boosting; preparing the ensemble is not part
of the time. "Hasty" reads on demand too, but looks at bounds later (`Order(hope=0.7)`): quicker, and it buys a little
more. They take turns, best of 3, and the time is that of the processors by thread: other work on the machine
matters less. For comparison, the time other libraries take to read everything: LightGBM its own trees, scikit-learn a
forest of as many trees on the same rows.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import frugalforest as ff
from benchmarks.on_demand.models import lightgbm
from benchmarks.speed.data import covertype
from frugalforest.acquisition import Order

RESULTS = Path(__file__).parent.parent / "results" / "on_demand_speed.csv"
FIELDS = [
    "data",
    "model",
    "rows",
    "full_seconds",
    "on_demand_seconds",
    "hasty_seconds",
    "peer_seconds",
    "ratio",
    "hasty_ratio",
    "read_all",
    "on_demand",
    "hasty",
]
TRAINING = 20_000
THREADS, TURNS = 2, 3
HASTY = Order(hope=0.7)


def models(X, y):
    """Names, models, and what another library predicts with in their place."""
    peer = RandomForestClassifier(100, random_state=0, n_jobs=THREADS).fit(X, y)
    own = ff.StandardForestClassifier(100, random_state=0, n_jobs=THREADS).fit(X, y)
    yield "StandardForest soft", own, peer
    own = ff.BudgetForestClassifier(alpha=0, n_estimators=100, random_state=0, n_jobs=THREADS).fit(X, y)
    yield "BudgetForest hard", own, peer
    booster = lightgbm(X, y, 0)
    yield "LightGBM", booster, booster


def take_turns(jobs: list[Callable[[], object]]) -> list[float]:
    """Seconds of each job by thread, the best of its turns."""
    seconds: list[list[float]] = [[] for _ in jobs]
    for job, own in [*zip(jobs, seconds, strict=True)] * TURNS:
        start = time.process_time()
        job()
        own.append((time.process_time() - start) / THREADS)
    return [min(own) for own in seconds]


def measure(data: str, X, y, n_rows: int) -> list[dict]:
    asked = X[TRAINING : TRAINING + n_rows]
    found = []
    for name, model, peer in models(X[:TRAINING], y[:TRAINING]):
        settings = ({"stop": "all"}, {}, {"order": HASTY})
        ways = [ff.OnDemand(model, n_jobs=THREADS, **setting) for setting in settings]
        bills = [way.acquisition_cost(asked).mean() for way in ways]
        jobs = [lambda way=way: way.predict_with_cost(asked) for way in ways]
        full, lazy, hasty, other = take_turns([*jobs, lambda peer=peer: peer.predict(asked)])
        numbers = [data, name, n_rows, full, lazy, hasty, other, lazy / full, hasty / full, *bills]
        row = dict(zip(FIELDS, numbers, strict=True))
        print(
            f"{data:22} {name:20} full {full:.3f} s, on demand {lazy:.3f} s: {row['ratio']:.1f} times; "
            f"hasty {row['hasty_ratio']:.1f} times, bill {row['hasty']:.2f} instead of {row['on_demand']:.2f}",
            flush=True,
        )
        found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*valid feature names.*")
    X, y = covertype(TRAINING + args.rows)
    most_frequent = np.unique(y)[np.argmax(np.unique(y, return_counts=True)[1])]
    rows = measure("covertype, 7 classes", X, y, args.rows)
    rows += measure("covertype, 2 classes", X, (y == most_frequent).astype(int), args.rows)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
