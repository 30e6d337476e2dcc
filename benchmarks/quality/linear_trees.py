"""ASTC and CSTC at the same bills: validation error, and CPU seconds of the fit of a single tree, in one run.

    FRUGALFOREST_DATA=folder OMP_NUM_THREADS=1 python -m benchmarks.quality.linear_trees [--tasks miniboone ...]

For each task of studies/kusner2014 (same rows, seed 0): CSTC is fitted for several trade-offs, each alone; for each of
them ASTC and soft ASTC are fitted with the node budget whose average bill on the validation rows is nearest. Depth 5,
faster of two fits where one takes less than ten seconds. One thread, or CPU time counts waiting threads too.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
from studies.kusner2014.tasks import TASKS, Part, Task, load_task

import frugalforest as ff

RESULTS = Path(__file__).parent.parent / "results" / "linear_trees.csv"
SHARES = (0.3, 0.1, 0.03, 0.01, 0.003)  # of the trade-off at which a tree of equal nodes uses nothing
SHORT = 10.0  # seconds


def fit_seconds(model: Any, part: Part) -> float:
    """CPU seconds of a fit; the faster of two short ones."""
    start = time.process_time()
    model.fit(part.X, part.y)
    seconds = time.process_time() - start
    if seconds < SHORT:
        start = time.process_time()
        model.fit(part.X, part.y)
        seconds = min(seconds, time.process_time() - start)
    return seconds


def largest_tradeoff(task: Task) -> float:
    """At which CSTC of depth 5 uses nothing, all nodes being alike: root of 5 * largest gradient per price."""
    Z = (task.train.X - task.train.X.mean(axis=0)) / np.maximum(task.train.X.std(axis=0), 1e-9)
    gradient = 2 * np.abs(Z.T @ (2.0 * task.train.y - 1)) / len(Z)
    return float(np.sqrt(5) * (gradient / task.costs.own).max())


def measured(model: Any, part: Part) -> tuple[float, float]:
    """Average bill and error."""
    labels, bills = model.predict_with_cost(part.X)
    return float(bills.mean()), float(np.mean(labels != part.y))


def fitted_cstc(task: Task, tradeoff: float, steepness: float) -> tuple[Any, float]:
    """CSTC that buys something, and the seconds of its fit: smaller trade-offs are tried until it does."""
    while True:
        model = ff.MixedNormTreeClassifier(tradeoff, steepness=steepness, feature_costs=task.costs)
        seconds = fit_seconds(model, task.train)
        if measured(model, task.validation)[0] > 0:
            return model, seconds
        tradeoff /= 1.5


def race(task: Task, steepness: float) -> list[dict[str, Any]]:
    """One row for each bill: seconds and errors of CSTC, ASTC and soft ASTC, and the ratio of seconds."""
    rivals = {soft: ff.SubmodularTreeClassifier(feature_costs=task.costs, soft=soft) for soft in (False, True)}
    validation = task.validation.X, task.validation.y
    curves = {soft: rival.fit(task.train.X, task.train.y, eval_set=validation).curve_ for soft, rival in rivals.items()}
    rows = []
    for share in SHARES:
        model, seconds = fitted_cstc(task, share * largest_tradeoff(task), steepness)
        row: dict[str, Any] = {"name": task.name, "rows": len(task.train.y), "columns": task.train.X.shape[1]}
        row["cstc_seconds"] = seconds
        row["cstc_bill"], row["cstc_error"] = measured(model, task.validation)
        for soft, rival in rivals.items():
            name = "astc_soft" if soft else "astc"
            nearest = int(np.abs(curves[soft].cost - row["cstc_bill"]).argmin())
            rival.set_params(node_budget=curves[soft].variants[nearest])
            row[f"{name}_seconds"] = fit_seconds(rival, task.train)
            row[f"{name}_bill"], row[f"{name}_error"] = measured(rival, task.validation)
            row[f"{name}_ratio"] = row["cstc_seconds"] / row[f"{name}_seconds"]
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=TASKS)
    parser.add_argument("--steepness", type=float, default=8.0)
    args = parser.parse_args()
    rows = []
    for name in args.tasks:
        found = race(load_task(name, 0), args.steepness)
        rows += found
        for row in found:
            print(", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()), flush=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


if __name__ == "__main__":
    main()
