"""Error against the average bill: our methods and their peers, one bill for all.

    FRUGALFOREST_DATA=folder python -m benchmarks.quality [--data spambase ...] [--methods cascade ...] [--seeds 5]
        [--report]

For each data set and seed a part of the rows is for fitting; whatever a method chooses (trade-off, size, thresholds,
panel) it chooses on these. Every budget is then measured once, on the other rows. Each (data set, method, seed) has
its rows in results/quality.sqlite; what is there is not computed again. At the end docs/quality.md is written.
"""

from __future__ import annotations

import argparse
import hashlib
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from studies.progress import Countdown
from studies.store import ResultStore

from benchmarks.quality.data import SOURCES, Task, load_task
from benchmarks.quality.methods import METHODS, Method, settings
from benchmarks.quality.report import WAYS, write_report

RESULTS = Path(__file__).parent.parent / "results" / "quality.sqlite"
# Rows of other settings are kept and not looked at. The number in front is for changes that no setting tells.
VERSION = f"2 {hashlib.sha256(repr(settings()).encode()).hexdigest()[:12]}"


def measure(task: Task, method: str, fit: Method, seed: int) -> list[tuple]:
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


def run(
    store: ResultStore,
    names: Sequence[str],
    methods: Mapping[str, Method],
    seeds: range,
    suits: Callable[[str, Task], bool] = lambda method, task: True,
) -> None:
    """Adds the rows that are not there yet; a data set that cannot be had is said and skipped."""
    countdown = Countdown(len(seeds) * len(names) * len(methods))
    for seed in seeds:
        for name in names:
            try:
                task = load_task(name, seed)
            except FileNotFoundError as error:
                print(f"{name}: skipped, {error}", flush=True)
                countdown.skip(len(methods))
                continue
            for method, fit in methods.items():
                if is_done(store, name, method, seed) or not suits(method, task):
                    countdown.skip()
                    continue
                store.add(measure(task, method, fit, seed))
                countdown.done(f"{name}, {method}, seed {seed}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=list(SOURCES), choices=list(SOURCES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--report", action="store_true", help="only write the report")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*valid feature names.*|.*the panel is empty.*")
    store = ResultStore(RESULTS, VERSION)
    if not args.report:
        run(store, args.data, {name: METHODS[name] for name in args.methods}, range(args.seeds))
    write_report(store.rows())


if __name__ == "__main__":
    main()
