"""Speed of choosing a panel by SubmodularSelector: one trade-off, all of them, and both solvers; rows in a CSV.

    python -m benchmarks.speed.submodular [--repeats 3] [--large]

Scene-15 as in Thomas' paper, simulated: eight descriptors, each a group, 800 features or (--large) all 76,187; 1500
rows of 15 classes. "own" features have a small price of their own, "free" ones none once their descriptor is paid.
Solvers get the information, fits estimate it first. Times are CPU seconds of one thread, the best of some.
"""

from __future__ import annotations

import argparse
import csv
import gc
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

import frugalforest as ff
from frugalforest.selection.set_function import GroupCost
from frugalforest.selection.solvers import CutSolver, PointSolver
from frugalforest.selection.submodular import SubmodularSelector

RESULTS = Path(__file__).parent.parent / "results" / "submodular.csv"
FIELDS = ["data", "n_features", "task", "solver", "seconds", "slowest", "note"]
N_ROWS, N_CLASSES, N_GROUPS = 1500, 15, 8
LARGE = 76_187


def prices(n_features: int, kind: str) -> ff.FeatureCosts:
    """Eight groups of equal size that cost 1 to 20; overlapping ones reach a quarter into the next."""
    random = np.random.default_rng(0)
    ends = np.linspace(0, n_features, N_GROUPS + 1).astype(int)
    reach = n_features // N_GROUPS // 4 if kind == "overlapping" else 0
    members = [range(a, min(b + reach, n_features)) for a, b in pairwise(ends)]
    groups = {f"g{g}": ff.Group(these, float(random.integers(1, 21))) for g, these in enumerate(members)}
    own = np.zeros(n_features) if kind == "free" else random.random(n_features).round(4) * 8 / n_features
    return ff.FeatureCosts(own, groups=groups)


def rows(n_features: int):
    """Features that differ in how much they tell about 15 classes."""
    random = np.random.default_rng(1)
    y = random.integers(0, N_CLASSES, N_ROWS)
    centres = random.normal(size=(N_CLASSES, n_features)).astype(np.float32) * random.random(n_features, np.float32)
    return centres[y] + random.standard_normal((N_ROWS, n_features), np.float32), y


def best_time(job, repeats: int) -> tuple[float, float]:
    """Fastest and slowest CPU time of several runs."""
    seconds = []
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        job()
        seconds.append(time.process_time() - start)
    return min(seconds), max(seconds)


def row(data: str, n_features: int, task: str, solver: str, job, repeats: int, note: str = "") -> dict:
    fast, slow = best_time(job, repeats)
    print(f"{data:12} {n_features:6} {task:18} {solver:15} {fast:9.4f} s  {note}", flush=True)
    return dict(zip(FIELDS, [data, n_features, task, solver, fast, slow, note], strict=True))


def time_solvers(n_features: int, kind: str, repeats: int) -> list[dict]:
    costs = prices(n_features, kind)
    information = np.random.default_rng(2).random(n_features).round(12) * 0.3
    cut, point = CutSolver(costs), PointSolver(GroupCost(costs))
    path = cut.path(information)
    tradeoff = float(np.median(path.entry)) * 1.0001
    wanted = cut.best_set(information, tradeoff)
    found = [
        row(kind, n_features, "one trade-off", "min-cut", partial(cut.best_set, information, tradeoff), repeats),
        row(kind, n_features, "whole path", "min-cut", partial(cut.path, information), repeats, f"{len(path)} sets"),
    ]
    if n_features <= 1000:
        job = partial(point.best_set, information, tradeoff)
        note = "same set" if np.array_equal(job(), wanted) else "ANOTHER SET"
        found.append(row(kind, n_features, "one trade-off", "min-norm-point", job, repeats, note))
    return found


def time_fits(n_features: int, repeats: int) -> list[dict]:
    X, y = rows(n_features)
    costs = prices(n_features, "own")
    job = partial(SubmodularSelector(budget=costs.total / 2, feature_costs=costs).fit, X, y)
    return [row("own", n_features, f"fit to {N_ROWS} rows", "min-cut", job, repeats, "with a budget: whole path")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--large", action="store_true", help=f"also with {LARGE} features")
    args = parser.parse_args()
    found = []
    for n_features in (800, LARGE) if args.large else (800,):
        for kind in ("own", "free", "overlapping"):
            found += time_solvers(n_features, kind, args.repeats)
        found += time_fits(n_features, min(args.repeats, 2))
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    main()
