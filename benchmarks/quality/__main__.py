"""Error against the average bill: our methods and their peers, one bill for all.

    FRUGALFOREST_DATA=folder python -m benchmarks.quality [--data spambase ...] [--methods cascade ...] [--seeds 5]
        [--report]

For each data set and seed a part of the rows is for fitting; whatever a method chooses (trade-off, size, thresholds,
panel) it chooses on these. Every budget is then measured once, on the other rows. Each (data set, method, seed) has
its rows in results/quality.sqlite; what is there is not computed again. At the end docs/quality.md is written.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from studies.progress import Countdown
from studies.store import ResultStore

from benchmarks.quality.data import SOURCES, Task, load_task
from benchmarks.quality.methods import METHODS, ByBudget
from benchmarks.quality.report import WAYS, write_report

RESULTS = Path(__file__).parent.parent / "results" / "quality.sqlite"
VERSION = "2"


def measure(task: Task, method: str, fit: Callable[[Task, int], dict[str, ByBudget]], seed: int) -> list[tuple]:
    """A row for each way to read the method's models: bills and errors of the test rows at each budget."""
    start = time.process_time()
    by_stop = fit(task, seed)
    seconds = time.process_time() - start
    rows = []
    for stop, by_budget in by_stop.items():
        points = [_point(predict, task) for predict in by_budget.values()]
        bills, errors = (list(column) for column in zip(*points, strict=True))
        numbers = {"budget": list(by_budget), "bill": bills, "error": errors, "cpu_seconds": round(seconds, 1)}
        numbers["baseline"] = float(np.mean(task.y_test != np.bincount(task.y).argmax()))
        rows.append((task.name, method + WAYS.get(stop, ""), seed, numbers))
    return rows


def _point(predict, task: Task) -> tuple[float, float]:
    labels, bills = predict(task.X_test)
    return round(float(np.mean(bills)), 6), float(np.mean(labels != task.y_test))


def is_done(store: ResultStore, name: str, method: str, seed: int) -> bool:
    return any(store.has(name, method + way, seed) for way in ("", *WAYS.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=list(SOURCES), choices=list(SOURCES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--report", action="store_true", help="only write the report")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*valid feature names.*|.*the panel is empty.*")
    store = ResultStore(RESULTS, VERSION)
    countdown = Countdown(args.seeds * len(args.data) * len(args.methods))
    for seed in range(0 if args.report else args.seeds):
        for name in args.data:
            task = load_task(name, seed)
            for method in args.methods:
                if is_done(store, name, method, seed):
                    countdown.skip()
                    continue
                store.add(measure(task, method, METHODS[method], seed))
                countdown.done(f"{name}, {method}, seed {seed}")
    write_report(store.rows())


if __name__ == "__main__":
    main()
