"""Feature selection under a budget (Jagdhuber et al.): settings A to D and six real data sets, all methods.

    FRUGALFOREST_DATA=folder python -m studies.jagdhuber.run [--tasks A B ada ...] [--methods STS AUC pFI FS ...]
        [--repetitions 20] [--first 0] [--largest 10] [--quick] [--report]

Every (task, budget, method, strategy, repetition) is a row of results.sqlite; rows that are there are not computed
again. Strategies: xi = 0, xi = 1, and tuned on the grid by the out-of-bag error of a full forest (1000 trees, sqrt).
Each panel then gets a full forest, whose error on the test rows is what counts. A path is the same for every xi of the
grid, for the cells that the paper draws or names.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from studies.jagdhuber.report import write_report
from studies.jagdhuber.tasks import METHODS as PAPER_METHODS
from studies.jagdhuber.tasks import REAL, SETTINGS, VARIANTS, Task, load_task, methods_of
from studies.progress import Countdown
from studies.store import ResultStore, folder_of

import frugalforest as ff
from frugalforest.selection import AUCSelector, ForwardSelector, PermutationSelector, ShallowTreeSelector
from frugalforest.selection.panel_selector import PanelSelector
from frugalforest.selection.tuning import tune_on_grid

HERE = Path(__file__).parent
VERSION = "1"
GRID = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
FORWARD_GRID = (0.0, 0.5, 1.0, 2.0)
FORWARD_TREES = 200
STRATEGIES = {"xi 0": 0.0, "xi 1": 1.0}
METHODS = (*PAPER_METHODS, *VARIANTS)
# Figure 2 of the paper (D, 10), and the two cells in which, it says, STS is best at xi = 0.
PATHS = (("C", 2.0, "STS"), ("C", 5.0, "STS"), ("D", 10.0, "STS"), ("D", 10.0, "AUC"), ("D", 10.0, "pFI"))


def selectors(costs: ff.FeatureCosts, seed: int, n_jobs: int, n_trees: int) -> dict[str, PanelSelector]:
    """The methods by name. FS judges its candidates by fewer trees, see the report."""
    common = {"feature_costs": costs, "random_state": seed, "n_jobs": n_jobs}
    return {
        "STS": ShallowTreeSelector(n_forest_trees=n_trees, **common),
        "STS paper": ShallowTreeSelector(n_forest_trees=n_trees, bcr="paper", **common),
        "STS features": ShallowTreeSelector(n_forest_trees=n_trees, limit="features", **common),
        "AUC": AUCSelector(n_forest_trees=n_trees, **common),
        "pFI": PermutationSelector(n_forest_trees=n_trees, n_estimators=n_trees, **common),
        "FS": ForwardSelector(n_forest_trees=min(n_trees, FORWARD_TREES), **common),
    }


class Judge:
    """The full forest on a panel: its error on the test rows, each distinct panel once."""

    def __init__(self, task: Task, seed: int, n_jobs: int, n_trees: int) -> None:
        self.task, self.seed, self.n_jobs, self.n_trees = task, seed, n_jobs, n_trees
        self.known: dict[bytes, float] = {}

    def error(self, support: np.ndarray) -> float:
        key = support.tobytes()
        if key not in self.known:
            self.known[key] = self._error(support)
        return self.known[key]

    def _error(self, support: np.ndarray) -> float:
        if not support.any():
            return float(np.mean(self.task.y_test != np.bincount(self.task.y).argmax()))
        forest = ff.StandardForestClassifier(self.n_trees, voting="hard", random_state=self.seed, n_jobs=self.n_jobs)
        forest.fit(self.task.X[:, support], self.task.y)
        return float(np.mean(forest.predict(self.task.X_test[:, support]) != self.task.y_test))


def run_method(
    task: Task, name: str, selector: PanelSelector, judge: Judge, seed: int, budgets: Sequence[float]
) -> Iterator[list[tuple]]:
    """Rows of all strategies of one method, budget after budget."""
    grid = FORWARD_GRID if name == "FS" else GRID
    problem = selector._learn(task.X, task.y)
    oob, searcher = selector._prepare(problem, max(budgets))
    for budget in budgets:
        start = time.perf_counter()
        panels = {xi: searcher.search(xi, budget) for xi in grid}
        tuned = tune_on_grid(panels.__getitem__, oob, grid)
        seconds = time.perf_counter() - start
        rows = []
        for strategy, xi in [*STRATEGIES.items(), ("tuned", tuned.xi)]:
            support = panels[xi].support_mask
            numbers = {"error": judge.error(support), "cost": panels[xi].cost, "n_features": int(support.sum())}
            numbers |= {"xi": xi, "oob_error": oob.error(support), "seconds": round(seconds, 3)}
            rows.append((f"{task.name} {budget:g}", f"{name} {strategy}", seed, numbers))
        yield rows


def path_row(task: Task, name: str, selector: PanelSelector, judge: Judge, seed: int, budget: float) -> tuple:
    """The row of one path: out-of-bag error, test error and cost of the panel for each xi of the grid."""
    oob, searcher = selector._prepare(selector._learn(task.X, task.y), budget)
    panels = [searcher.search(xi, budget) for xi in GRID]
    numbers = {
        "grid": list(GRID),
        "oob_errors": [oob.error(panel.support_mask) for panel in panels],
        "errors": [judge.error(panel.support_mask) for panel in panels],
        "costs": [panel.cost for panel in panels],
    }
    return f"{task.name} {budget:g}", f"{name} path", seed, numbers


# ---- rows


def run(store: ResultStore, tasks, methods, repetitions: range, n_jobs: int, n_trees: int, largest: float) -> None:
    wanted = {name: [method for method in methods if method in methods_of(name)] for name in tasks}
    countdown = Countdown(sum(map(len, wanted.values())) * len(repetitions))
    for seed in repetitions:
        for name in tasks:
            try:
                task = load_task(name, seed)
            except FileNotFoundError as error:
                print(f"{name}: skipped, {error}", flush=True)
                for _ in wanted[name]:
                    countdown.skip()
                continue
            judge = Judge(task, seed, n_jobs, n_trees)
            for method in wanted[name]:
                budgets = open_budgets(store, task, method, seed, largest)
                if not budgets:
                    countdown.skip()
                    continue
                selector = selectors(task.costs, seed, n_jobs, n_trees)[method]
                for rows in run_method(task, method, selector, judge, seed, budgets):
                    store.add(rows)
                countdown.done(f"{name} {method} repetition {seed}")


def run_paths(store: ResultStore, tasks, methods, repetitions: range, n_jobs: int, n_trees: int) -> None:
    cells = [cell for cell in PATHS if cell[0] in tasks and cell[2] in methods]
    todo = [
        (seed, *cell)
        for seed in repetitions
        for cell in cells
        if not store.has(f"{cell[0]} {cell[1]:g}", f"{cell[2]} path", seed)
    ]
    countdown = Countdown(len(todo))
    for seed, name, budget, method in todo:
        task = load_task(name, seed)
        selector = selectors(task.costs, seed, n_jobs, n_trees)[method]
        store.add([path_row(task, method, selector, Judge(task, seed, n_jobs, n_trees), seed, budget)])
        countdown.done(f"{name} {budget:g} {method}, path, repetition {seed}")


def open_budgets(store: ResultStore, task: Task, method: str, seed: int, largest: float) -> list[float]:
    """Budgets that have no row yet."""
    budgets = [budget for budget in task.budgets if budget <= largest]
    return [b for b in budgets if not store.has(f"{task.name} {b:g}", f"{method} tuned", seed)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="*", default=[*SETTINGS, *REAL], choices=[*SETTINGS, *REAL])
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="first repetition, to share the work")
    parser.add_argument("--largest", type=float, default=np.inf, help="largest budget: forward selection is slow there")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--quick", action="store_true", help="3 repetitions, forests of 100 trees, no forward selection"
    )
    parser.add_argument("--report", action="store_true", help="only write the report")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*the panel is empty.*")
    folder = folder_of(HERE, args.quick)
    store = ResultStore(folder / "results.sqlite", VERSION)
    if not args.report:
        methods = [m for m in args.methods if not (args.quick and m == "FS")]
        repetitions = range(args.first, args.first + (3 if args.quick else args.repetitions))
        n_trees = 100 if args.quick else 1000
        run(store, args.tasks, methods, repetitions, args.jobs, n_trees, args.largest)
        run_paths(store, args.tasks, methods, repetitions, args.jobs, n_trees)
    write_report(store.rows(), folder)


if __name__ == "__main__":
    main()
