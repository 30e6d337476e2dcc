"""Trees of linear classifiers (Kusner et al. 2014): error and precision@5 against the average bill, and training times.

    FRUGALFOREST_DATA=folder OMP_NUM_THREADS=1 python -m studies.kusner2014.run
        [--tasks miniboone ...] [--methods ASTC CSTC ...] [--seeds 3] [--quick] [--without-times] [--report]
        [--folder elsewhere]

Every (task, budget, method, seed) is a row of results.sqlite; rows that are there are not computed again. A method is
fitted with all its settings at once, the one of least validation loss within the budget is chosen, and only that one
reads the test rows. Without options it computes what the report here was written from.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from studies.kusner2014.methods import METHODS, Candidate, n_seeds
from studies.kusner2014.race import RACE, SHARES, n_race_seeds, race
from studies.kusner2014.report import write_report
from studies.kusner2014.tasks import BUDGETS, TASKS, Part, Task, load_task
from studies.progress import Countdown
from studies.store import ResultStore, folder_of

HERE = Path(__file__).parent
VERSION = "1"
QUICK = ("miniboone", "spambase")
Piece = tuple[str, int, str]  # task, seed, method


def judged(candidate: Candidate, part: Part) -> tuple[float, float]:
    """Loss and average bill."""
    probabilities, bills = candidate.answer(part.X)
    return part.loss(probabilities), float(bills.mean())


def run_method(task: Task, method: str, seed: int) -> list[tuple]:
    """A row for each budget: chosen on the validation rows, measured on the test rows."""
    start = time.process_time()
    candidates = METHODS[method](task, seed)
    seconds = time.process_time() - start
    measured = [judged(candidate, task.validation) for candidate in candidates]
    prior = np.tile(np.bincount(task.train.y) / len(task.train.y), (len(task.test.y), 1))
    rows, known = [], {}
    for budget in task.budgets:
        within = [(loss, bill, i) for i, (loss, bill) in enumerate(measured) if bill <= budget]
        numbers: dict[str, Any] = {"seconds": round(seconds, 2)}
        if not within:
            rows.append((f"{task.name} {budget:g}", method, seed, numbers | {"loss": task.test.loss(prior), "cost": 0}))
            continue
        loss, bill, best = min(within)
        if best not in known:
            known[best] = judged(candidates[best], task.test)
        numbers |= {"loss": known[best][0], "cost": known[best][1], "validation_loss": loss, "validation_cost": bill}
        rows.append((f"{task.name} {budget:g}", method, seed, numbers | {"setting": candidates[best].setting}))
    return rows


def pieces_of(names: Sequence[str], methods: Sequence[str], seeds: int | None) -> list[Piece]:
    """All that is to be computed, task by task and seed by seed; seeds None: as many as the report has."""
    n_of = n_seeds if seeds is None else lambda name, method: seeds
    pieces = [(name, seed, method) for name in names for method in methods for seed in range(n_of(name, method))]
    return sorted(pieces, key=lambda piece: (names.index(piece[0]), piece[1]))  # of equals the methods keep their order


def loaded(name: str, seed: int) -> Task | None:
    """The task, or nothing and a line that says why."""
    try:
        return load_task(name, seed)
    except FileNotFoundError as error:
        print(f"{name}, seed {seed}: skipped, {error}", flush=True)
        return None


def run(store: ResultStore, names: Sequence[str], methods: Sequence[str], seeds: int | None = None) -> None:
    pieces = pieces_of(names, methods, seeds)
    todo = [p for p in pieces if not store.has(f"{p[0]} {BUDGETS[p[0]][-1]:g}", p[2], p[1])]
    countdown = Countdown(len(todo))
    for (name, seed), some in groupby(todo, key=lambda piece: piece[:2]):
        task = loaded(name, seed)
        for _, _, method in some:
            if task is None:
                countdown.skip()
                continue
            store.add(run_method(task, method, seed))
            countdown.done(f"{name}, {method}, seed {seed}")


def run_races(store: ResultStore, names: Sequence[str], seeds: int | None = None) -> None:
    """Training times: a row for each task, share of the largest trade-off, and seed."""
    pairs = [(name, seed) for name in names for seed in range(n_race_seeds(name) if seeds is None else seeds)]
    todo = {p: [s for s in SHARES if not store.has(f"{p[0]} {s:g}", RACE, p[1])] for p in pairs}
    countdown = Countdown(sum(map(len, todo.values())))
    for (name, seed), shares in todo.items():
        task = loaded(name, seed) if shares else None
        if task is None:
            for _ in shares:
                countdown.skip()
            continue
        for share, row in race(task, shares):
            store.add([(f"{name} {share:g}", RACE, seed, row)])
            countdown.done(f"{name}, times at share {share:g}, seed {seed}")


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=TASKS)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--seeds", type=int, help="of everything; without, as many as the report here has")
    parser.add_argument("--quick", action="store_true", help="spambase and miniboone, one seed, in a folder of its own")
    parser.add_argument("--without-times", action="store_true")
    parser.add_argument("--report", action="store_true", help="only write the report")
    parser.add_argument("--folder", type=Path, help="for rows and report, in place of the study's own")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(arguments)
    warnings.filterwarnings("ignore", message="no (tree|setting) fits a budget")
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    folder = args.folder or folder_of(HERE, args.quick)
    folder.mkdir(parents=True, exist_ok=True)
    store = ResultStore(folder / "results.sqlite", VERSION)
    names = [n for n in args.tasks if not args.quick or n in QUICK]
    seeds = 1 if args.quick else args.seeds
    if not args.report:
        run(store, names, args.methods, seeds)
        if not args.without_times:
            run_races(store, names, seeds)
    write_report(store.rows(), folder)


if __name__ == "__main__":
    main()
