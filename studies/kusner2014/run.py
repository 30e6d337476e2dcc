"""Trees of linear classifiers (Kusner et al. 2014): error and precision@5 against the average bill, and training times.

    FRUGALFOREST_DATA=folder OMP_NUM_THREADS=1 python -m studies.kusner2014.run
        [--tasks miniboone ...] [--methods ASTC CSTC ...] [--seeds 3] [--quick] [--without-times] [--report]

Every (task, budget, method, seed) is a row of results.sqlite; rows that are there are not computed again. A method is
fitted with all its settings at once, the one of least validation loss within the budget is chosen, and only that one
reads the test rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.quality.linear_trees import largest_tradeoff, race
from sklearn.exceptions import ConvergenceWarning
from studies.kusner2014.report import write_report
from studies.kusner2014.tasks import TASKS, Part, Task, load_task
from studies.progress import Countdown
from studies.store import ResultStore, folder_of

import frugalforest as ff

HERE = Path(__file__).parent
VERSION = "1"
DEPTHS = (2, 3, 5)  # that ASTC is tuned over; CSTC prunes
STEEPNESS = (1.0, 4.0, 16.0)  # that CSTC is tuned over
WIDE = 100  # columns; with more of them CSTC is tuned less, since it takes minutes:
STEEPNESS_WIDE = (4.0, 16.0)
TRADEOFFS_WIDE = np.geomspace(0.004, 3, 12)  # times the largest
MISER_TRADEOFFS = np.geomspace(1e-4, 0.1, 8)  # times the mean price
TIMED_STEEPNESS = 8.0
RACE = "race"


class Candidate(NamedTuple):
    """One model that a method can offer: its setting, and probabilities and bills of rows."""

    setting: str
    answer: Callable[[Any], tuple[Any, Any]]


def of_variants(model: Any, name: str = "") -> list[Candidate]:
    """All settings of a linear model."""

    def reader(variant: Any) -> Callable[[Any], tuple[Any, Any]]:
        def answer(X: Any) -> tuple[Any, Any]:
            probabilities, mask = variant.read(np.asarray(X))
            return probabilities, model.feature_costs_.of_rows(mask)

        return answer

    return [Candidate(f"{name}{variant.setting:.4g}", reader(variant)) for variant in model.variants_]


def of_budgets(model: Any, budgets: tuple[float, ...]) -> list[Candidate]:
    """What a model recommends for each budget."""

    def answer_of(chosen: Any) -> Callable[[Any], tuple[Any, Any]]:
        return lambda X: (chosen.predict_proba(X), chosen.acquisition_cost(X))

    return [Candidate(f"{budget:g}", answer_of(model.at_budget(budget))) for budget in budgets]


def fit(model: Any, task: Task) -> Any:
    return model.fit(task.train.X, task.train.y, eval_set=(task.validation.X, task.validation.y))


def submodular(task: Task, seed: int, soft: bool) -> list[Candidate]:
    candidates = []
    for depth in DEPTHS:
        model = fit(ff.SubmodularTreeClassifier(depth=depth, soft=soft, feature_costs=task.costs), task)
        candidates += of_variants(model, f"depth {depth}, ")
    return candidates


def mixed_norm(task: Task, seed: int) -> list[Candidate]:
    is_wide = task.train.X.shape[1] > WIDE
    tradeoff = largest_tradeoff(task) * TRADEOFFS_WIDE if is_wide else "auto"
    candidates = []
    for steepness in STEEPNESS_WIDE if is_wide else STEEPNESS:
        model = fit(ff.MixedNormTreeClassifier(tradeoff, steepness=steepness, feature_costs=task.costs), task)
        candidates += of_variants(model, f"steepness {steepness:g}, ")
    return candidates


def lasso(task: Task, seed: int) -> list[Candidate]:
    return of_variants(fit(ff.CostLassoClassifier(feature_costs=task.costs), task))


def budget_forest(task: Task, seed: int) -> list[Candidate]:
    equal = np.ptp(task.costs.own) == 0
    model = ff.BudgetForestClassifier(
        max(task.budgets),
        feature_costs=task.costs,
        n_estimators=40,
        price_power=1.0 if equal else [1.0, 0.0],
        voting="hard" if task.train.queries is None else "soft",
        n_jobs=1,
        random_state=seed,
    )
    return of_budgets(fit(model, task), task.budgets)


def greedy_miser(task: Task, seed: int) -> list[Candidate]:
    """Trade-offs, learning rates and numbers of trees, as Nan et al. tuned it."""
    candidates = []
    for tradeoff in MISER_TRADEOFFS / task.costs.own.mean():
        for rate in (0.1, 0.3):
            for n_trees in (30, 100, 300):
                model = ff.GreedyMiserClassifier(
                    tradeoff, learning_rate=rate, n_estimators=n_trees, feature_costs=task.costs, n_jobs=1
                ).fit(task.train.X, task.train.y)
                candidates.append(Candidate(f"{tradeoff:.3g}, {rate:g}, {n_trees} trees", reader_of(model)))
    return candidates


def reader_of(model: Any) -> Callable[[Any], tuple[Any, Any]]:
    return lambda X: (model.predict_proba(X), model.acquisition_cost(X))


METHODS: dict[str, Callable[[Task, int], list[Candidate]]] = {
    "ASTC": lambda task, seed: submodular(task, seed, soft=False),
    "ASTC soft": lambda task, seed: submodular(task, seed, soft=True),
    "CSTC": mixed_norm,
    "l1": lasso,
    "GreedyMiser": greedy_miser,
    "BudgetRF": budget_forest,
}


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


def run(store: ResultStore, names: list[str], methods: list[str], seeds: range) -> None:
    countdown = Countdown(len(names) * len(methods) * len(seeds))
    for name in names:
        for seed in seeds:
            try:
                task = load_task(name, seed)
            except FileNotFoundError as error:
                print(f"{name}: skipped, {error}", flush=True)
                break
            for method in methods:
                if store.has(f"{name} {task.budgets[-1]:g}", method, seed):
                    countdown.skip()
                    continue
                store.add(run_method(task, method, seed))
                countdown.done(f"{name}, {method}, seed {seed}")


def run_races(store: ResultStore, names: list[str]) -> None:
    """Training times, seed 0."""
    for name in names:
        if store.has(f"{name} 0", RACE, 0):
            continue
        rows = race(load_task(name, 0), TIMED_STEEPNESS)
        store.add((f"{name} {i}", RACE, 0, row) for i, row in enumerate(rows))
        print(f"{name}: times", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=TASKS)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="spambase and miniboone, one seed")
    parser.add_argument("--without-times", action="store_true")
    parser.add_argument("--report", action="store_true", help="only write the report")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message="no (tree|setting) fits a budget")
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    folder = folder_of(HERE, args.quick)
    store = ResultStore(folder / "results.sqlite", VERSION)
    names = [n for n in args.tasks if not args.quick or n in ("spambase", "miniboone")]
    if not args.report:
        run(store, names, args.methods, range(1 if args.quick else args.seeds))
        if not args.without_times:
            run_races(store, names)
    write_report(store.rows(), folder)


if __name__ == "__main__":
    main()
